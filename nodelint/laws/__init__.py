"""Check every rule on the examples of its page."""
