"""Functions of Terraform, by what they are about."""
