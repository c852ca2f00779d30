"""What a Karpenter or Kubernetes version is, which ones there are, and which facts hold in which of them.

The facts lie in `data/versions.json`: the releases of the Karpenter AWS provider from 1.0.0 on, and what its source
did otherwise in one release than in another.
"""

from __future__ import annotations

from functools import cache

from nodelint.base.tuples import NamedTuple
from nodelint.data import table


class Version(NamedTuple):
    """A release of Karpenter."""

    major: int
    minor: int
    patch: int

    @classmethod
    def parse(cls, text: str) -> Version:
        """Read `1.2.3` or `v1.2.3`; anything else is a ValueError."""
        numbers = _numbers(text)
        if numbers is None or len(numbers) != 3:
            raise ValueError(f"`{text}` is not a version such as 1.4.0")
        return cls(*numbers)

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}"


class KubernetesVersion(NamedTuple):
    """A minor version of Kubernetes; EKS knows no finer one for images."""

    major: int
    minor: int

    @classmethod
    def parse(cls, text: str) -> KubernetesVersion:
        """Read `1.33`, `v1.33` or `1.33.2`, whose patch is dropped; anything else is a ValueError."""
        numbers = _numbers(text)
        if numbers is None or len(numbers) not in (2, 3):
            raise ValueError(f"`{text}` is not a Kubernetes version such as 1.33")
        return cls(numbers[0], numbers[1])

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"


class KubernetesRange(NamedTuple):
    """The versions of Kubernetes that a release supports, both ends included."""

    least: KubernetesVersion
    most: KubernetesVersion

    def __contains__(self, version: object) -> bool:
        return isinstance(version, KubernetesVersion) and self.least <= version <= self.most

    def __str__(self) -> str:
        return f"{self.least} to {self.most}"


def _numbers(text: str) -> tuple[int, ...] | None:
    parts = text.strip().removeprefix("v").split(".")
    if not all(part.isascii() and part.isdigit() and len(part) < 6 for part in parts):
        return None
    return tuple(int(part) for part in parts)


RELEASES: tuple[Version, ...] = tuple([Version(*map(int, text.split("."))) for text in table("versions")["releases"]])
"""Every release that is known, oldest first."""

OLDEST: Version = RELEASES[0]
NEWEST: Version = RELEASES[-1]

FIRST_SERVING = {"v1": OLDEST, "v1beta1": Version.parse("0.32.0")}
"""The first release that serves an API version; what is stated of older ones is not about its objects."""


RETIRING = Version.parse("0.33.0")
"""The first release that serves no Provisioner and no AWSNodeTemplate."""


class Ahead(NamedTuple):
    """The next minor version, as Karpenter's main branch has it, where facts were read from that. It is not released.

    `commit` and `date` are those of the AWS provider's main branch that the facts were read from.
    """

    version: Version
    commit: str
    date: str


def ahead() -> Ahead | None:
    """Return what is known of the next minor version, None if nothing is.

    Raise ValueError where `next` of data/versions.json lacks a part.
    """
    upcoming = table("versions").get("next")
    if upcoming is None:
        return None
    try:
        return Ahead(Version.parse(upcoming["release"]), upcoming["commit"], upcoming["date"])
    except (KeyError, TypeError, AttributeError, ValueError):
        raise ValueError("`next` in data/versions.json has to have `release`, `commit` and `date`") from None


def is_newer(release: Version) -> bool:
    """Whether a release is newer than all that are known: it may have what none of these has."""
    return release > NEWEST


def judged_as(release: Version) -> str | None:
    """Return the release whose facts stand for a release that is not known, in words. None for a release that is
    known.
    """
    following = ahead()
    if following is not None and release >= following.version:
        return f"next, the main branch of {following.date} (commit {following.commit})"
    if is_newer(release):
        return str(NEWEST)
    nearest = max(known for known in RELEASES if known <= release)
    return None if nearest == release else f"{nearest}, the nearest older release known here"


