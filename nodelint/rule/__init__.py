"""What a rule is, what it may ask, and what its author uses."""
