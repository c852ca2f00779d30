"""Implement the functions of Terraform, by subject."""
