"""What a rule is, what its check can use, and helpers for its author."""
