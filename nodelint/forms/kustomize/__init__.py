"""Kustomize: overlays, built as kustomize builds them."""
