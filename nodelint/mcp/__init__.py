"""Serve nodelint's commands as tools of an agent over the Model Context Protocol. It needs the extra `mcp`."""
