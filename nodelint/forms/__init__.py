"""One package for each form in which repositories write manifests, and what they share."""
