"""Files of a repository: which files are read, how they are read, and how they are replaced."""
