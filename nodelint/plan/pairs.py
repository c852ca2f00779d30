"""Two sides of a change: which object of the one is which of the other, and what became of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal, TypeVar

from nodelint.model.manifest import Object
from nodelint.tuples import NamedTuple

Change = Literal["added", "removed", "changed", "unchanged", "renamed"]

_O = TypeVar("_O", bound=Object)


class Pair(NamedTuple):
    """An object before and after. `old` is None for an added one, `new` for a removed one."""

    change: Change
    old: Object | None
    new: Object | None


def pairs(old: Iterable[_O], new: Iterable[_O], place: Callable[[Object], str]) -> list[Pair]:
    """Pair the objects of one kind by name; what is left by what it holds, which is a renaming.

    Where several files define an object of one name (an overlay for each environment), those whose files have the
    same `place` belong together. Objects without a name, or with a placeholder for one, are left out. The order is
    that of the new side; what was removed comes last.
    """
    before: dict[str, list[_O]] = {}
    for obj in old:
        if isinstance(obj.name, str):
            before.setdefault(obj.name, []).append(obj)
    after: dict[str, list[_O]] = {}
    named = [obj for obj in new if isinstance(obj.name, str)]
    for obj in named:
        after.setdefault(str(obj.name), []).append(obj)
    match: dict[int, _O] = {}
    for name, ones in after.items():
        for now, was in _matched(before.get(name, []), ones, place):
            match[id(now)] = was
    taken = {id(was) for was in match.values()}
    gone = [obj for ones in before.values() for obj in ones if id(obj) not in taken]
    found: list[Pair] = []
    for now in named:
        paired = match.get(id(now))
        if paired is not None:
            found.append(Pair("unchanged" if _same(paired, now) else "changed", paired, now))
            continue
        renamed = next((obj for obj in gone if _same_spec(obj, now)), None)
        if renamed is not None:
            gone.remove(renamed)
        found.append(Pair("added" if renamed is None else "renamed", renamed, now))
    return found + [Pair("removed", obj, None) for obj in gone]


def _matched(old: Sequence[_O], new: Sequence[_O], place: Callable[[Object], str]) -> Iterator[tuple[_O, _O]]:
    """Namesakes that belong together: in a file of the same place, then by what they hold, then in their order."""

    def same_place(was: Object, now: Object) -> bool:
        return place(was) == place(now)

    left_old, left_new = list(old), list(new)
    if len(old) > 1 or len(new) > 1:
        for fits in (same_place, _same):
            for now in list(left_new):
                was = next((each for each in left_old if fits(each, now)), None)
                if was is not None:
                    left_old.remove(was)
                    left_new.remove(now)
                    yield now, was
    yield from zip(left_new, left_old, strict=False)


def _same(old: Object, new: Object) -> bool:
    """Whether two objects hold the same data, however it is written."""
    return old.node.plain() == new.node.plain()


def _same_spec(old: Object, new: Object) -> bool:
    was, now = old.node.get("spec"), new.node.get("spec")
    return was is not None and now is not None and old.api_version == new.api_version and was.plain() == now.plain()
