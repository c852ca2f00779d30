"""What the controller of a release makes of a NodePool and its EC2NodeClass."""
