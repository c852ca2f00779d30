"""Messages about everything that a run could not read or judge."""

from __future__ import annotations

from nodelint.base.types import TYPE_CHECKING
from nodelint.commands._console import say

if TYPE_CHECKING:
    from collections.abc import Collection

    from nodelint.files.folders import Discovery
    from nodelint.inventory import Inventory
    from nodelint.model.gap import Gap


def say_gaps(
    found: Discovery,
    inventory: Inventory,
    providers: Collection[str] = (),
    named_paths: Collection[str] = (),
) -> list[Gap]:
    """Print what could not be read or judged, and return all gaps, including those that `unreadable` prints later.

    Gaps about objects of `providers` are left out. Gaps about files of `named_paths` are returned but not printed.
    """
    from nodelint.inventory.gaps import list_gaps

    gaps = [gap for gap in list_gaps(found, inventory) if gap.object is None or gap.object.provider not in providers]
    groups: dict[str, list[str]] = {}
    for gap in gaps:
        if not gap.fails and gap.path not in named_paths:
            groups.setdefault(gap.sentence, []).append(str(gap.file_place))
    for sentence, places in groups.items():
        if len(places) > _MOST_PLACES:
            places = [f"{', '.join(places[:_MOST_PLACES])} and {len(places) - _MOST_PLACES:,} more"]
        for place in places:
            say(f"{place}: {sentence}")
    return gaps


_MOST_PLACES = 5
"""The most places with the same gap that are named. The others are counted."""
