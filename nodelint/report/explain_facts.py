"""Facts from AWS in `nodelint explain`: images, zones, and the age of the facts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.ec2.facts import AwsFacts, moment, span
from nodelint.ec2.snapshot import MachineImage
from nodelint.karpenter.images import ImageSet, is_deprecated
from nodelint.karpenter.images.choice import Passed
from nodelint.karpenter.resolve.readiness import ready
from nodelint.karpenter.resolve.resolution import Resolution
from nodelint.model.releases import Version

if TYPE_CHECKING:
    from datetime import datetime


class Zone(NamedTuple):
    """A zone for a pool: its subnets, their free IP addresses, the offered types, and `left`: the launchable types.

    `id`, `subnets` and `free` are None if the subnets are not known; `offered` is None if the offerings are not
    known.
    """

    name: str
    id: str | None
    subnets: int | None
    free: int | None
    offered: int | None
    left: int


def zones(resolution: Resolution) -> list[Zone]:
    """Return the zones of a pool, sorted by name; empty if they are not known."""
    places = resolution.places
    if places is None:
        return []
    found = []
    for name in places.offered or places.zones or ():
        there = [subnet for subnet in places.subnets if subnet.zone == name] if places.zones else None
        found.append(
            Zone(
                name,
                places.zones.get(name) if places.zones else None,
                None if there is None else len(there),
                None if there is None else sum(subnet.free for subnet in there),
                None if places.offered is None else len(places.offered[name]),
                len(resolution.launchable_in(name) & ready(resolution)),
            )
        )
    return sorted(found)


def described(image: MachineImage, now: datetime | None) -> str:
    """Return an image in words: name, state, age, owner and deprecation."""
    words = [image.name, image.state]
    if image.created:
        words.append(f"of {image.created[:10]}" if now is None else f"{span(now - moment(image.created))} old")
    words.append(f"owner {image.owner}{' (public)' if image.public else ''}")
    if image.deprecated is not None:
        words.append(f"deprecated {'since' if is_deprecated(image, now) else 'from'} {image.deprecated[:10]}")
    return ", ".join(words)


def passed_over(images: ImageSet) -> list[Passed]:
    """Return the images that selector terms match and the controller does not use, newest first, without
    duplicates.
    """
    used = {image.id for term in images.terms for image in term.used}
    found = {
        passed.image.id: passed for term in images.terms for passed in term.passed if passed.image.id not in used
    }
    return sorted(found.values(), key=lambda passed: (passed.image.created, passed.image.id), reverse=True)


def why_passed(passed: Passed, release: Version) -> str:
    """Return why the controller does not use an image."""
    instead = f"; `{passed.by.id}` is taken" if passed.by is not None else ""
    if passed.why == "state":
        return f"Karpenter {release} takes none that is {passed.image.state}"
    if passed.why == "deprecated":
        return (
            f"not deprecated ones come first{instead}"
            if instead
            else f"Karpenter {release} finds none that is deprecated"
        )
    if passed.why == "architecture":
        return f"Karpenter launches nothing on `{passed.image.arch}`"
    return f"there is a newer one{instead}"


def age(facts: AwsFacts) -> str | None:
    """Return the region and the age of its answers, from youngest to oldest; None without facts."""
    if facts.region is None:
        return None
    times = sorted(answer.at for answer in facts.region.answers.values())
    if not times:
        return None
    both = times[-1], times[0]
    if facts.now is None:
        return f"{facts.region.name}, of {' to '.join(dict.fromkeys(at[:10] for at in reversed(both)))}"
    ages = dict.fromkeys(span(facts.now - moment(at)) for at in both)
    return f"{facts.region.name}, {' to '.join(ages)} old"


def facts_json(facts: AwsFacts) -> dict[str, Any]:
    """Return the region and the times of its oldest and newest answer; empty without facts."""
    if facts.region is None:
        return {}
    times = sorted(answer.at for answer in facts.region.answers.values())
    return {"facts": {"region": facts.region.name, "oldest": times[0], "newest": times[-1]}} if times else {}


def image_json(image: MachineImage) -> dict[str, Any]:
    """Return an image as EC2 returns it."""
    return {
        "id": image.id,
        "name": image.name,
        "state": image.state,
        "created": image.created,
        "owner": image.owner,
        "public": image.public,
        "deprecated": image.deprecated,
    }


def pool_json(resolution: Resolution) -> Iterator[tuple[str, Any]]:
    """Yield the entries that facts add to a NodePool: its zones, and the unused images."""
    if resolution.places is not None:
        yield "region", resolution.region
        names = {"free": "freeAddresses"}
        yield "zones", [{names.get(k, k): v for k, v in zone._asdict().items()} for zone in zones(resolution)]
    if any(term.missing is None for term in resolution.images.terms):
        passed = passed_over(resolution.images)
        yield (
            "passedOver",
            [
                {**image_json(image.image), "arch": image.image.arch, "reason": why_passed(image, resolution.version)}
                for image in passed
            ],
        )
