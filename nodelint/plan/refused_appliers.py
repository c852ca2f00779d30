"""Find objects of a delivery tool that the tool refuses on one side only, because a path in them does not exist.

What they applied before stays in the cluster as it is, or is not known: nothing of it is deleted or changed.
"""

from __future__ import annotations

import os

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.files.gate import gate
from nodelint.model.finding import Span
from nodelint.model.folders import path_below
from nodelint.model.gap import Gap
from nodelint.plan.gone_appliers import show_place

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nodelint.forms.lib.missing_sources import MissingSource
    from nodelint.forms.rendered import Built
    from nodelint.plan.read_side import Read


class RefusedApplier(NamedTuple):
    """An object that a tool refuses on one side (0 is the old one).

    - `path`: the path of its file below the root.
    - `key`: its kind, namespace and name, as in `Built.applied_by`.
    - `gap`: the reason; its subject is the kind and name of the object.
    """

    side: int
    path: str
    key: str
    gap: Gap

    def applies(self, built: Built, root: str) -> bool:
        """Return whether the object applies a rendered manifest of a side with a root folder."""
        path, name = built.applied_by
        if name == self.key:
            below = path_below(path, root)
            return below == self.path or gate.is_folder(path)
        folder, colon, own = built.cluster.rpartition(":")
        return colon != "" and own == self.key.split()[-1] and path_below(folder, root) == self.path


def find_refused(sides: Sequence[Read]) -> list[RefusedApplier]:
    """Return the objects that are refused on one side, and not for the same reason on the other one."""
    found = [{_key(missing, side): missing for missing in _list_missing(side)} for side in sides]
    return [
        RefusedApplier(number, key[0], missing.by[1], _make_gap(missing, sides[number]))
        for number, mine in enumerate(found)
        for key, missing in mine.items()
        if key not in found[1 - number]
    ]


def match_refused(refused: Sequence[RefusedApplier], sides: Sequence[Read]) -> Iterator[tuple[Built, Gap]]:
    """Yield the rendered manifests of both sides that refused objects apply, each with the reason.

    On the side that refuses, the files of these manifests may be rendered without the object: nothing applies that.
    """
    for applier in refused:
        taken: set[str] = set()
        for number in (1 - applier.side, applier.side):
            root = sides[number].root
            for built in sides[number].inventory.built:
                files = {path_below(path, root) for path in built.replaces}
                if applier.applies(built, root):
                    yield built, applier.gap
                    taken |= files
                elif number == applier.side and _is_unapplied(built) and taken & files:
                    yield built, applier.gap


def _is_unapplied(built: Built) -> bool:
    return built.applied_by[1] == "" and ":" not in os.path.basename(built.cluster)


def _list_missing(side: Read) -> Iterator[MissingSource]:
    from nodelint.inventory.missing_sources import list_all_missing

    return list_all_missing(side.inventory.files)


def _key(missing: MissingSource, side: Read) -> tuple[str, str, str]:
    return path_below(missing.by[0], side.root), missing.by[1], missing.reason


def _make_gap(missing: MissingSource, side: Read) -> Gap:
    at = show_place(side, Span(missing.node.source, missing.node.start, missing.node.end))
    effect = missing.effect if missing.is_certain else "what it makes of it is not known"
    return Gap(at, "file", f"{missing.reason}: {effect}", subject=missing.name)
