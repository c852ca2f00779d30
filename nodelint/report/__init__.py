"""Reports for people and programs: one module per command and format."""
