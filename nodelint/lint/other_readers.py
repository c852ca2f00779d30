"""Find what else reads a value that a fix changes: the fix is judged by NodePools and NodeClasses only."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from nodelint.base.types import TYPE_CHECKING
from nodelint.forms.registry import TABLE
from nodelint.forms.requests import JudgedPlaces
from nodelint.model.documents import objects
from nodelint.model.finding import Edit, Span, span_of

if TYPE_CHECKING:
    from nodelint.forms.interface import ValueReaders
    from nodelint.forms.rendered import Built
    from nodelint.inventory import Inventory


class OtherReaders:
    """Finds the first other reader of the values that edits change."""

    def __init__(self, inventory: Inventory) -> None:
        self._inventory = inventory
        self._judged: JudgedPlaces | None = None
        self._finders: list[ValueReaders] = []

    def find(self, edits: Sequence[Edit]) -> Span | None:
        """Return a place that reads a value which one of the edits changes, and leads to no judged object.

        None if there is none, or if the edits change only files from which no object is rendered.
        """
        if not self._inventory.built:
            return None
        if self._judged is None:
            built = [made for made in self._inventory.built if next(objects(made.source), None) is not None]
            spans: dict[str, set[tuple[int, int]]] = {}
            for place in (place for made in built for place in _list_places(made)):
                spans.setdefault(os.path.abspath(place.source.path), set()).add((place.start, place.end))
            self._judged = JudgedPlaces(spans, frozenset(path for made in built for path in made.parts))
            made_finders = (row.load().make_value_readers(self._judged, self._inventory.files) for row in TABLE.rows)
            self._finders = [finder for finder in made_finders if finder is not None]
        led = [edit for edit in edits if os.path.abspath(edit.source.path) in self._judged.parts]
        return next((place for edit in led for finder in self._finders for place in finder.list_places(edit)), None)


def _list_places(built: Built) -> Iterator[Span]:
    for node in (node for obj in objects(built.source) for node in obj.node.walk() if node.kind == "scalar"):
        origin = built.find_origin(node)
        if origin is not None:
            yield from (span_of(at) for at in (origin.at, *(step.at for step in origin.through)))
