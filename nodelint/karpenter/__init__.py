"""How the controller of a release treats a NodePool and its EC2NodeClass."""
