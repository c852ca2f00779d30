"""Flux: Kustomizations that apply folders."""
