"""What two NodePools of one cluster have in common: the types that both can launch, and the pods that fit both.

Karpenter tries the NodePools by weight, the highest first, and those of equal weight in reverse order of their names.
A pod goes to the first NodePool that it fits. Source: karpenter pkg/utils/nodepool/nodepool.go@v1.9.1:157-171,
pkg/controllers/provisioning/scheduling/scheduler.go.
"""

from __future__ import annotations

from collections.abc import Collection

from nodelint.ec2.catalog import Catalog
from nodelint.ec2.type_set import NONE, TypeSet
from nodelint.karpenter.labels import flex_families, flex_types, is_pattern, standing_for
from nodelint.karpenter.resolve.resolution import Resolution
from nodelint.model.keys import CAPACITY_TYPE, FAMILY, INSTANCE_TYPE, OS, REGION, ZONE, ZONE_ID
from nodelint.model.manifest import NodePool
from nodelint.model.manifest_terms import RequirementLine
from nodelint.model.requirement import Requirement, normalize, well_known
from nodelint.text import UNKNOWN

Taints = frozenset[tuple[str, str, str]]
"""Key, value and effect of taints that exclude pods."""


def taints(pool: NodePool) -> Taints | None:
    """Return the taints that every pod of a pool must tolerate. None if a taint is not known."""
    return pool.once("taints", (), lambda: _read_taints(pool))  # read again for each other pool


def _read_taints(pool: NodePool) -> Taints | None:
    found = set()
    if pool.node.find("spec", "template", "spec", "taints") is not None and not pool.taints:
        node = pool.node.find("spec", "template", "spec", "taints")
        if node is not None and node.kind == "scalar" and node.value is UNKNOWN:
            return None
    for taint in pool.taints:
        parts = (taint.key, taint.value if taint.value is not None else "", taint.effect)
        if any(not isinstance(part, str) for part in parts):
            return None
        if taint.effect != "PreferNoSchedule":
            found.add(tuple(str(part) for part in parts))
    return frozenset(found)  # type: ignore[arg-type]


def comparable(resolution: Resolution) -> bool:
    """Return whether a pool is known well enough to compare it: every requirement, the taints, the weight."""
    if resolution.is_comparable is None:  # asked for each pair of pools
        resolution.is_comparable = _is_comparable(resolution)
    return resolution.is_comparable


def _is_comparable(resolution: Resolution) -> bool:
    node = resolution.pool.node.find("spec", "weight")
    if node is not None and node.kind == "scalar" and node.value is UNKNOWN:
        return False
    if resolution.pool.partial or taints(resolution.pool) is None:
        return False
    where = resolution.pool.requirements_node
    read = where is None or where.kind == "sequence"
    return read and all(line.known for line in resolution.lines)


def turn(pool: NodePool) -> tuple[int, str]:
    """Return Karpenter's sort key of a pool, weight and name. Karpenter tries the pool with the highest key first."""
    return pool.weight or 0, str(pool.name)


def shared(a: Resolution, b: Resolution, own_labels: bool = True) -> TypeSet:
    """Return the instance types that both pools can launch. None of them if a label, a zone or the operating system
    separates their nodes.

    A pod without a capacity type fits spot and on-demand nodes, so capacity types separate no pools. Without
    `own_labels`, labels that are not well known do not separate them either: a pod need not select them.
    """
    if (a.catalog is not b.catalog and a.catalog.names != b.catalog.names) or _differ_in_os(a, b):
        return NONE
    known = well_known(a.version)
    for wanted in a.folded:
        if wanted.key == CAPACITY_TYPE or not (own_labels or wanted.key in known):
            continue
        if not wanted.intersects(b.folded.get(wanted.key)):
            return NONE
    return a.launchable & b.launchable


def _differ_in_os(a: Resolution, b: Resolution) -> bool:
    # Pools are compared in pairs, and most have one AMI family.
    return a.images.ami_family != b.images.ami_family and a.images.os != b.images.os


def same_pods(a: Resolution, b: Resolution) -> bool:
    """Return whether the operating system, region and zones of both pools overlap, so that pods which select neither
    custom labels nor instance types fit both.
    """
    if _differ_in_os(a, b):
        return False
    places = (OS, REGION, ZONE, ZONE_ID)
    return all(wanted.intersects(b.folded.get(wanted.key)) for wanted in a.folded if wanted.key in places)


def covers(a: Resolution, b: Resolution) -> bool:
    """Return whether every pod that fits pool `b` also fits pool `a`, and can get the same types there."""
    outer, inner = taints(a.pool), taints(b.pool)
    if outer is None or inner is None or not outer <= inner or not b.launchable:
        return False
    if b.launchable - shared(a, b) or _subnets(a) != _subnets(b):
        return False
    of_types = a.catalog.keys - {CAPACITY_TYPE}
    own = b.folded.keys() - well_known(b.version)
    if not own <= a.folded.keys():
        return False  # pods that ask for the label fit the second pool alone
    return all(
        within(b.folded.get(requirement.key), requirement)
        for requirement in a.folded
        if requirement.key not in of_types
    )


def leading_flex(line: RequirementLine, catalog: Catalog) -> int:
    """Return the number of flex values with which a list of families or types begins. 0 if other flex values follow
    after different ones.
    """
    if line.operator != "In" or len(line.values) < 2 or not isinstance(line.key, str) or not line.known:
        return 0
    key = normalize(line.key)
    if key not in (FAMILY, INSTANCE_TYPE):
        return 0
    flex = flex_families(catalog) if key == FAMILY else frozenset(catalog.names_in(flex_types(catalog)))
    known, texts = catalog.values(key), line.texts
    if not _stands_for(texts[0], flex, known):
        return 0
    are = [_stands_for(text, flex, known) for text in texts]
    count = are.index(False) if False in are else 0
    return count if not any(are[count:]) else 0


def _stands_for(text: str, flex: Collection[str], known: Collection[str]) -> bool:
    """Return whether a text is a flex value, or a pattern such as `*-flex` that matches only flex values."""
    if not is_pattern(text):
        return text in flex
    return bool(found := standing_for(text, known)) and all(value in flex for value in found)


def flex_before(first: Resolution, second: Resolution) -> bool:
    """Return whether the first pool launches only flex types, and the second, for the same pods, has a list that
    begins with flex values.
    """
    of_flex = bool(first.launchable) and not first.launchable - flex_types(first.catalog)
    return (
        of_flex
        and taints(first.pool) == taints(second.pool)
        and bool(shared(first, second))
        and any(leading_flex(line, second.catalog) for line in second.pool.requirements)
    )


def within(inner: Requirement, outer: Requirement) -> bool:
    """Return whether requirement `outer` allows every value that `inner` allows."""
    if not inner.complement:
        return all(outer.admits(value) for value in inner.values)
    both = inner.intersect(outer)
    return both.complement and (both.values, both.greater_equal, both.less_equal) == (
        inner.values,
        inner.greater_equal,
        inner.less_equal,
    )


def _subnets(resolution: Resolution) -> object:
    """Return a key for the subnets in which the class launches: its subnet terms, or the name of the class if no file
    has the class.
    """
    node_class = resolution.node_class
    if node_class is None:
        ref = resolution.pool.class_ref
        return ref.name if ref is not None else None
    node = node_class.node.find("spec", "subnetSelectorTerms")
    return node.plain() if node is not None else None
