"""Where two values of a Go type differ in a way that changes their hashes: order, zero values and notation do not
count.

A value with a placeholder differs if no value of the placeholder makes both sides equal. If one does, the result is
unknown, unless another place certainly differs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from nodelint.apiserver.problems import holds_unknown
from nodelint.base.tuples import NamedTuple
from nodelint.base.types import Any
from nodelint.drift.hashstructure import Field, Path, Unhashable, contribution, fields, hash_of, is_zero
from nodelint.drift.stored_form import OpenMap, Placeholder
from nodelint.drift.unknown_text import is_conditional, may_be_empty, texts_differ
from nodelint.model.messages import short
from nodelint.model.releases import Version
from nodelint.text import UnknownValue


class ValueDifference(NamedTuple):
    """A place at which two values differ: its path in the old and in the new value. None if it is missing there."""

    old: Path | None
    new: Path | None

    @property
    def path(self) -> Path:
        """Return the new path, or the old one if the place is missing in the new value."""
        return self.new if self.new is not None else self.old or ()


def differences(kind: str, old: Any, new: Any, release: Version, path: Path) -> Iterator[ValueDifference]:
    """Yield the innermost places at which the hashes of two values of a type differ. Raise Unhashable as `hash_of`
    does.
    """
    yield from _between(kind, old, new, release, path, path)


def _between(kind: str, old: Any, new: Any, release: Version, at: Path, to: Path) -> Iterator[ValueDifference]:
    if old == new:
        return
    kind = kind.removeprefix("*")
    if isinstance(old, UnknownValue) or isinstance(new, UnknownValue):
        found = list(_known_entries(kind, old, new, release, at, to))
        if found:
            yield from found
            return
        yield _of_unknown(kind, old, new, at, to)
        return
    if isinstance(old, dict) and isinstance(new, dict) and not kind.startswith("map["):
        yield from _structs(kind, old, new, release, at, to)
        return
    unknown = holds_unknown(old) or holds_unknown(new)
    if not unknown and hash_of(kind, old, release, at) == hash_of(kind, new, release, to):
        return
    inner: Iterator[ValueDifference] = iter(())
    if kind.startswith("[]"):
        inner = _lists(kind[2:], old, new, release, at, to)
    elif kind.startswith("map[string]"):
        inner = _maps(kind[11:], old, new, release, at, to)
    found = list(inner)
    yield from found if found or unknown else [ValueDifference(at, to)]


def _known_entries(kind: str, old: Any, new: Any, release: Version, at: Path, to: Path) -> Iterator[ValueDifference]:
    """Yield the entries that both maps have and that differ, whatever entries template code adds."""
    before, after = (value.known if isinstance(value, OpenMap) else value for value in (old, new))
    if not kind.startswith("map[string]") or not isinstance(before, dict) or not isinstance(after, dict):
        return
    for key in before.keys() & after.keys():
        both = (before[key], at), (after[key], to)
        hashes = {
            hash_of(kind[11:], value, release, (*path, key)) for value, path in both if not holds_unknown(value)
        }
        if len(hashes) > 1:
            yield ValueDifference((*at, key), (*to, key))
    yield from (ValueDifference((*at, key), None) for key in _list_lacking(old, new))
    yield from (ValueDifference(None, (*to, key)) for key in _list_lacking(new, old))


def _list_lacking(mine: Any, other: Any) -> Iterator[str]:
    """Yield the keys of a map that another one lacks for certain, whatever its placeholders stand for."""
    written = mine.written if isinstance(mine, OpenMap) else mine
    names = other.written if isinstance(other, OpenMap) else other
    keys = other.keys if isinstance(other, OpenMap) else ()
    if keys is None:
        return
    for key, value in written.items():
        may_lack = isinstance(value, Placeholder) and is_conditional(value)
        if key not in names and not may_lack and all(texts_differ(key, open_key) for open_key in keys):
            yield key


def _of_unknown(kind: str, old: Any, new: Any, at: Path, to: Path) -> ValueDifference:
    """Return the difference of two values, at least one a placeholder. Raise Unhashable if they may be equal."""
    texts = all(isinstance(value, str | Placeholder) for value in (old, new))
    if kind == "string" and texts and texts_differ(old, new):
        return ValueDifference(at, to)
    value, path = (new, to) if isinstance(new, UnknownValue) else (old, at)
    if isinstance(old, Placeholder) and isinstance(new, Placeholder) and old.text != new.text:
        both = f"`{short(old.text)}` -> `{short(new.text)}`"
        raise Unhashable(path, f"{both}: both are filled in later, and may be equal")
    other = old if value is new else new
    if isinstance(value, Placeholder) and isinstance(other, str):
        both = " -> ".join(f"`{short(side.text if isinstance(side, Placeholder) else side)}`" for side in (old, new))
        raise Unhashable(path, f"{both}: the placeholder is filled in later, and may give the same value")
    raise Unhashable(path, _filled_later(value))


def _filled_later(value: Any) -> str:
    return f"`{short(value.text)}` is filled in later" if isinstance(value, Placeholder) else _UNKNOWN


def _is_text(kind: str) -> bool:
    return kind.removeprefix("*") == "string"


_UNKNOWN = "a placeholder with an unknown value"


def _certain(parts: Iterable[Iterable[ValueDifference]]) -> Iterator[ValueDifference]:
    """Yield the differences of independent parts.

    Raise Unhashable if a part cannot be read and no other part differs.
    """
    certain = False
    unread: Unhashable | None = None
    for part in parts:
        try:
            for difference in part:
                certain = True
                yield difference
        except Unhashable as error:
            unread = unread or error
    if unread is not None and not certain:
        raise unread


def _structs(kind: str, old: Any, new: Any, release: Version, at: Path, to: Path) -> Iterator[ValueDifference]:
    yield from _certain(_of_field(field, old, new, release, at, to) for field in fields(kind))


def _of_field(field: Field, old: Any, new: Any, release: Version, at: Path, to: Path) -> Iterator[ValueDifference]:
    was, now = (*at, field.json), (*to, field.json)
    there = field.json in old, field.json in new
    if not field.counts(release) or (all(there) and old[field.json] == new[field.json]):
        return
    if any(holds_unknown(side[field.json]) for side in (old, new) if field.json in side):
        yield from _of_unknown_field(field, old, new, release, was, now)
        return
    if all(there) and isinstance(old[field.json], dict) and isinstance(new[field.json], dict):
        structs = not field.type.removeprefix("*").startswith("map[")
        if structs and is_zero(field.type, old[field.json], was) == is_zero(field.type, new[field.json], now):
            yield from _between(field.type, old[field.json], new[field.json], release, was, now)
            return
    before = contribution(field, old[field.json], release, was) if there[0] else None
    after = contribution(field, new[field.json], release, now) if there[1] else None
    if before == after:
        return
    if before is None or after is None or field.tag == "string":
        yield ValueDifference(was if there[0] else None, now if there[1] else None)
    else:
        yield from _between(field.type, old[field.json], new[field.json], release, was, now)


def _of_unknown_field(
    field: Field, old: Any, new: Any, release: Version, was: Path, now: Path
) -> Iterator[ValueDifference]:
    """Yield the difference of a field with a placeholder on at least one side. Raise Unhashable if both may be
    equal.
    """
    if field.json in old and field.json in new:
        if field.tag == "string":  # a quantity: two notations may have the same value
            raise Unhashable(now, _UNKNOWN)
        yield from _between(field.type, old[field.json], new[field.json], release, was, now)
        return
    value = old[field.json] if field.json in old else new[field.json]
    path = was if field.json in old else now
    # A list or a map changes the hash whatever its content is. A text does so unless it may be empty: a field of a
    # template with an empty value is missing.
    counts = field.type.startswith(("*", "[]", "map["))
    if isinstance(value, UnknownValue):
        counts = _is_text(field.type) and isinstance(value, Placeholder) and not may_be_empty(value)
    if not counts:
        raise Unhashable(path, _filled_later(value))
    yield ValueDifference(was if field.json in old else None, now if field.json in new else None)


def _maps(kind: str, old: Any, new: Any, release: Version, at: Path, to: Path) -> Iterator[ValueDifference]:
    def of_key(key: str) -> Iterator[ValueDifference]:
        was, now = (*at, key), (*to, key)
        value = new[key] if key in new else old[key]
        if (key not in old or key not in new) and isinstance(value, Placeholder) and is_conditional(value):
            raise Unhashable(now if key in new else was, _filled_later(value))
        if key not in old or key not in new:
            yield ValueDifference(was if key in old else None, now if key in new else None)
        elif holds_unknown(old[key]) or holds_unknown(new[key]):
            yield from _between(kind, old[key], new[key], release, was, now)
        elif old[key] != new[key] and hash_of(kind, old[key], release, was) != hash_of(kind, new[key], release, now):
            yield ValueDifference(was, now)

    yield from _certain(of_key(key) for key in dict.fromkeys((*new, *old)))


def _lists(kind: str, old: Any, new: Any, release: Version, at: Path, to: Path) -> Iterator[ValueDifference]:
    """Yield the differences of two lists. Entries that both lists have are ignored, and the others are paired in
    order.
    """
    gone = _left(kind, old, new, release, at, to)
    come = _left(kind, new, old, release, to, at)

    def between(before: int, after: int) -> Iterator[ValueDifference]:
        return _between(kind, old[before], new[after], release, (*at, before), (*to, after))

    def surely_gone(before: int) -> bool:
        """Return whether an entry certainly differs from each new entry, because order does not count."""
        try:
            return all(next(between(before, after), None) is not None for after in come)
        except Unhashable:
            return False

    try:
        yield from _certain(between(before, after) for before, after in zip(gone, come, strict=False))
    except Unhashable:
        # Lists of different lengths differ, and so do lists with an entry that no new entry can equal.
        sure = gone[:1] if len(gone) != len(come) else [index for index in gone if surely_gone(index)]
        if not sure:
            raise
        yield ValueDifference((*at, sure[0]), (*to, come[0]) if come else None)
    yield from (ValueDifference((*at, index), None) for index in gone[len(come) :])
    yield from (ValueDifference(None, (*to, index)) for index in come[len(gone) :])


def _left(kind: str, mine: Any, other: Any, release: Version, at: Path, to: Path) -> list[int]:
    """Return the indexes of the entries that the other list does not have.

    An entry with a placeholder must have the same text there.
    """
    rest = list(other)
    alike = []
    for index, entry in enumerate(mine):
        if entry in rest:
            rest.remove(entry)
        else:
            alike.append(index)
    known = [entry for entry in rest if not holds_unknown(entry)]
    theirs = Counter(hash_of(kind, entry, release, to) for entry in known) if alike else Counter()
    left = []
    for index in alike:
        if holds_unknown(mine[index]):
            left.append(index)
            continue
        value = hash_of(kind, mine[index], release, (*at, index))
        if theirs[value]:
            theirs[value] -= 1
        else:
            left.append(index)
    return left
