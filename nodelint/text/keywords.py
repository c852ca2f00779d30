"""The words by which a text is known to concern Karpenter."""

from __future__ import annotations

KEYWORDS = ("karpenter", "NodeClass")
"""One of these is in every document that concerns Karpenter; a template may fill in all of an apiVersion."""

_FIRST, _SECOND = KEYWORDS
_FIRST_BYTES, _SECOND_BYTES = _FIRST.encode(), _SECOND.encode()


def holds_keyword(text: str, begin: int = 0, end: int | None = None) -> bool:
    """Whether one of the words is in a text, or in a range of its characters."""
    return text.find(_FIRST, begin, end) >= 0 or text.find(_SECOND, begin, end) >= 0


def bytes_hold_keyword(data: bytes) -> bool:
    """Whether one of the words is in bytes."""
    return data.find(_FIRST_BYTES) >= 0 or data.find(_SECOND_BYTES) >= 0
