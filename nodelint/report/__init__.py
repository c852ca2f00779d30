"""What was found, for people and for machines: one module per command and format."""
