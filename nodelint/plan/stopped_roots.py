"""Find root modules that a tool such as Terraform refuses on one side only, because a file or module is missing.

The tool applies nothing of such a root, so its objects stay as they are: nothing of it is deleted or changed.
"""

from __future__ import annotations

import os

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.files.gate import gate
from nodelint.forms.registry import TABLE
from nodelint.model.finding import Span, span_of, written_place
from nodelint.model.folders import path_below
from nodelint.model.gap import Gap
from nodelint.plan.gone_appliers import show_place

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from nodelint.forms.lib.missing_sources import MissingSource
    from nodelint.forms.registry import FormRow
    from nodelint.model.manifest import Object
    from nodelint.plan.read_side import Read


class StoppedRoots(NamedTuple):
    """The roots that are refused on one side.

    - `of_sides`: the gaps of the old and of the new side.
    - `folders`: the paths of the roots below the folder of a side.
    - `objects`: the objects of each side that only these roots create, each with its gap.
    """

    of_sides: tuple[Sequence[Gap], Sequence[Gap]] = ((), ())
    folders: frozenset[str] = frozenset()
    objects: tuple[Sequence[tuple[Object, Gap]], Sequence[tuple[Object, Gap]]] = ((), ())


_NONE = StoppedRoots()
_Roots = dict[int, tuple["Object", set[str]]]
"""The objects of a side by their ids, each with the paths of its roots below the folder of the side."""


def find_stopped_roots(sides: Sequence[Read]) -> StoppedRoots:
    """Return the roots that lack a file or module on one side only."""
    rows = TABLE.of_languages(path for side in sides for path in side.found.seen)
    if not rows:
        return _NONE
    made = [_list_roots(side, rows) for side in sides]
    roots = {root for objects in made for _, roots in objects.values() for root in roots}
    missing = [dict(_list_missing(side, sorted(roots), rows)) for side in sides]
    stopped: dict[str, Gap] = {}
    of_sides: tuple[list[Gap], list[Gap]] = ([], [])
    for number, mine in enumerate(missing):
        for key, found in mine.items():
            if key not in missing[1 - number]:
                gap = _make_gap(found, sides[number], number)
                stopped.setdefault(key[0], gap)
                of_sides[number].append(gap)
    for number in (0, 1):
        for root, gap in _find_moved(made[1 - number], sides[number], sides[1 - number], number, rows):
            stopped.setdefault(root, gap)
            of_sides[number].append(gap)
    if not stopped:
        return _NONE
    objects = _match_objects(made, sides, stopped)
    return StoppedRoots(of_sides, frozenset(stopped), objects)


def _list_roots(side: Read, rows: Sequence[FormRow]) -> _Roots:
    found: _Roots = {}
    objects = list(side.inventory.objects(foreign=True))
    for row in rows:
        for obj, root in row.load().list_roots(objects, side.found.sources):
            found.setdefault(id(obj), (obj, set()))[1].add(path_below(root, side.root))
    return found


def _list_missing(
    side: Read, roots: Sequence[str], rows: Sequence[FormRow]
) -> Iterator[tuple[tuple[str, str, str], MissingSource]]:
    folders = [os.path.abspath(os.path.join(side.root, root)) for root in roots]
    there = [folder for folder in folders if gate.is_folder(folder)]
    for row in rows:
        for folder, missing in row.load().list_missing_below(there, side.found.sources):
            yield (path_below(folder, side.root), path_below(missing.by[0], side.root), missing.reason), missing


def _find_moved(
    others: _Roots, side: Read, other: Read, number: int, rows: Sequence[FormRow]
) -> Iterator[tuple[str, Gap]]:
    """Yield the roots of the other side that a side does not have, if a root that only this side has is refused.

    It may be the same root in another folder.
    """
    roots = {root for _, roots in others.values() for root in roots}
    gone = sorted(root for root in roots if not gate.is_folder(os.path.join(side.root, root)))
    if not gone:
        return
    heads = tuple(name for row in rows for name in (*row.endings, *row.heads))
    folders = {os.path.dirname(path_below(path, side.root)) for path in side.found.seen if path.endswith(heads)}
    new = sorted(folder for folder in folders if not gate.is_folder(os.path.join(other.root, folder)))
    missing = next((missing for _, missing in _list_missing(side, new, rows)), None)
    if missing is not None:
        gap = _make_gap(missing, side, number)
        yield from ((root, gap) for root in gone)


def _make_gap(missing: MissingSource, side: Read, number: int) -> Gap:
    at = show_place(side, Span(missing.node.source, missing.node.start, missing.node.end))
    reason = f"the {('old', 'new')[number]} side cannot be built: {missing.reason}: {missing.effect}"
    return Gap(at, "file", reason, subject=missing.name)


def _match_objects(
    made: Sequence[_Roots], sides: Sequence[Read], stopped: Mapping[str, Gap]
) -> tuple[list[tuple[Object, Gap]], list[tuple[Object, Gap]]]:
    """Return the objects of each side that only stopped roots create.

    Also those without such a root on one side, in files of which a stopped root makes all objects on the other side.
    """
    found: tuple[list[tuple[Object, Gap]], list[tuple[Object, Gap]]] = ([], [])
    taken: list[dict[str, tuple[Gap, set[str]]]] = [{}, {}]
    for number, objects in enumerate(made):
        for obj, roots in objects.values():
            if roots and roots <= stopped.keys():
                gap = stopped[min(roots)]
                found[number].append((obj, gap))
                known = taken[number].setdefault(_place_of(obj, sides[number]), (gap, set()))
                known[1].update(roots)
    for number, side in enumerate(sides):
        done = {id(obj) for obj, _ in found[number]}
        for obj in side.inventory.objects(foreign=True):
            other = taken[1 - number].get(_place_of(obj, side))
            if other is None or id(obj) in done:
                continue
            _, roots = made[number].get(id(obj), (obj, set()))
            # A module that nothing calls any more looks like a root of its own.
            own = os.path.dirname(_place_of(obj, side)) or os.curdir
            if roots - stopped.keys() <= {own} - other[1]:
                found[number].append((obj, other[0]))
    return found


def _place_of(obj: Object, side: Read) -> str:
    return path_below(span_of(written_place(obj.node)).source.path, side.root)
