"""The Model Context Protocol server: nodelint's commands as tools of an agent. It needs the extra `mcp`."""
