"""What the tool speaks about: manifests, requirements, releases, findings."""
