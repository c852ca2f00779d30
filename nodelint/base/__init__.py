"""Provide basic tools for every module: named tuples, caches, printable text, the address of the project."""
