"""Files of a repository: which are read, how they are read, and how a new content replaces an old one."""
