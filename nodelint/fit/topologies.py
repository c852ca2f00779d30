"""Whether a topology spread, affinity or anti-affinity of a first pod has any domain on the pools' nodes.

Sources: `buildDomainGroups`, `Update` and `AddRequirements` of topology.go and `ForEachDomain` of
topologydomaingroup.go in pkg/controllers/provisioning/scheduling of Karpenter core, 1.0.0 to 1.14.1. Domains are the
values that pools and instance types define. Which domains other pods exclude is not known here.
"""

from __future__ import annotations

from collections.abc import Sequence

from nodelint.base.tuples import NamedTuple
from nodelint.fit.ignored import HOSTNAME, NODE_POOL
from nodelint.fit.pod_terms import Toleration, TopologyKey
from nodelint.fit.pools import EmptyPool
from nodelint.model.releases import Version
from nodelint.model.requirement import Requirements, normalize

_HONORS_TAINTS = Version(1, 3, 0)
"""The first release that ignores topology domains of nodes whose taints the pod does not tolerate."""


class NoDomain(NamedTuple):
    """A topology without any domain. `for_certain`: existing nodes cannot provide a domain either."""

    for_certain: bool


def find_no_domain(
    topology: TopologyKey,
    pool: EmptyPool,
    requirements: Requirements,
    written: Sequence[Toleration],
    relaxed: Sequence[Toleration],
) -> NoDomain | None:
    """Return a NoDomain if nodes of the pool that meet the requirements are in no domain; None if they may be in one.

    Affinities use the `written` tolerations; spreads use the `relaxed` ones, because the hash of their group includes
    them.
    """
    if pool.labels.any_key or topology.key == HOSTNAME:
        return None
    key = normalize(topology.key)
    if pool.labels.lacks(key, requirements):
        return NoDomain(True)
    if key in requirements and requirements[key].operator == "DoesNotExist":
        return NoDomain(True)
    honored = topology.honors_taints and pool.release >= _HONORS_TAINTS
    tolerations = (relaxed if topology.is_spread else written) if honored else None
    for neighbour in pool.beside:
        found = _domains_of(neighbour, topology.key, tolerations)
        if found is None or any(key not in requirements or requirements[key].admits(domain) for domain in found):
            return None
    return NoDomain(False)


def _domains_of(pool: EmptyPool, key: str, tolerations: Sequence[Toleration] | None) -> Sequence[str] | None:
    """Return the domains that a pool defines for a pod; None if instance types define them, or if they are
    not known.
    """
    if tolerations is not None and pool.taints.untolerated(tolerations, soft=True) is not None:
        return ()
    if normalize(key) != key or key == NODE_POOL:
        return ()
    if pool.labels.any_key or key in pool.labels.known:
        return None
    own = pool.resolution.requirements
    return sorted(own[key].values) if key in own and own[key].operator == "In" else ()
