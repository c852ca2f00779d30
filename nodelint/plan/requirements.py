"""RequirementsDrifted: the nodes of a pool that do not meet its new requirements.

Karpenter compares the labels of a NodeClaim with the NodePool's requirements only; labels of the template do not
count. If the NodeClaim lacks a label, it meets only NotIn and DoesNotExist, whether the label is well known or not.
The labels of a NodeClaim are those of the instance type and of its offering, those of the template, and one value for
each custom key that the requirements name. Source: karpenter
pkg/controllers/nodeclaim/disruption/drift.go@v1.14.1:178-188, requirements.go `Compatible`.
"""

from __future__ import annotations

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.drift.stored_form import list_open_parts
from nodelint.ec2.type_set import NONE
from nodelint.karpenter.labels import slips_among
from nodelint.karpenter.resolve.offers import RESERVATION_KEYS, capacity_types, may_reserve
from nodelint.model.keys import CAPACITY_TYPE, OS, REGION, TENANCY, WINDOWS_BUILD, ZONE, ZONE_ID
from nodelint.model.open_parts import NO_OPEN_PARTS
from nodelint.model.releases import behaves
from nodelint.model.requirement import Requirement, Requirements, normalize, well_known
from nodelint.plan.coverage import joined
from nodelint.plan.values import json_value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nodelint.ec2.type_set import TypeSet
    from nodelint.karpenter.resolve import Resolution
    from nodelint.model.manifest import NodePool
    from nodelint.model.manifest_terms import RequirementLine
    from nodelint.model.releases import Version
    from nodelint.plan.coverage import Covered
    from nodelint.text import Node

NODEPOOL = "karpenter.sh/nodepool"
NODE_CLASS = "karpenter.k8s.aws/ec2nodeclass"
_TENANCIES = ("default", "dedicated")
_PLACES = frozenset({REGION, ZONE, ZONE_ID, CAPACITY_TYPE, TENANCY}) | RESERVATION_KEYS


class RequirementDrift(NamedTuple):
    """The part of the nodes that drifts, the instance types all of whose nodes drift, and the requirements that cause
    the drift.

    `of_files` is true if a requirement with a placeholder decides.
    """

    covered: Covered
    types: TypeSet
    lines: tuple[Node, ...]
    of_files: bool = False


class Line(NamedTuple):
    """A requirement of the new side, with its node."""

    node: Node
    requirement: Requirement


def requirement_drift(old: Resolution, new: NodePool, alive: TypeSet) -> RequirementDrift:
    """Return the drift of the nodes that the old pool can have, of the types in `alive`, by the new requirements."""
    release = old.version
    lines, unread = _read(new, release)
    as_before = [json_value(line.node) for line in old.pool.requirements] if unread else []
    unread = [node for node in unread if json_value(node) not in as_before]
    wanted = Requirements(line.requirement for line in lines)
    lines_before, unread_before = _read(old.pool, release)
    before = Requirements(line.requirement for line in lines_before)
    not_known = {_known_key(node) for node in unread_before}
    types = NONE
    parts: list[Covered] = ["unknown"] if unread else []
    blamed: list[Node] = list(unread)
    for requirement in wanted:
        key = requirement.key
        if key in before and before[key]._replace(min_values=None) == requirement._replace(min_values=None):
            continue
        failing: TypeSet = NONE
        covered: Covered = "unknown"
        if not (key in not_known or None in not_known):  # else the earlier requirements are unknown
            failing, covered = _compare_key(requirement, old, before, alive)
        types |= failing
        parts += [] if failing else [covered]
        if failing or covered != "none":
            blamed += [line.node for line in lines if line.requirement.key == key]
    if types:
        parts.append("all" if types == alive else "some")
    return RequirementDrift(joined(parts), types, tuple(blamed), bool(unread or not_known))


def _compare_key(
    requirement: Requirement, old: Resolution, before: Requirements, alive: TypeSet
) -> tuple[TypeSet, Covered]:
    """Return the types all of whose nodes fail a requirement, and how many nodes fail if that does not depend on the
    type.
    """
    key = requirement.key
    if key in _PLACES or not (key in old.catalog.keys or key in (OS, WINDOWS_BUILD)):
        return NONE, _of_label(requirement, _label(key, old, before, old.version), old)
    failing = alive - old.supply.select(requirement)
    may_run = not failing and _may_run_unlisted(requirement, before.get(key) if key in before else None, old)
    return failing, "unknown" if may_run else "none"


def _known_key(line: Node) -> str | None:
    """Return the key of a requirement. None if the key is not known."""
    key = line.get("key")
    return normalize(key.value) if key is not None and isinstance(key.value, str) else None


