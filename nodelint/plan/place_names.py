"""Names for places, with which objects of both sides are paired if several Helm releases of a chart have one
place.
"""

from __future__ import annotations

from collections import Counter

from nodelint.base.types import TYPE_CHECKING
from nodelint.plan.values import json_value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nodelint.model.manifest import Object
    from nodelint.plan.sides import Side


def name_places(sides: Sequence[Side], objects: Sequence[Sequence[Object]]) -> dict[int, str]:
    """Return the place of each text with objects of both sides, by its id.

    Releases with one place are paired by equal objects: their order may change, and one may be added or removed.
    """
    named: dict[int, str] = {}  # of texts: finding a path from the root on is slow
    shared: set[str] = set()
    for side, objs in zip(sides, objects, strict=True):
        own = {id(obj.source): obj for obj in objs}
        places = {key: side.place(obj) for key, obj in own.items()}
        shared |= {place for place, count in Counter(places.values()).items() if count > 1}
        named |= places
    if shared:
        for objs in objects:
            manifests: dict[object, list[str]] = {}
            for obj in objs:
                manifests.setdefault(_release(obj), []).append(repr(json_value(obj.node)))
            for obj in objs:
                place = named[id(obj.source)]
                if place in shared:
                    named[id(obj.source)] = f"{place} {sorted(manifests[_release(obj)])}"
    return named


def _release(obj: Object) -> object:
    """Return a key for the Helm release of an object. If no release gives values, it is that of the text."""
    built = obj.source.built
    return (built.cluster, built.release) if built is not None and built.release is not None else id(obj.source)
