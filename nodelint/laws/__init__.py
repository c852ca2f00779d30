"""Checks that every rule must pass, run on the examples of its page."""
