"""Reasons why a pool can launch nothing, or why a drifted node of a static pool is not replaced."""

from __future__ import annotations

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.drift.cluster_pods import DO_NOT_DISRUPT
from nodelint.drift.hashstructure import NEVER
from nodelint.drift.stored_form import list_open_parts
from nodelint.karpenter.images import first_for, version_order
from nodelint.karpenter.resolve import limits, switched_off, within
from nodelint.karpenter.resolve.readiness import why_none_launched
from nodelint.model.messages import short
from nodelint.model.quantities import ONE

if TYPE_CHECKING:
    from nodelint.drift.cluster import Cluster
    from nodelint.karpenter.resolve import Resolution
    from nodelint.model.manifest import NodePool
    from nodelint.model.releases import Version
    from nodelint.text import Node

_TERMINATES_FIRST = (1, 15, 0)
"""The first release with the feature gate TerminateFirstDrift, which is off by default."""


class LaunchStop(NamedTuple):
    """The reason why a pool can launch nothing, as text after a colon.

    `of_class` is true if its class is deleted, refused or not ready. `of_images` is true if the class finds no image:
    Karpenter then compares neither the image, nor the subnet, security groups and reservation.
    """

    reason: str
    of_class: bool = False
    of_images: bool = False


def find_stop(resolution: Resolution) -> LaunchStop | None:
    """Return why a pool can launch nothing, by its requirements, its limits and its images. None if it can."""
    image = _find_lacking_image(resolution)
    if image is not None:
        return LaunchStop(image, of_class=True, of_images=True)
    pool = resolution.pool
    for limit in limits(pool):
        if limit.amount == 0 and switched_off((limit,), resolution):
            return LaunchStop(f"`limits.{short(limit.resource)}` is 0")
    if not resolution.candidates:
        return LaunchStop("no instance type meets its requirements")
    if not resolution.launchable:
        reason = (
            resolution.unlaunchable[0].reason if resolution.unlaunchable else "the class has no image for its types"
        )
        return LaunchStop(reason)
    if not pool.static and not within(resolution):
        names = ", ".join(f"`limits.{short(limit.resource)}`" for limit in limits(pool))
        return LaunchStop(f"every instance type is larger than {names}")
    why = why_none_launched(resolution)
    return LaunchStop(why) if why is not None else None


def _find_lacking_image(resolution: Resolution) -> str | None:
    """Return why the class finds no image for the cluster's Kubernetes version. None if it may find one."""
    images, kubernetes = resolution.images, resolution.kubernetes
    if images.alias is not None and kubernetes is not None:
        first = first_for(images.alias.family, kubernetes)
        pinned, least = version_order(images.alias.version), version_order(first) if first is not None else None
        if pinned is not None and least is not None and pinned < least:
            return f"no image of `{images.alias.family}@{short(images.alias.version)}` is for Kubernetes {kubernetes}"
    if images.images or images.unknown or resolution.node_class is None:
        return None
    return images.problems[0].message if images.problems else "its EC2NodeClass finds no image"


def find_node_guard(pool: NodePool, cluster: Cluster | None) -> str | None:
    """Return why Karpenter replaces no drifted node of a pool: its template annotates the nodes with do-not-disrupt.
    None if it does not. If the cluster is known, its nodes decide.

    An annotation of the template is written on a node once, when it is created. Source: core
    pkg/controllers/state/statenode.go@v1.14.1 (`ValidateNodeDisruptable`).
    """
    noted = pool.node.find("spec", "template", "metadata", "annotations", DO_NOT_DISRUPT)
    if noted is None or noted.value != "true" or _may_omit(pool, noted):
        return None
    claims = cluster.of_pool(str(pool.name)) if cluster is not None else []
    nodes = cluster.nodes if cluster is not None else {}
    annotated = [{**claim.annotations, **nodes.get(claim.node, {})}.get(DO_NOT_DISRUPT) == "true" for claim in claims]
    if not all(annotated):
        return None
    expire = pool.node.find("spec", "template", "spec", "expireAfter")
    end = "somebody deletes them" if expire is not None and expire.value == NEVER else "they expire"
    return f"they have the annotation `{DO_NOT_DISRUPT}` of their template, and stay until {end}"


def _may_omit(pool: NodePool, node: Node) -> bool:
    """Return whether template code may omit a value of a pool or change it."""
    parts = list_open_parts(pool)
    return parts is None or parts.may_omit(node)


def find_lacking_room(pool: NodePool, release: Version, terminates_first: bool | None = None) -> str | None:
    """Return why no drifted node of a static pool is replaced. None for another pool, and if there is room.

    The replacement is launched first, and must be within `limits.nodes`. With the feature gate TerminateFirstDrift
    (`terminates_first`, None if no file states it), the old node is deleted first. Source: core
    pkg/controllers/disruption/staticdrift.go@v1.14.1:69.
    """
    replicas = pool.node.find("spec", "replicas")
    number = replicas.value if replicas is not None else None
    if not isinstance(number, int) or isinstance(number, bool) or number <= 0:
        return None
    limit = next((limit for limit in limits(pool) if limit.resource == "nodes"), None)
    if limit is None or limit.amount is None or limit.amount > number * ONE or _may_omit(pool, limit.at.node):
        return None
    has_gate = tuple(release) >= _TERMINATES_FIRST
    if has_gate and terminates_first:
        return None
    gate = ", unless the feature gate TerminateFirstDrift is on" if has_gate and terminates_first is None else ""
    return f"`limits.nodes` leaves no room for a replacement on top of `replicas: {number}`{gate}"
