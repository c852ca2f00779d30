"""Dynamic drift by AWS facts: what the selectors of a class find before and after a change.

Source: provider pkg/cloudprovider/drift.go@v1.14.1:84-165.
"""

from __future__ import annotations

from nodelint.base.types import TYPE_CHECKING
from nodelint.ec2.facts import Missing
from nodelint.ec2.type_set import union
from nodelint.karpenter.selectors import groups_of, reservations_of, subnets_of

if TYPE_CHECKING:
    from nodelint.ec2.facts import AwsFacts
    from nodelint.karpenter.images import ImageSet
    from nodelint.karpenter.resolve import Resolution
    from nodelint.model.manifest import EC2NodeClass
    from nodelint.plan.coverage import Covered


def by_facts(
    reason: str, old: EC2NodeClass, new: EC2NodeClass, before: Resolution, after: Resolution | None, facts: AwsFacts
) -> Covered | None:
    """Return how many nodes drift for a reason, according to AWS facts. None if the facts do not show it.

    Both sides use the same facts: drift without the change does not count.
    """
    if not facts:
        return None
    if reason == "AMIDrift":
        return _images(before, after)
    try:
        was, now = _find_selected_ids(reason, old, before, facts), _find_selected_ids(reason, new, before, facts)
    except Missing:
        return None
    if was is None or now is None or not was or not now:
        return None  # a class that finds nothing is not ready, and nothing is compared
    if reason == "SecurityGroupDrift":
        return "none" if was == now else "all"
    gone = was - now
    return "none" if not gone else "all" if gone == was else "some"


def _find_selected_ids(
    reason: str, node_class: EC2NodeClass, before: Resolution, facts: AwsFacts
) -> frozenset[str] | None:
    """Return the ids that a selector finds. None if they are not known in full."""
    if reason == "SubnetDrift":
        subnets = subnets_of(node_class, facts).everything()
        return None if subnets is None else frozenset(subnet.id for subnet in subnets)
    if reason == "SecurityGroupDrift":
        groups = groups_of(node_class, facts).everything()
        return None if groups is None else frozenset(group.id for group in groups)
    if reason == "CapacityReservationDrift":
        found = reservations_of(node_class, facts, before.version).everything()
        return None if found is None else frozenset(reservation.id for reservation in found)
    return None


def _images(before: Resolution, after: Resolution | None) -> Covered | None:
    """Return how many nodes get another image, or none at all.

    None if an image of either side is not known by its id.
    """
    if after is None:
        return None
    was, now = _image_ids(before), _image_ids(after)
    if was is None or now is None:
        return None
    without = union(gap.types for gap in after.unlaunchable)
    changed = [
        name
        for name, image in was.items()
        if (now[name] != image if name in now else bool(after.catalog.only(name) & without))
    ]
    return "none" if not changed else "all" if len(changed) == len(was) else "some"


def _image_ids(side: Resolution) -> dict[str, str] | None:
    """Return the id of the image for each launchable type. None if the ids are not known."""
    ids = list_image_ids(side.images)
    return None if ids is None else {name: ids[index] for name, index in side.image_of.items()}


def list_image_ids(images: ImageSet) -> list[str] | None:
    """Return the ids of the images that a class selects. None if one is not known by its id."""
    ids = [image.id or (image.found.id if image.found is not None else None) for image in images.images]
    return None if not images.complete or not ids or None in ids else list(map(str, ids))


def moved_images(before: Resolution, after: Resolution) -> dict[tuple[str, str], int] | None:
    """Return the old and the new image of drifting nodes, with the number of instance types. The new image is `""` if
    there is none.

    None if an image of either side is not known by its id.
    """
    was, now = _image_ids(before), _image_ids(after)
    if was is None or now is None:
        return None
    moves: dict[tuple[str, str], int] = {}
    for name, image in was.items():
        new = now.get(name, "")
        if new != image:
            moves[image, new] = moves.get((image, new), 0) + 1
    return moves
