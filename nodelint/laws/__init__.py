"""The laws that every rule keeps, tried over the examples of its page."""
