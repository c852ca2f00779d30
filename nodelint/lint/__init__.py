"""Run rules over manifests: findings, suppressions, fixes and baselines."""
