"""NodePools that are not judged as Karpenter does, but that may accept pods."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from nodelint.fit.ignored import NODE_POOL, requirements_of
from nodelint.fit.pods import Pod
from nodelint.karpenter.pool_requirements import requirements_of as requirements_of_pool
from nodelint.model.manifest import NodePool
from nodelint.model.releases import Version
from nodelint.model.requirement import Requirement, Requirements, normalize, well_known

_AUTO_MODE = "eks.amazonaws.com/"
"""The domain of labels that nodes of EKS Auto Mode have in addition to those of Karpenter."""


def list_unjudged(objects: Iterable[object], judged: Sequence[NodePool]) -> list[NodePool]:
    """Return the pools of which only a part is known. Patches of judged pools are excluded.

    A fragment in the file of a judged pool is included: it is in an installation of a chart that is not rendered.
    """
    paths: dict[object, set[str]] = {}
    for pool in judged:
        paths.setdefault(pool.name, set()).add(pool.source.path)
    pools = [obj for obj in objects if isinstance(obj, NodePool) and obj not in judged]
    parts = [pool for pool in pools if pool.partial or pool.of_values]
    return [pool for pool in parts if pool.name not in paths or pool.source.path in paths[pool.name]]


def may_take(pool: NodePool, pod: Pod, release: Version) -> bool:
    """Return whether the pool may accept the pod, by its taints and labels. True for a fragment of a pool."""
    if pool.partial or pool.of_values:
        return True
    for taint in pool.taints:
        value = taint.value if isinstance(taint.value, str) else ""
        known = isinstance(taint.key, str) and taint.effect in ("NoSchedule", "NoExecute")
        if known and not any(t.tolerates(str(taint.key), value, str(taint.effect)) for t in pod.tolerations):
            return False
    nodes, unknown = _read_labels(pool, release)
    for term in pod.terms or (None,):
        requirements = requirements_of((*pod.selector, *(term.expressions if term is not None else ())), release)
        own = {requirement.key for requirement in requirements if requirement.key.startswith(_AUTO_MODE)}
        if nodes.compatible(requirements, well_known(release) | own | unknown) is None:
            return True
    return False


def _read_labels(pool: NodePool, release: Version) -> tuple[Requirements, set[str]]:
    """Return the known labels of a pool's nodes, and the keys of the labels whose values are not known."""
    found = Requirements.from_labels({NODE_POOL: pool.name} if isinstance(pool.name, str) else {})
    unknown = set()
    for item in requirements_of_pool(pool):
        if not isinstance(item.key, str):
            continue
        try:
            requirement = Requirement.parse(item.key, str(item.operator), item.texts, release=release)
        except ValueError:
            unknown.add(normalize(item.key))
            continue
        if item.known:
            found.add(requirement)
        else:
            unknown.add(normalize(item.key))
    return found, unknown
