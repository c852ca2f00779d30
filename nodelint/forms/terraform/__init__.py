"""Terraform and other HCL: blocks, expressions, functions, variables and modules."""
