"""Which images Karpenter uses of those that the terms of a class find: the loop of its AMI provider, by release.

EC2 filters images by state and deprecation as the release requests. Of images with the same requirements on instance
types, Karpenter keeps one: before 1.1.0 the newest; since 1.1.0 the newest that is not deprecated, else the newest.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.ec2.facts import moment
from nodelint.ec2.snapshot import MachineImage
from nodelint.model.releases import Version, behaves, has_defect

if TYPE_CHECKING:
    from datetime import datetime
    from typing import Literal

    from nodelint.model.requirement import Requirement, Requirements

    Why = Literal["state", "deprecated", "architecture", "older"]
    """The reason why the controller does not use an image."""
else:
    Why = str

ARCHITECTURES = ("amd64", "arm64")
"""The architectures whose images Karpenter uses."""


class Passed(NamedTuple):
    """An image that the controller does not use, and the image of its architecture that it uses instead.

    If `by` is None, there is no other image of this architecture, or the release cannot use the image in any case.
    """

    image: MachineImage
    why: Why
    by: MachineImage | None = None


class Candidate(NamedTuple):
    """An image with one set of requirements on instance types."""

    image: MachineImage
    requirements: Requirements


def why_unseen(image: MachineImage, release: Version, now: datetime | None, *, latest: bool = False) -> Why | None:
    """Return why a release does not find an existing image, or cannot use it. None if it does use it. `latest` is
    true for an alias at latest.

    Before 1.2.2 Karpenter did not filter by state, and EC2 returned all images except disabled ones. The owner of a
    deprecated image still finds it (AWS, DescribeImages).
    """
    if image.state == "disabled" or (image.state != "available" and not has_defect("pending-images", release)):
        return "state"
    if is_deprecated(image, now) and not (
        behaves("deprecated-found", release)
        or image.owner == "self"
        or (latest and behaves("deprecated-latest", release))
    ):
        return "deprecated"
    return "architecture" if image.arch not in ARCHITECTURES else None


def is_deprecated(image: MachineImage, now: datetime | None) -> bool:
    """Return whether the deprecation time of an image has passed at `now`. False if `now` is None."""
    return bool(image.deprecated) and now is not None and _seconds(image.deprecated) <= now.timestamp()


def choose(candidates: Iterable[Candidate], release: Version, now: datetime | None) -> list[Candidate]:
    """Return the candidates that the controller keeps: one for each set of requirements.

    If two have the same time and name, the controller keeps one at random. This function keeps the lower id.
    """
    ranks_deprecated = behaves("deprecated-found", release)

    def rank(image: MachineImage) -> tuple[bool, int, str]:
        return not (ranks_deprecated and is_deprecated(image, now)), _seconds(image.created), image.name

    newest: dict[frozenset[Requirement], Candidate] = {}
    for candidate in sorted(candidates, key=lambda c: c.image.id):
        key = frozenset(candidate.requirements)
        if key not in newest or rank(candidate.image) > rank(newest[key].image):
            newest[key] = candidate
    return list(newest.values())


def in_order(images: Iterable[MachineImage]) -> list[MachineImage]:
    """Return images in the order in which the controller tries them: newest first, then by id."""
    return sorted(images, key=lambda image: (-_seconds(image.created), image.id))


def passed_over(
    images: Sequence[MachineImage],
    taken: Iterable[MachineImage],
    release: Version,
    now: datetime | None,
    *,
    latest: bool = False,
) -> tuple[Passed, ...]:
    """Return the images that are not in `taken`, each with the reason why the controller does not use it."""
    used = {image.id: image for image in taken}
    found = []
    for image in images:
        if image.id in used:
            continue
        why = why_unseen(image, release, now, latest=latest)
        if why is not None:
            found.append(Passed(image, why))
            continue
        by = next((other for other in used.values() if other.arch == image.arch), None)
        behind = by is not None and is_deprecated(image, now) and not is_deprecated(by, now)
        ranked = behind and behaves("deprecated-found", release)
        found.append(Passed(image, "deprecated" if ranked else "older", by))
    return tuple(found)


def _seconds(at: str | None) -> int:
    """Return a time in seconds since 1970. A missing time is before all others."""
    return int(moment(at).timestamp()) if at else -(2**63)
