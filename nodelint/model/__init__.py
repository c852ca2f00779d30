"""Define the terms of the tool: manifests, requirements, releases, findings."""