def _may_run_unlisted(wanted: Requirement, before: Requirement | None, old: Resolution) -> bool:
    """Return whether nodes may run that fail a requirement and have an unlisted type, such as one that AWS has
    retired.

    Only values that the pool named before count. No node has a misspelled type such as `m5.lrage`.
    """
    if before is None or before.complement:
        return False
    key = wanted.key
    removed = [value for value in before.values if not wanted.admits(value)]
    unlisted = [value for value in removed if not old.catalog.has_value(key, value)]
    return bool(set(unlisted) - slips_among(key, unlisted, old.catalog).keys())


def _read(pool: NodePool, release: Version) -> tuple[list[Line], list[Node]]:
    """Return the requirements that can be read, and the nodes of those that hold a placeholder or depend on template
    code.
    """
    lines, unread = [], []
    parts = list_open_parts(pool) or NO_OPEN_PARTS
    for line in pool.requirements:
        requirement = None if parts.concerns(line.node) else _requirement(line, release)
        if requirement is None:
            unread.append(line.node)
        else:
            lines.append(Line(line.values_node, requirement))
    return lines, unread


def _requirement(line: RequirementLine, release: Version) -> Requirement | None:
    if not line.known:
        return None
    try:
        return Requirement.parse(str(line.key), str(line.operator), line.texts, line.min_values, release)
    except ValueError:
        return None


Values = Requirement | None
"""The values that a label can have on a node. None if nodes lack the label."""


def _label(key: str, old: Resolution, before: Requirements, release: Version) -> Values:
    """Return the values that nodes of the old pool can have for a key that is no property of instance types."""
    written = {normalize(str(label.key)): label.value for label in old.pool.template_labels}
    if key == NODEPOOL and isinstance(old.pool.name, str):
        return Requirement.parse(key, "In", (old.pool.name,))
    ref = old.pool.class_ref
    if key == NODE_CLASS and ref is not None and isinstance(ref.name, str) and behaves("class-label", release):
        return Requirement.parse(key, "In", (ref.name,))
    own = _real_values(before.get(key), old) if key in before else None
    offered = _offered(key, old, release)
    if key in written:
        value = written[key]
        return Requirement.parse(key, "In", (value,)) if isinstance(value, str) else Requirement(key, True)
    if offered is not None:
        return offered if own is None else offered.intersect(own)
    if own is None or own.length == 0:
        return None
    return own


def _real_values(requirement: Requirement, old: Resolution) -> Requirement:
    """Return a requirement without the values that no node can have: `us-east1-a` is no zone."""
    if requirement.complement:
        return requirement
    slips = slips_among(requirement.key, requirement.values, old.catalog)
    return requirement._replace(values=type(requirement.values)(v for v in requirement.values if v not in slips))


def _offered(key: str, old: Resolution, release: Version) -> Requirement | None:
    """Return the values of a label that comes from an offering. None for a custom label."""
    if key == CAPACITY_TYPE:
        return Requirement.parse(key, "In", capacity_types(old.node_class, release))
    if key == TENANCY and key in well_known(release):
        return Requirement.parse(key, "In", _TENANCIES)
    if key == REGION and old.region is not None:
        return Requirement.parse(key, "In", (old.region,))
    if key in (ZONE, ZONE_ID) and old.zones:
        zones: Mapping[str, str] = old.zones
        return Requirement.parse(key, "In", zones if key == ZONE else zones.values())
    if key in (REGION, ZONE, ZONE_ID):
        return Requirement(key, True)
    return None


def _of_label(wanted: Requirement, values: Values, old: Resolution) -> Covered:
    """Return how many nodes fail a requirement on a label with these values."""
    if wanted.key in RESERVATION_KEYS and wanted.key in well_known(old.version):
        return _of_reservation(wanted, old)
    if values is None:
        return "none" if wanted.absent_allowed else "all"
    if not values.complement:
        failing = [value for value in values.values if not wanted.admits(value)]
        if not failing:
            return "none"
        return "all" if len(failing) == len(values.values) else "some"
    if wanted.key == REGION:
        return "unknown"  # nodes are in one region: all of them fail, or none
    if not values.intersects(wanted):
        return "all"
    return "none" if _within(values, wanted) else "some"


def _within(values: Requirement, wanted: Requirement) -> bool:
    """Return whether every value of an open set meets a requirement."""
    if not wanted.complement:
        return False
    bounded = (values.greater_equal, values.less_equal)
    lower = wanted.greater_equal is None or (bounded[0] is not None and bounded[0] >= wanted.greater_equal)
    upper = wanted.less_equal is None or (bounded[1] is not None and bounded[1] <= wanted.less_equal)
    return lower and upper and not any(map(values.admits, wanted.values))


def _of_reservation(wanted: Requirement, old: Resolution) -> Covered:
    """Return how many nodes fail a requirement on a reservation label. Nodes outside of a reservation lack the label;
    only AWS knows the values in one.
    """
    kinds = [kind for kind in old.capacity_types if kind == "reserved" or not wanted.absent_allowed]
    if not may_reserve(old.node_class, old.version):
        return "none" if wanted.absent_allowed else "all"
    return "unknown" if kinds else "none"
