"""nodelint: a linter for the manifests that steer Karpenter on AWS."""

__version__ = "0.1.0"
