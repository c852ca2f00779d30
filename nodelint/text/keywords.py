"""The words by which a text is known to concern Karpenter."""

KEYWORDS = ("karpenter", "NodeClass")
"""One of these is in every document that concerns Karpenter; a template may fill in all of an apiVersion."""
