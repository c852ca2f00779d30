"""Which of the images that terms find Karpenter takes: the loop of its AMI provider, by release.

EC2 finds images by state and deprecation as the release asks for them. Of those that ask the same of an
instance type the best one is kept: before 1.1.0 the newest, since then one that is not deprecated first.
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
    """Why the controller passes an image over."""
else:
    Why = str

ARCHITECTURES = ("amd64", "arm64")
"""The architectures of which Karpenter takes images."""


class Passed(NamedTuple):
    """An image that the controller passes over, and the image of its architecture that it takes instead.

    Without `by` the release does not see the image at all, whatever else there is, or makes nothing of it.
    """

    image: MachineImage
    why: Why
    by: MachineImage | None = None


class Candidate(NamedTuple):
    """An image with one set of what it asks of an instance type."""

    image: MachineImage
    requirements: Requirements


def why_unseen(image: MachineImage, release: Version, now: datetime | None, *, latest: bool = False) -> Why | None:
    """Return why a release does not see an image that is there; None if it does. `latest` is an alias at latest.

    Without a filter on the state (before 1.2.2) EC2 gives all images but disabled ones. An image's owner sees it
    though it is deprecated (AWS, DescribeImages).
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
    """Whether an image's time of deprecation has come."""
    return bool(image.deprecated) and now is not None and _seconds(image.deprecated) <= now.timestamp()


def choose(candidates: Iterable[Candidate], release: Version, now: datetime | None) -> list[Candidate]:
    """Return the candidates that are kept, one for each set of requirements.

    Of two with the same time and name the controller keeps one at random; here it is the lower id.
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
    """Return those of some images that the controller does not take, with the reason."""
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
    """Return seconds since 1970; a time that is missing is before all others."""
    return int(moment(at).timestamp()) if at else -(2**63)
