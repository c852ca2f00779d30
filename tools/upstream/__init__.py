"""What Karpenter's two repositories say at a revision, and how the project's data follows it."""
