"""Facts about EC2: as AWS is asked, as a file keeps them, and as Karpenter derives labels from them."""