def target(text: str) -> Version:
    """Return the release that a user means: `1.2` is the newest patch known of 1.2, `1` the newest of all.

    `next` is the minor version after `NEWEST`. A release newer than `NEWEST` is given back as it is, and one that was
    never tagged too; the caller says so (`judged_as`) and facts are those of the nearest older release, or of the
    next minor version. Before 1.0.0 or no version at all is a ValueError in words.
    """
    if text.strip() == "next":
        return Version(NEWEST.major, NEWEST.minor + 1, 0)
    numbers = _numbers(text)
    if numbers is None or not 1 <= len(numbers) <= 3:
        raise ValueError(f"`{text}` is not a Karpenter version: use one such as {NEWEST}, the newest known, or 1.4")
    if numbers < (1,):
        raise ValueError(f"Karpenter {text} is too old: releases from {OLDEST} on are known")
    if len(numbers) == 3:
        return Version(*numbers)
    same = [release for release in RELEASES if release[: len(numbers)] == numbers]
    return same[-1] if same else Version(*(*numbers, 0, 0)[:3])


def early(text: str) -> Version | None:
    """Return the release before 1.0.0 that a way can begin at: `0.37` is its last patch. None for any other text."""
    numbers = _numbers(text) or ()
    for row in table("support")["early"] if len(numbers) in (2, 3) else ():
        last = Version.parse(row["last"])
        if numbers[:2] == last[:2]:
            return last if len(numbers) == 2 else Version(*numbers)
    return None


@cache
def releases_match(spec: str, release: Version) -> bool:
    """Whether a release meets a spec such as `>=1.0.0,<1.2.2||>=1.3.0`; a comma is and, `||` is or.

    A version in a spec may leave out its patch or minor (`<1.4` is `<1.4.0`). An empty spec holds
    for all. A spec that cannot be read is a ValueError.
    """
    return any(
        all(_one_matches(part.strip(), release) for part in choice.split(",") if part.strip())
        for choice in spec.split("||")
    )


def _one_matches(part: str, release: Version) -> bool:
    for sign in (">=", "<=", "==", ">", "<", "="):
        if part.startswith(sign):
            break
    else:
        raise ValueError(f"`{part}` is not a release spec such as >=1.4.0")
    numbers = _numbers(part[len(sign) :])
    if numbers is None or not 1 <= len(numbers) <= 3:
        raise ValueError(f"`{part}` is not a release spec such as >=1.4.0")
    other = (*numbers, 0, 0)[:3]
    if sign == ">=":
        return release >= other
    if sign == "<=":
        return release <= other
    if sign == ">":
        return release > other
    if sign == "<":
        return release < other
    return release == other


def kubernetes_match(spec: str, version: KubernetesVersion) -> bool:
    """Whether a Kubernetes version is in a range: `>=1.33`, `<1.35`."""
    return releases_match(spec, Version(version.major, version.minor, 0))


@cache
def behaves(name: str, release: Version) -> bool:
    """Whether a release has a behaviour, by its name in `data/versions.json`; KeyError for no such name."""
    return releases_match(table("versions")["behaviour"][name]["releases"], release)


def serves_v1(release: Version) -> bool:
    """Whether the CRDs of a release have v1: from 1.0.0 on, and in the last patches of the five minors before."""
    rows = {row["minor"]: row.get("v1") for row in table("support")["early"]}
    first = rows.get(f"{release[0]}.{release[1]}")
    return release >= OLDEST or (first is not None and release >= Version.parse(first))


def has_defect(name: str, release: Version) -> bool:
    """Whether a release does wrong with a manifest that reads fine: a defect of `data/versions.json`, by its name."""
    return releases_match(table("versions")["defects"][name]["releases"], release)


def fixed_for(name: str, release: Version) -> Version:
    """Return the release to go to for the fix of a defect: in the same minor line, else the first above it."""
    fixed = [Version.parse(text) for text in table("versions")["defects"][name]["fixed"]]
    above = [fix for fix in fixed if fix > release]
    same = [fix for fix in above if fix[:2] == release[:2]]
    return min(same or above or fixed)


def supported(release: Version) -> KubernetesRange:
    """Return the Kubernetes versions that a release supports; of one that is not known, those of the nearest older
    one.
    """
    found: dict[str, str] = {}
    for row in table("support")["early"] if release < OLDEST else ():
        if Version.parse(f"{row['minor']}.0") <= release:
            found = row
    for row in table("support")["releases"]:
        for span in row["kubernetes"]:
            if Version.parse(span["from"]) <= release:
                found = span
    return KubernetesRange(KubernetesVersion.parse(found["min"]), KubernetesVersion.parse(found["max"]))
