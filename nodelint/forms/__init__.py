"""Render each form in which repositories write manifests: one package for each, and shared modules."""
