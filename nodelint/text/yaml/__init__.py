"""YAML as Go reads it: scalars, tags, the parser, and nodes with tight spans."""
