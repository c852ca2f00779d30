"""Read YAML as Go does: scalars, tags, the parser, and nodes with tight spans."""
