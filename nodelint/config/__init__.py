"""What a configuration and flags make of a run."""
