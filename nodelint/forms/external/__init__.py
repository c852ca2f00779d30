"""Overlays and charts rendered by kustomize and helm as programs, in a sandbox."""
