"""Find, read and replace the files of a repository."""
