"""Things by the places that they are about."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import accumulate
from operator import itemgetter

from nodelint.base.types import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from nodelint.model.finding import Span
    from nodelint.text import Node


class SpanIndex:
    """Things by their places, so that few have to be asked about a place."""

    def __init__(self, things: Iterable[tuple[Node | Span, Any]]) -> None:
        by_source: dict[int, list[tuple[int, int, Any]]] = {}
        for place, thing in things:
            by_source.setdefault(id(place.source), []).append((place.start, place.end, thing))
        self._by_source: dict[int, tuple[list[int], list[int], list[Any]]] = {}
        """Of each text the beginnings in their order, the furthest end up to each, and the things."""
        for source, triples in by_source.items():
            triples.sort(key=itemgetter(0))
            furthest = list(accumulate([end for _, end, _ in triples], max))
            self._by_source[source] = [start for start, _, _ in triples], furthest, [thing for _, _, thing in triples]

    def near(self, place: Span) -> Iterator[Any]:
        """Yield what may share a character or a border with the place, the last first."""
        starts, furthest, things = self._by_source.get(id(place.source), ((), (), ()))
        at = bisect_right(starts, place.end) - 1
        while at >= 0 and furthest[at] >= place.start:
            yield things[at]
            at -= 1
