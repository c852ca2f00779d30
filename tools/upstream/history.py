"""Represent facts of many releases as ranges: the first and the last release with a value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

Window = dict[str, Any]


def windows(values: Iterable[tuple[str, Mapping[str, Any]]]) -> dict[str, list[Window]]:
    """Return for each key its values in order: `{"since": release, "is": value}`, with `until` for a value that
    ends.

    `values` has the releases in the order of their versions, each with the value of every key that it has.
    """
    found: dict[str, list[Window]] = {}
    before: Mapping[str, Any] = {}
    for release, now in values:
        for key in before.keys() - now.keys():
            found[key][-1]["until"] = release
        for key, value in now.items():
            if key not in before or before[key] != value:
                found.setdefault(key, []).append({"since": release, "is": value})
        before = now
    return {key: found[key] for key in sorted(found)}


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterable[str]:
    """Yield the values that were added, removed or changed between two releases, as text."""
    for key in sorted(old.keys() | new.keys()):
        if key not in old:
            yield f"{key} came: {new[key]}"
        elif key not in new:
            yield f"{key} went"
        elif old[key] != new[key]:
            yield f"{key}: {old[key]} -> {new[key]}"
