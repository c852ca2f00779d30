"""Run git safely in an untrusted repository, and read the files of a revision."""
