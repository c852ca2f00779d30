"""The hash of a typed value, as mitchellh/hashstructure v2 computes it with Karpenter's options.

FormatV2 with SlicesAsSets, IgnoreZeroValue and ZeroNil: FNV-1 of 64 bits. The names of structs and fields count, and
so does the order of fields. The order of a list's entries does not count, and two equal entries cancel each other
out. Fields with Go's zero value are left out. A list, map or pointer that is present is never zero.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, lru_cache

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import Any
from nodelint.data import table
from nodelint.drift import go_values
from nodelint.model.releases import Version, releases_match
from nodelint.text import UnknownValue

Path = tuple[str | int, ...]

_BASIS, _PRIME, _MASK = 0xCBF29CE484222325, 0x100000001B3, 2**64 - 1
_BITS = {"int32": 32, "int64": 64}


class Unhashable(Exception):
    """Raised for a value that has no hash, with its path and the reason."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{render_path(path)}: {reason}" if path else reason)
        self.path = path
        self.reason = reason


class Field(NamedTuple):
    """A field of a Go struct: its name there and in JSON, its type, and the value of its `hash` tag.

    The tag `unplaced` is nodelint's own: the field is hashed, but its position among the fields, which counts, is not
    known.
    """

    name: str
    json: str
    type: str
    tag: str
    releases: str

    def counts(self, release: Version) -> bool:
        """Return whether the release hashes the field."""
        return self.tag != "ignore" and releases_match(self.releases, release)


@cache
def fields(struct: str) -> tuple[Field, ...]:
    """Return the fields of a Karpenter struct by its Go name, in Go's order. Raise KeyError if there is no such
    struct.
    """
    rows = table("hashes")["structs"][struct]["fields"]
    return tuple(Field(r["name"], r["json"], r["type"], r.get("hash", ""), r.get("releases", "")) for r in rows)


def hash_of(kind: str, value: Any, release: Version, path: Path = ()) -> int:
    """Return the hash of a value of a Go type. Raise Unhashable for a value that Go cannot read."""
    kind = kind.removeprefix("*")
    if kind.startswith("[]"):
        total = 0
        for index, member in enumerate(_typed(value, list, path)):
            total ^= hash_of(kind[2:], member, release, (*path, index))
        return total
    if kind.startswith("map[string]"):
        total = 0
        for key, member in _typed(value, dict, path).items():
            total ^= _ordered(text_hash(key), hash_of(kind[11:], member, release, (*path, key)))
        return _finish(total)
    if kind in _SCALARS:
        return _SCALARS[kind](value, path)
    return _struct(kind, _typed(value, dict, path), release, path)


def contribution(field: Field, value: Any, release: Version, path: Path) -> int | None:
    """Return the part of a field in its struct's hash. None if the field does not change the hash."""
    if not field.counts(release) or is_zero(field.type, value, path):
        return None
    if field.tag == "string":
        return text_hash(_read(go_values.quantity, value, path))
    return hash_of(field.type, value, release, path)


def is_zero(kind: str, value: Any, path: Path = ()) -> bool:
    """Return whether a present value is the zero value of its Go type."""
    if kind.startswith(("*", "[]", "map[")):
        return False
    if kind == "NillableDuration":
        return bool(value == NEVER)
    if kind in ("string", "bool", *_BITS):
        _SCALARS[kind](value, path)
        return not value
    if kind == "Duration":
        return bool(_read(go_values.duration, value, path) == 0)
    mapping = _typed(value, dict, path)
    return all(f.json not in mapping or is_zero(f.type, mapping[f.json], (*path, f.json)) for f in fields(kind))


NEVER = "Never"
"""The value of a duration field that disables it."""


def _struct(name: str, value: dict[str, Any], release: Version, path: Path) -> int:
    total = text_hash(name)
    for field in fields(name):
        if field.json in value:
            if field.tag == "unplaced" and field.counts(release):
                reason = f"it counts in the hash of Karpenter {release}, but how is not known here"
                raise Unhashable((*path, field.json), reason)
            part = contribution(field, value[field.json], release, (*path, field.json))
            if part is not None:
                total = _finish(total ^ _ordered(text_hash(field.name), part))
    return total


# -- scalars


def _integer(value: Any, bits: int, path: Path) -> int:
    number = _typed(value, int, path)
    if not -(2 ** (bits - 1)) <= number < 2 ** (bits - 1):
        raise Unhashable(path, f"{number} does not fit in {bits} bits")
    return _fnv(number.to_bytes(bits // 8, "little", signed=True))


def _duration(value: Any, path: Path) -> int:
    """Return the hash of a metav1.Duration: a struct with a count of nanoseconds, which is left out if it is 0."""
    name = text_hash("Duration")
    nanoseconds = _read(go_values.duration, value, path)
    if not nanoseconds:
        return name
    return _finish(name ^ _ordered(name, _integer(nanoseconds, 64, path)))


def _nillable_duration(value: Any, path: Path) -> int:
    """Return the hash of a NillableDuration: of its Duration, even if that is 0. For `Never`, only the struct's name
    counts.
    """
    name = text_hash("NillableDuration")
    if value == NEVER:
        return name
    nanoseconds = _read(go_values.duration, value, path)
    return _finish(name ^ _ordered(text_hash("Duration"), _integer(nanoseconds, 64, path)))


def _time(value: Any, path: Path) -> int:
    """Return the hash of a metav1.Time: a struct with a time, which is hashed in its marshalled form."""
    name = text_hash("Time")
    return _finish(name ^ _ordered(name, _fnv(_read(go_values.time_bytes, value, path))))


def _string(value: Any, path: Path) -> int:
    return text_hash(_typed(value, str, path))


_SCALARS: dict[str, Callable[[Any, Path], int]] = {
    "string": _string,
    "bool": lambda value, path: _fnv(b"\1" if _typed(value, bool, path) else b"\0"),
    "int32": lambda value, path: _integer(value, 32, path),
    "int64": lambda value, path: _integer(value, 64, path),
    "Duration": _duration,
    "NillableDuration": _nillable_duration,
    "Time": _time,
}


def _read(reader: Any, value: Any, path: Path) -> Any:
    try:
        return reader(_typed(value, str, path))
    except ValueError as error:
        raise Unhashable(path, str(error)) from None


_WORDS = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", int: "an integer"}


def _typed(value: Any, wanted: type, path: Path) -> Any:
    if isinstance(value, UnknownValue):
        raise Unhashable(path, "a placeholder with an unknown value")
    if not isinstance(value, wanted) or (wanted is int and isinstance(value, bool)):
        raise Unhashable(path, f"not {_WORDS[wanted]}, which the API server asks for")
    return value


# -- FNV


@lru_cache(8192)
def text_hash(text: str) -> int:
    """Return the hash of a text."""
    return _fnv(text.encode())


def _fnv(data: bytes) -> int:
    """Return the FNV-1 hash of bytes, 64 bits: multiply, then XOR."""
    value = _BASIS
    for byte in data:
        value = (value * _PRIME & _MASK) ^ byte
    return value


def _ordered(first: int, second: int) -> int:
    return _fnv(first.to_bytes(8, "little") + second.to_bytes(8, "little"))


def _finish(value: int) -> int:
    return _fnv(value.to_bytes(8, "little"))


def render_path(path: Path) -> str:
    """Return a path as people write it: `spec.blockDeviceMappings[0].ebs`, `spec.tags["a.b/c"]`."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif re.fullmatch(_BARE, step):
            text += f".{step}"
        else:
            from json import dumps

            text += f"[{dumps(step)}]"
    return text.removeprefix(".")


_BARE = r"[A-Za-z0-9_-]+"
