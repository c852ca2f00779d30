"""What the clusters get of a repository's files: built objects, and where each of their values is written."""
