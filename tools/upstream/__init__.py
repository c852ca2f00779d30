"""Read Karpenter's two repositories at a revision, and update the project's data from them."""
