"""The sentences of an all-clear, such as "All good".

Only this module prints them, because what could not be judged decides whether they are true.
"""

from __future__ import annotations

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Literal

    from nodelint.model.gap import Gap

    Claim = Literal["check", "plan", "fit"]

_SENTENCES: dict[str, tuple[str, str]] = {
    "check": ("All good", "No findings"),
    "plan": ("No node is replaced", "No node is replaced in what was compared"),
    "fit": ("no pool takes it", "no pool that could be read takes it"),
}
"""What is said where all was judged, and where a part was not."""


def say_all_clear(claim: Claim, gaps: Collection[Gap], words: str = "") -> str:
    """Return that all is well, or only that it is in what was judged: where there are gaps, or `words` about such."""
    whole, part = _SENTENCES[claim]
    if not gaps and not words:
        return whole
    return f"{part}; {words}" if words else part


def list_all_clears(claim: Claim) -> tuple[str, str]:
    """Return both sentences of a claim, to be told from others."""
    return _SENTENCES[claim]
