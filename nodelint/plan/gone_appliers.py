"""What applied objects on the old side and is gone on the new one, while the files of the objects stay."""

from __future__ import annotations

import os
import re

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.files.gate import gate
from nodelint.forms.registry import TABLE
from nodelint.model.finding import Span
from nodelint.model.folders import path_below
from nodelint.model.gap import Gap
from nodelint.plan.uncompared import uncompared
from nodelint.text import Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from nodelint.plan.read_side import Read

_MOST_NAMED = 3
_KIND = re.compile(rb"(?m)^kind:[ \t]*[\"']?(?:Application|ApplicationSet|Kustomization)\b")


class _Applier(NamedTuple):
    """An object or a kustomization that applies a folder or takes files: its name, and the folder or file, from the
    root on.
    """

    name: str
    place: str
    at: Span

    @property
    def key(self) -> tuple[str, str]:
        return self.name, self.place

    @property
    def is_kustomization(self) -> bool:
        return os.path.basename(self.place) in TABLE.names

    def takes(self, places: _Places) -> bool:
        """Whether it is what applies an object: an object around its files, or the outermost kustomization."""
        if self.is_kustomization:
            return (os.path.dirname(self.place) or os.curdir) in places.overlays
        return self.place == os.curdir or any(at.startswith(f"{self.place}{os.sep}") for at in places.files)


class _Places(NamedTuple):
    """The files that objects of one name are made of, and the folders of the overlays that apply them."""

    files: set[str]
    overlays: set[str]


def find_gone_appliers(was: Read, new: Read) -> Iterator[Gap]:
    """Yield what is gone and applied objects that both sides have: the cluster may no longer get them."""
    before = _list_appliers(was) if _may_apply(was) else []
    if not before:
        return
    after = {applier.key: applier for applier in _list_appliers(new)}
    gone = [applier for applier in before if applier.key not in after]
    if not gone:
        return
    keys = {applier.key for applier in before}
    come = [applier for key, applier in after.items() if key not in keys]
    old, now = (_list_places(side) for side in (was, new))
    named: set[str] = set()
    for applier in gone:
        lost = [
            label
            for label, places in old.items()
            if label in now
            and label not in named
            and applier.takes(places)
            # A cluster that loses an object of Argo CD or Flux gets nothing by another that was there before.
            and not any(other.takes(now[label]) for other in come)
            and not (applier.is_kustomization and _is_applied_still(places, now[label], after.values()))
        ]
        if lost:
            named.update(lost)
            lost.sort(reverse=True)  # pools first
            shown = [*lost[:_MOST_NAMED], *([f"{len(lost) - _MOST_NAMED} more"] if len(lost) > _MOST_NAMED else [])]
            reason = (
                f"it is gone: unless something else applies them, the cluster no longer gets {', '.join(shown)},"
                " and their nodes may be deleted"
            )
            yield uncompared(applier.at, applier.name, reason, True)


def _is_applied_still(before: _Places, after: _Places, appliers: Iterable[_Applier]) -> bool:
    """Whether an object of a kustomization that is gone is applied by another, or by a controller."""
    return bool(before.overlays & after.overlays) or any(
        applier.takes(after) for applier in appliers if not applier.is_kustomization
    )


def _may_apply(side: Read) -> bool:
    """Whether a file of a side may hold what applies others: most have none, and need no form for it."""
    for path in side.found.seen:
        if os.path.basename(path) in TABLE.names:
            return True
        try:
            if path.endswith((".yaml", ".yml")) and _KIND.search(gate.read_listed(path)):
                return True
        except OSError:
            continue
    return False


def _list_appliers(side: Read) -> list[_Applier]:
    from nodelint.forms.lib.unread_inputs import UnreadInputs

    files = UnreadInputs(side.found.sources, side.found.seen, side.root)
    found = [
        _Applier(applied.name, path_below(applied.folder, side.root), _show_place(side, applied.at))
        for row in TABLE.rows
        for applied in row.load().list_applied_folders(files)
    ]
    for path in sorted(side.found.seen):
        if os.path.basename(path) in TABLE.names:
            place = path_below(path, side.root)
            found.append(_Applier(place.replace(os.sep, "/"), place, _show_place(side, Span(Source(path, ""), 0, 0))))
    return found


def _show_place(side: Read, at: Span) -> Span:
    """A place as it is named in the repository, and not in the folder of a revision."""
    if side.above is None:
        return at
    path = os.path.join(side.above, path_below(at.source.path, side.root))
    return Span(Source(os.path.relpath(path).replace(os.sep, "/"), at.source.text), at.start, at.end)


def _list_places(side: Read) -> dict[str, _Places]:
    """The places of all pools and classes, from the root on, by kind and name."""
    found: dict[str, _Places] = {}
    for obj in side.inventory.objects():
        built = obj.source.built
        name = obj.name if isinstance(obj.name, str) else obj.name_node.unquoted
        places = found.setdefault(f"{obj.kind} {name}", _Places(set(), set()))
        paths = [obj.source.path, *(built.parts if built is not None else ())]
        places.files.update(path_below(path, side.root) for path in paths)
        if built is not None:
            places.overlays.add(path_below(built.cluster, side.root))
    return found
