"""Index objects by the places to which they belong."""

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
    """An index of objects by their spans, to find the few that are near a place."""

    def __init__(self, things: Iterable[tuple[Node | Span, Any]]) -> None:
        by_source: dict[int, list[tuple[int, int, Any]]] = {}
        for place, thing in things:
            by_source.setdefault(id(place.source), []).append((place.start, place.end, thing))
        self._by_source: dict[int, tuple[list[int], list[int], list[Any]]] = {}
        """For each text: the sorted start offsets, the largest end so far at each, and the objects."""
        for source, triples in by_source.items():
            triples.sort(key=itemgetter(0))
            furthest = list(accumulate([end for _, end, _ in triples], max))
            self._by_source[source] = [start for start, _, _ in triples], furthest, [thing for _, _, thing in triples]

    def near(self, place: Span) -> Iterator[Any]:
        """Yield the objects that may share a character or a border with a span, in reverse order."""
        starts, furthest, things = self._by_source.get(id(place.source), ((), (), ()))
        at = bisect_right(starts, place.end) - 1
        while at >= 0 and furthest[at] >= place.start:
            yield things[at]
            at -= 1
