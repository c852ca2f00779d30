"""Read ranges of Karpenter releases, and find the releases at which results can change."""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from functools import cache

from nodelint.base.tuples import NamedTuple
from nodelint.data import DATA, shipped
from nodelint.model.releases import OLDEST, RELEASES, Version, is_newer

_PART = r"(?:(>=|<=|==|>|<|=)\s*+)?v?(\d{1,5})(?:\.(\d{1,5}))?(?:\.(\d{1,5}))?"
_CHANGES = r'"(?:releases|since|until|x-karpenter-since|x-karpenter-until)":\s*"([^"]*)"'
_TABLES = ("image_names", "images", "label_words", "labels", "versions", "vocabulary")

IN_CODE = (Version(1, 1, 0), Version(1, 2, 0), Version(1, 4, 0), Version(1, 7, 0), Version(1, 9, 0))
"""Releases that nodelint's code and rules distinguish."""


class Releases(NamedTuple):
    """A range of releases, with both ends included."""

    first: Version
    last: Version

    def __str__(self) -> str:
        return str(self.last) if self.first == self.last else f"{self.first} to {self.last}"


def only(release: Version) -> Releases:
    """Return a range with one release."""
    return Releases(release, release)


def is_range(text: str) -> bool:
    """Return whether a text looks like a range, and not like one version."""
    return any(sign in text for sign in "<>=|, ")


def releases_in(text: str) -> tuple[Version, ...]:
    """Return the known releases in a range such as `>=1.0 <=1.14`, oldest first. `||` separates alternatives.

    A version includes all releases that begin with it: `<=1.14` includes 1.14.1, `1.3 || 1.5` all patches of two
    minor versions. Releases newer than all known ones are included if the range names them; if it contains no others,
    its first one. Raise ValueError if it is not a range, or if it contains no known or newer release.
    """
    found: set[Version] = set()
    for choice in text.split("||"):
        bounds = re.findall(_PART, choice)
        if not bounds or re.sub(_PART, "", choice).strip(" ,\t"):
            raise ValueError(f"`{text}` is not a range such as `>=1.0 <=1.14`")
        named = {_first(numbers) for _, *numbers in bounds}
        following = {release._replace(minor=release.minor + 1, patch=0) for release in named}
        for known in ((*RELEASES, *filter(is_newer, named)), sorted(filter(is_newer, following))[:1]):
            inside = [r for r in known if all(_within(r, sign, numbers) for sign, *numbers in bounds)]
            found.update(inside)
            if inside:
                break
    if not found:
        raise ValueError(f"no release known is in `{text}`; known are {OLDEST} to {RELEASES[-1]}")
    return tuple(sorted(found))


def _first(numbers: Sequence[str]) -> Version:
    """Return the first release that a version includes."""
    padded = (*(int(number) for number in numbers if number), 0, 0)
    return Version(*padded[:3])


def _within(release: Version, sign: str, numbers: Sequence[str]) -> bool:
    other = tuple(int(number) for number in numbers if number)
    mine = release[: len(other)]
    if sign in ("", "=", "=="):
        return mine == other
    if sign.startswith(">"):
        return mine > other or (sign == ">=" and mine == other)
    return mine < other or (sign == "<=" and mine == other)


def runs(releases: Iterable[Version]) -> tuple[Releases, ...]:
    """Return ranges of releases without a change inside: what holds for the last release holds for the range."""
    points = turning_points()
    found: list[Releases] = []
    for release in releases:
        known_alike = bool(found) and is_newer(found[-1].last) == is_newer(release)
        if known_alike and bisect_right(points, found[-1].last) == bisect_right(points, release):
            found[-1] = Releases(found[-1].first, release)
        else:
            found.append(only(release))
    return tuple(found)


def joined(parts: Iterable[Releases]) -> tuple[Releases, ...]:
    """Return ranges of releases, with adjacent ranges joined."""
    found: list[Releases] = []
    for part in sorted(parts):
        if found and RELEASES[bisect_right(RELEASES, found[-1].last) :][:1] == (part.first,):
            found[-1] = Releases(found[-1].first, part.last)
        else:
            found.append(part)
    return tuple(found)


@cache
def turning_points() -> tuple[Version, ...]:
    """Return the releases at which any of nodelint's facts change, oldest first."""
    schemas = shipped("schemas")
    files = [os.path.join(DATA, f"{name}.json") for name in _TABLES]
    files += [os.path.join(schemas, name) for name in os.listdir(schemas) if name.endswith(".json")]
    found = set(IN_CODE)
    for path in files:
        with open(path, encoding="utf-8") as file:
            for spec in re.findall(_CHANGES, file.read()):
                found.update(Version.parse(number) for number in re.findall(r"(?<!\d)\d++\.\d++\.\d+", spec))
    return tuple(sorted(found))
