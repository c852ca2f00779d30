"""The sentences of an all-clear, such as "All good".

Only this module returns them, because an all-clear depends on whether everything was judged.
"""

from __future__ import annotations

from nodelint.base.types import TYPE_CHECKING
from nodelint.model.messages import PAIR, say_nothing

__all__ = ["NOTHING_CHECKED", "PAIR", "list_all_clears", "say_all_clear", "say_nothing"]


if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Literal

    Claim = Literal["check", "plan", "fit", "cost", "migrate", "triage"]

_SENTENCES: dict[str, tuple[str, str]] = {
    "check": ("All good", "No findings"),
    "plan": ("No node is replaced", "No node is replaced in what was compared"),
    "fit": ("no pool takes it", "no pool that could be read takes it"),
    "cost": ("no node is needed", "no node is needed, as far as it is known"),
    "migrate": ("nothing is lost", "nothing is lost of what could be read"),
    "triage": ("No failures", "No failures in what could be read"),
}
"""The sentences if everything was judged, and if only a part was judged, by command."""


def say_all_clear(claim: Claim, gaps: Collection[object], words: str = "") -> str:
    """Return the all-clear of a claim, or the restricted one if there are `gaps` or `words` about gaps.

    Only whether `gaps` is empty counts. `words` are added to the restricted sentence.
    """
    whole, part = _SENTENCES[claim]
    if not gaps and not words:
        return whole
    return f"{part}; {words}" if words else part


NOTHING_CHECKED = "nothing to check"
"""The name of the only test case in a JUnit report if the run judged nothing."""


def list_all_clears(claim: Claim) -> tuple[str, str]:
    """Return both sentences of a claim, so that a caller can recognize them."""
    return _SENTENCES[claim]
