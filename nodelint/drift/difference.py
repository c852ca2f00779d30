"""Where two values of a Go type differ as their hashes do: order, zero values and ways of writing do not count."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from nodelint.drift.structure import Field, Path, Unhashable, contribution, fields, hash_of, is_zero
from nodelint.model.releases import Version
from nodelint.tuples import NamedTuple


class ValueDifference(NamedTuple):
    """A place at which two values differ: where it is in the old and in the new one, None where it is not there."""

    old: Path | None
    new: Path | None

    @property
    def path(self) -> Path:
        """Where it is now, else where it was."""
        return self.new if self.new is not None else self.old or ()


def differences(kind: str, old: Any, new: Any, release: Version, path: Path) -> Iterator[ValueDifference]:
    """The innermost places at which the hashes of two values of a type differ. Raises Unhashable as hashes do."""
    yield from _between(kind, old, new, release, path, path)


def _between(kind: str, old: Any, new: Any, release: Version, at: Path, to: Path) -> Iterator[ValueDifference]:
    if old == new:
        return
    kind = kind.removeprefix("*")
    if isinstance(old, dict) and isinstance(new, dict) and not kind.startswith("map["):
        yield from _structs(kind, old, new, release, at, to)
        return
    if hash_of(kind, old, release, at) == hash_of(kind, new, release, to):
        return
    inner: Iterator[ValueDifference] = iter(())
    if kind.startswith("[]"):
        inner = _lists(kind[2:], old, new, release, at, to)
    elif kind.startswith("map[string]"):
        inner = _maps(kind[11:], old, new, release, at, to)
    found = list(inner)
    yield from found or [ValueDifference(at, to)]


def _structs(kind: str, old: Any, new: Any, release: Version, at: Path, to: Path) -> Iterator[ValueDifference]:
    """The fields that differ. One that cannot be read counts only where no other differs for certain."""
    certain = False
    unread: Unhashable | None = None
    for field in fields(kind):
        try:
            for each in _of_field(field, old, new, release, at, to):
                certain = True
                yield each
        except Unhashable as error:
            unread = unread or error
    if unread is not None and not certain:
        raise unread


def _of_field(field: Field, old: Any, new: Any, release: Version, at: Path, to: Path) -> Iterator[ValueDifference]:
    was, now = (*at, field.json), (*to, field.json)
    there = field.json in old, field.json in new
    if not field.counts(release) or (all(there) and old[field.json] == new[field.json]):
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


def _maps(kind: str, old: Any, new: Any, release: Version, at: Path, to: Path) -> Iterator[ValueDifference]:
    for key in dict.fromkeys((*new, *old)):
        was, now = (*at, key), (*to, key)
        if key not in old or key not in new:
            yield ValueDifference(was if key in old else None, now if key in new else None)
        elif old[key] != new[key] and hash_of(kind, old[key], release, was) != hash_of(kind, new[key], release, now):
            yield ValueDifference(was, now)


def _lists(kind: str, old: Any, new: Any, release: Version, at: Path, to: Path) -> Iterator[ValueDifference]:
    """Entries are paired in order once those that both lists have are set aside."""
    gone = _left(kind, old, new, release, at, to)
    come = _left(kind, new, old, release, to, at)
    for before, after in zip(gone, come, strict=False):
        yield from _between(kind, old[before], new[after], release, (*at, before), (*to, after))
    yield from (ValueDifference((*at, index), None) for index in gone[len(come) :])
    yield from (ValueDifference(None, (*to, index)) for index in come[len(gone) :])


def _left(kind: str, mine: Any, other: Any, release: Version, at: Path, to: Path) -> list[int]:
    """The indices of the entries that the other list has not."""
    rest = list(other)
    alike = []
    for index, each in enumerate(mine):
        if each in rest:
            rest.remove(each)
        else:
            alike.append(index)
    theirs = Counter(hash_of(kind, each, release, to) for each in rest) if alike else Counter()
    left = []
    for index in alike:
        value = hash_of(kind, mine[index], release, (*at, index))
        if theirs[value]:
            theirs[value] -= 1
        else:
            left.append(index)
    return left
