"""How rules are run: judging, suppressions, fixes, baseline."""
