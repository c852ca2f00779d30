"""The route from one release to another: where to stop, which Kubernetes versions both support, and until when they
are supported.

The facts are in `data/support.json`.
"""

from __future__ import annotations

from collections.abc import Iterator

from nodelint.base.tuples import NamedTuple
from nodelint.data import table
from nodelint.model.releases import RELEASES, KubernetesRange, KubernetesVersion, Version, is_newer, supported


class Support(NamedTuple):
    """The support of a minor release, and whether it is a long-term release.

    `until` is a date or a month; None if the support ends with the next release.
    """

    minor: str
    until: str | None
    lts: bool


class Stop(NamedTuple):
    """A release to stop at on the route, and the reason."""

    release: Version
    why: str


class Route(NamedTuple):
    """The route of an upgrade. `common` are the Kubernetes versions that both releases support, None if there are
    none. `trouble` are error texts.

    `healed` are faults of the old release that the upgrade removes: they are no errors of the upgrade. For a release
    newer than all known ones, the supported versions are not known: `new` and `common` are None.
    """

    old: KubernetesRange
    new: KubernetesRange | None
    common: KubernetesRange | None
    stops: tuple[Stop, ...]
    trouble: tuple[str, ...]
    support: tuple[Support, ...]
    healed: tuple[str, ...] = ()


def route(old: Version, new: Version, kubernetes: KubernetesVersion | None) -> Route:
    """Return the route between two releases, for a cluster with a Kubernetes version if it is known."""
    left, reached = supported(old), None if is_newer(new) else supported(new)
    common = None if reached is None else _common(left, reached)
    trouble: list[str] = []
    healed: list[str] = []
    stops = list(_fixed_stops(old, new))
    if kubernetes is not None:
        if kubernetes not in left:
            heals = reached is not None and kubernetes in reached
            text = f"Karpenter {old} supports Kubernetes {left}: not {kubernetes}, even before the upgrade"
            (healed if heals else trouble).append(f"{text}; Karpenter {new} supports it" if heals else text)
        if reached is None:
            pass  # what it supports is not known
        elif kubernetes > reached.most:
            trouble.append(f"Karpenter {new} supports Kubernetes {reached}: {kubernetes} is too new for it")
        elif kubernetes < reached.least:
            stops += _stop_for(kubernetes, old, new, reached)
    support = tuple(_support(old, new))
    return Route(left, reached, common, tuple(sorted(stops)), tuple(trouble), support, tuple(healed))


def _common(range_: KubernetesRange, other: KubernetesRange) -> KubernetesRange | None:
    low, high = max(range_.least, other.least), min(range_.most, other.most)
    return KubernetesRange(low, high) if low <= high else None


def _early_stops(old: Version) -> Iterator[Stop]:
    """Yield the last patch of a minor release before 1.0.0: its CRDs know v1, so that a rollback is possible."""
    lasts = [Version.parse(row["last"]) for row in table("support")["early"]]
    if old < lasts[1][:2]:
        yield Stop(
            lasts[1], "1.0 takes objects from 0.33 to 0.37; Provisioner and AWSNodeTemplate are gone from here on"
        )
    elif (last := next((release for release in lasts if release[:2] == old[:2]), old)) > old:
        yield Stop(last, f"the last patch of {last.major}.{last.minor}; only from here is there a way back from 1.0")


def _fixed_stops(old: Version, new: Version) -> Iterator[Stop]:
    if old < RELEASES[0]:
        yield from _early_stops(old)
    for row in table("support")["stops"]:
        border, oldest = Version.parse(row["before"]), Version.parse(row["oldest"])
        if old < oldest and new >= border:
            yield Stop(max(release for release in RELEASES if release < border), row["why"])


def _stop_for(kubernetes: KubernetesVersion, old: Version, new: Version, reached: KubernetesRange) -> Iterator[Stop]:
    """Yield the last release that supports a Kubernetes version which the new release does not support."""
    between = [r for r in RELEASES if old <= r < new and kubernetes in supported(r)]
    if between:
        most = supported(between[-1]).most
        why = f"the last to support Kubernetes {kubernetes}; bring the cluster to {reached.least} to {most} here"
        yield Stop(between[-1], why)


def _support(old: Version, new: Version) -> Iterator[Support]:
    """Yield the support of the minor releases `old` and `new`, and of each long-term release newer than `old`."""
    ends = {f"{release.major}.{release.minor}" for release in (old, new)}
    for row in table("support")["releases"]:
        minor = KubernetesVersion.parse(row["minor"])
        if row["minor"] in ends or (row["lts"] and minor > old[:2]):
            yield Support(row["minor"], row["until"] or None, row["lts"])
