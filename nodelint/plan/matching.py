"""Match the objects of two sides of a change."""

from __future__ import annotations

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.plan.values import json_value

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
    from typing import Literal, TypeVar

    from nodelint.model.manifest import Object

    Change = Literal["added", "removed", "changed", "unchanged"]
    _O = TypeVar("_O", bound=Object)


class Pair(NamedTuple):
    """An object before and after. `old` is None for an added object, `new` for a removed one."""

    change: Change
    old: Object | None
    new: Object | None


def match_objects(
    old: Iterable[_O],
    new: Iterable[_O],
    place: Callable[[Object], str],
    values: Callable[[Object], str] = lambda _obj: "",
) -> list[Pair]:
    """Return the objects of one kind in pairs by name. An object with another name is another object for Karpenter.

    If several files define an object of one name (an overlay for each environment), objects with the same `place` are
    paired, then those with the same values file (`values`). A name with a placeholder is compared by its text. An
    object without a name is left out. The order is that of the new side, with removed objects at the end.
    """
    before: dict[str, list[_O]] = {}
    for obj in old:
        if (name := written_name(obj)) is not None:
            before.setdefault(name, []).append(obj)
    after: dict[str, list[_O]] = {}
    named = [(name, obj) for obj in new if (name := written_name(obj)) is not None]
    for name, obj in named:
        after.setdefault(name, []).append(obj)
    match: dict[int, _O] = {}
    for name, namesakes in after.items():
        for now, was in _matched(before.get(name, []), namesakes, place, values):
            match[id(now)] = was
    taken = {id(was) for was in match.values()}
    gone = [obj for namesakes in before.values() for obj in namesakes if id(obj) not in taken]
    found: list[Pair] = []
    for _, now in named:
        paired = match.get(id(now))
        if paired is None:
            found.append(Pair("added", None, now))
        else:
            found.append(Pair("unchanged" if is_same(paired, now) else "changed", paired, now))
    return found + [Pair("removed", obj, None) for obj in gone]


def written_name(obj: Object) -> str | None:
    """Return the name of an object as it is written, even with a placeholder. None if it has none."""
    if isinstance(obj.name, str):
        return obj.name
    return obj.name_node.unquoted if obj.name is not None and obj.name_node.kind == "scalar" else None


def _matched(
    old: Sequence[_O], new: Sequence[_O], place: Callable[[Object], str], values: Callable[[Object], str]
) -> Iterator[tuple[_O, _O]]:
    """Yield the pairs of objects of one name: by place, then by values, then by content, then by order."""

    def find_values(obj: Object) -> Hashable:
        return values(obj) or id(obj)

    left_old, left_new = list(old), list(new)
    for describe in (place, find_values, _content):
        if not left_old or not left_new:
            return
        waiting: dict[Hashable, list[_O]] = {}
        for was in reversed(left_old):
            waiting.setdefault(describe(was), []).append(was)
        found = [(now, alike.pop()) for now in left_new if (alike := waiting.get(describe(now)))]
        taken = {id(obj) for pair in found for obj in pair}
        left_old = [obj for obj in left_old if id(obj) not in taken]
        left_new = [obj for obj in left_new if id(obj) not in taken]
        yield from found
    yield from zip(left_new, left_old, strict=False)


def is_applied(obj: Object) -> bool:
    """Return whether the Helm release that applies an object of a chart is known."""
    built = obj.source.built
    return built is not None and built.release is not None and built.applied_by[1] != ""


def is_same(old: Object, new: Object) -> bool:
    """Return whether two objects have the same data, whatever the notation. Placeholders are equal if their texts
    are.
    """
    # In a rendered manifest, equal texts may be two unknown values; equal aliases may have different values.
    plain = old.source.built is None and new.source.built is None and "*" not in old.node.text
    return (plain and old.node.text == new.node.text) or json_value(old.node) == json_value(new.node)


def is_same_spec(old: Object, new: Object) -> bool:
    """Return whether two objects of one name have the same API and the same spec: no label of an object itself
    replaces a node.
    """
    if is_same(old, new):
        return True
    before, after = (obj.node.get("spec") for obj in (old, new))
    if before is None or after is None or old.api_version != new.api_version:
        return False
    return json_value(before) == json_value(after)


def _content(obj: Object) -> Hashable:
    """Return a hashable form of an object's content, which is equal for objects that `is_same` calls equal."""
    return obj.once("content", (), lambda: _frozen(json_value(obj.node)))


def _frozen(value: object) -> Hashable:
    if isinstance(value, dict):
        return frozenset((name, _frozen(member)) for name, member in value.items())
    return tuple(map(_frozen, value)) if isinstance(value, list) else value
