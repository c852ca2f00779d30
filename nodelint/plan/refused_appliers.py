"""Find objects of a delivery tool that the tool refuses on one side only, because a path in them does not exist.

What they applied before stays in the cluster as it is, or is not known: nothing of it is deleted or changed.
"""

from __future__ import annotations

import os

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.files.gate import gate
from nodelint.forms.registry import TABLE
from nodelint.model.finding import Span
from nodelint.model.folders import path_below
from nodelint.model.gap import Gap
from nodelint.plan.gone_appliers import list_appliers, list_places, show_place

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
        if os.path.basename(self.path) in TABLE.names and self.path in {
            path_below(part, root) for part in built.parts
        }:
            return True
        path, name = built.applied_by
        if not self.key:  # a file that stops its tool also stops the files that it includes
            below = path_below(path, root) if name else os.pardir
            folder = os.path.dirname(self.path)
            return below == self.path or (name != "" and below.startswith(os.path.join(folder, "") if folder else ""))
        if name == self.key:
            below = path_below(path, root)
            return below == self.path or gate.is_folder(path)
        folder, colon, own = built.cluster.rpartition(":")
        return colon != "" and own == self.key.split()[-1] and path_below(folder, root) == self.path


def find_refused(sides: Sequence[Read]) -> list[RefusedApplier]:
    """Return the objects that are refused on one side, and not for the same reason on the other one.

    An object that has no relation to Karpenter by itself counts if it applies something on the other side.
    """
    found = [{_key(missing, side): missing for missing in _list_missing(side, of_any=True)} for side in sides]
    fresh = [(number, key) for number in (0, 1) for key in found[number] if key not in found[1 - number]]
    if not fresh:
        return []
    known = [{_key(missing, side) for missing in _list_missing(side)} for side in sides]
    applying = [_list_applying(side) for side in sides]
    refused = []
    for number, key in fresh:
        missing = found[number][key]
        applier = RefusedApplier(number, key[0], key[1], _make_gap(missing, sides[number]))
        concerns = key in known[number] or missing.name in applying[1 - number]
        if concerns or next(match_refused([applier], sides), None) is not None:
            refused.append(applier)
    return refused


def _list_applying(side: Read) -> set[str]:
    """Return the names of what applies an object of a side by its folder."""
    places = [place for places in list_places(side).values() for place in places]
    return {applier.name for applier in list_appliers(side) if any(map(applier.takes, places))}


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


def _list_missing(side: Read, of_any: bool = False) -> Iterator[MissingSource]:
    """Yield the missing paths in what applies folders and charts: those that concern Karpenter, or all."""
    from nodelint.forms.lib.values import read
    from nodelint.inventory.missing_sources import list_all_missing

    # Modules are refused as a whole: `stopped_roots`.
    ours = (source for source in side.inventory.files if not source.path.endswith((*TABLE.endings, *TABLE.heads)))
    files = {os.path.abspath(source.path): source for source in ours}
    parts = (part for built in side.inventory.built for part in built.parts if os.path.basename(part) in TABLE.names)
    named = (path for path in side.found.seen if any(name in path for name in TABLE.installing_names))
    paths = dict.fromkeys(map(os.path.abspath, (*parts, *side.found.applying, *side.found.installing, *named)))
    more = [read(os.path.relpath(path)) for path in paths if path not in files]
    return list_all_missing([*files.values(), *(source for source in more if source is not None)], of_any)


def _key(missing: MissingSource, side: Read) -> tuple[str, str, str]:
    return path_below(missing.by[0], side.root), missing.by[1], missing.reason


def _make_gap(missing: MissingSource, side: Read) -> Gap:
    at = show_place(side, Span(missing.node.source, missing.node.start, missing.node.end))
    effect = missing.effect if missing.is_certain else "what it makes of it is not known"
    return Gap(at, "file", f"{missing.reason}: {effect}", subject=missing.name)
