"""Search a text for the words that show that it concerns Karpenter."""

from __future__ import annotations

KEYWORDS = ("karpenter", "NodeClass")
"""Each document that concerns Karpenter has one of these words. A template may fill in the whole apiVersion."""

_FIRST, _SECOND = KEYWORDS
_FIRST_BYTES, _SECOND_BYTES = _FIRST.encode(), _SECOND.encode()


def holds_keyword(text: str, begin: int = 0, end: int | None = None) -> bool:
    """Return whether a text, or the range `begin` to `end` of it, contains one of `KEYWORDS`."""
    return text.find(_FIRST, begin, end) >= 0 or text.find(_SECOND, begin, end) >= 0


def bytes_hold_keyword(data: bytes) -> bool:
    """Return whether the bytes of a file contain one of `KEYWORDS`, which show that it concerns Karpenter."""
    return data.find(_FIRST_BYTES) >= 0 or data.find(_SECOND_BYTES) >= 0
