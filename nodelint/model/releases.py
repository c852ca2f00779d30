"""Represent versions of Karpenter and Kubernetes, list the known ones, and state which facts hold for which.

The facts are in `data/versions.json`: the releases of the Karpenter AWS provider since 1.0.0, and the differences in
behaviour between them.
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
        """Return the version of a text such as `1.2.3` or `v1.2.3`. Raise ValueError for anything else."""
        numbers = _numbers(text)
        if numbers is None or len(numbers) != 3:
            raise ValueError(f"`{text}` is not a version such as 1.4.0")
        return cls(*numbers)

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}"


class KubernetesVersion(NamedTuple):
    """A minor version of Kubernetes. EKS images do not depend on the patch."""

    major: int
    minor: int

    @classmethod
    def parse(cls, text: str) -> KubernetesVersion:
        """Return the version of a text such as `1.33`, `v1.33` or `1.33.2`, without its patch.

        Raise ValueError otherwise.
        """
        numbers = _numbers(text)
        if numbers is None or len(numbers) not in (2, 3):
            raise ValueError(f"`{text}` is not a Kubernetes version such as 1.33")
        return cls(numbers[0], numbers[1])

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"


class KubernetesRange(NamedTuple):
    """The Kubernetes versions that a release supports, with both ends included."""

    least: KubernetesVersion
    most: KubernetesVersion

    def __contains__(self, version: object) -> bool:
        return isinstance(version, KubernetesVersion) and self.least <= version <= self.most

    def __str__(self) -> str:
        return f"{self.least} to {self.most}"


def _numbers(text: str) -> tuple[int, ...] | None:
    parts = text.strip().removeprefix("v").split(".")
    for part in parts:
        if not (part.isascii() and part.isdigit() and len(part) < 6):
            return None
    return tuple(map(int, parts))


RELEASES: tuple[Version, ...] = tuple([Version(*map(int, text.split("."))) for text in table("versions")["releases"]])
"""All known releases, oldest first."""

OLDEST: Version = RELEASES[0]
NEWEST: Version = RELEASES[-1]

FIRST_SERVING = {"v1": OLDEST, "v1beta1": Version.parse("0.32.0")}
"""The first release that serves an API version. Facts about older releases do not concern its objects."""


RETIRING = Version.parse("0.33.0")
"""The first release that serves neither Provisioner nor AWSNodeTemplate."""


class Ahead(NamedTuple):
    """The next minor version, which is not released yet, as it is on Karpenter's main branch.

    `commit` and `date` are those of the AWS provider's main branch from which the facts were read.
    """

    version: Version
    commit: str
    date: str


def ahead() -> Ahead | None:
    """Return what is known of the next minor version. None if nothing is known.

    Raise ValueError if `next` in data/versions.json is incomplete.
    """
    upcoming = table("versions").get("next")
    if upcoming is None:
        return None
    try:
        return Ahead(Version.parse(upcoming["release"]), upcoming["commit"], upcoming["date"])
    except (KeyError, TypeError, AttributeError, ValueError):
        raise ValueError("`next` in data/versions.json has to have `release`, `commit` and `date`") from None


def is_newer(release: Version) -> bool:
    """Return whether a release is newer than all known ones, so that it may have unknown features."""
    return release > NEWEST


def judged_as(release: Version) -> str | None:
    """Return the release whose facts are used for an unknown release, in words. None for a known release."""
    following = ahead()
    if following is not None and release >= following.version:
        return f"next, the main branch of {following.date} (commit {following.commit})"
    if is_newer(release):
        return str(NEWEST)
    nearest = max(known for known in RELEASES if known <= release)
    return None if nearest == release else f"{nearest}, the nearest older release known here"


def target(text: str) -> Version:
    """Return the release that a user means: `1.2` is the newest known patch of 1.2, `1` the newest of all.

    `next` is the minor version after `NEWEST`. A release that is newer than `NEWEST`, or that was never tagged, is
    returned unchanged. The caller reports that (`judged_as`); the facts are those of the nearest older release, or of
    the next minor version. Raise ValueError with a message for a release before 1.0.0, and if it is not a version.
    """
    if text.strip() == "next":
        return Version(NEWEST.major, NEWEST.minor + 1, 0)
    numbers = _numbers(text)
    if numbers is None or not 1 <= len(numbers) <= 3:
        raise ValueError(f"`{text}` is not a Karpenter version: use one such as {NEWEST}, the newest known, or 1.4")
    if len(numbers) == 1 and numbers[0] > NEWEST.major + 1:
        raise ValueError(f"`{text}` is not a Karpenter version: did you mean {NEWEST.major}.{numbers[0]}?")
    if numbers < (1,):
        raise ValueError(f"Karpenter {text} is too old: releases from {OLDEST} on are known")
    if len(numbers) == 3:
        return Version(*numbers)
    same = [release for release in RELEASES if release[: len(numbers)] == numbers]
    return same[-1] if same else Version(*(*numbers, 0, 0)[:3])


def early(text: str) -> Version | None:
    """Return the release before 1.0.0 at which an upgrade can begin: `0.37` is its last patch.

    None for any other text.
    """
    numbers = _numbers(text) or ()
    for row in table("support")["early"] if len(numbers) in (2, 3) else ():
        last = Version.parse(row["last"])
        if numbers[:2] == last[:2]:
            return last if len(numbers) == 2 else Version(*numbers)
    return None


@cache
def releases_match(spec: str, release: Version) -> bool:
    """Return whether a release meets a spec such as `>=1.0.0,<1.2.2||>=1.3.0`. A comma means and, `||` means or.

    A version may omit its patch or minor (`<1.4` is `<1.4.0`). An empty spec matches all releases. Raise ValueError
    for an invalid spec.
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
    """Return whether a Kubernetes version is in a range such as `>=1.33` or `<1.35`."""
    return releases_match(spec, Version(version.major, version.minor, 0))


@cache
def behaves(name: str, release: Version) -> bool:
    """Return whether a release has a behaviour, by its name in `data/versions.json`.

    Raise KeyError for an unknown name.
    """
    return releases_match(table("versions")["behaviour"][name]["releases"], release)


def serves_v1(release: Version) -> bool:
    """Return whether the CRDs of a release have v1.

    They do since 1.0.0, and in the last patches of the five minor versions before.
    """
    rows = {row["minor"]: row.get("v1") for row in table("support")["early"]}
    first = rows.get(f"{release[0]}.{release[1]}")
    return release >= OLDEST or (first is not None and release >= Version.parse(first))


def has_defect(name: str, release: Version) -> bool:
    """Return whether a release has a defect that affects valid manifests, by its name in `data/versions.json`."""
    return releases_match(table("versions")["defects"][name]["releases"], release)


def fixed_for(name: str, release: Version) -> Version:
    """Return the release that fixes a defect: in the same minor version, else the first newer one."""
    fixed = [Version.parse(text) for text in table("versions")["defects"][name]["fixed"]]
    above = [fix for fix in fixed if fix > release]
    same = [fix for fix in above if fix[:2] == release[:2]]
    return min(same or above or fixed)


def supported(release: Version) -> KubernetesRange:
    """Return the Kubernetes versions that a release supports. For an unknown release, use the nearest older one."""
    found: dict[str, str] = {}
    for row in table("support")["early"] if release < OLDEST else ():
        if Version.parse(f"{row['minor']}.0") <= release:
            found = row
    for row in table("support")["releases"]:
        for span in row["kubernetes"]:
            if Version.parse(span["from"]) <= release:
                found = span
    return KubernetesRange(KubernetesVersion.parse(found["min"]), KubernetesVersion.parse(found["max"]))
