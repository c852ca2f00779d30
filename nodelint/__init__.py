"""nodelint: a linter for the manifests of Karpenter on AWS."""

__version__ = "0.1.0"
