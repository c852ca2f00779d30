"""How the controller of a Karpenter release treats a NodePool and its EC2NodeClass."""
