"""Rules, and how they are run: configuration, suppressions, fixes, baseline."""
