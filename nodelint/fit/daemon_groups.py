"""The DaemonSets that run on the nodes of each instance type of a NodePool."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.ec2.type_set import NONE, TypeSet
from nodelint.fit.ignored import requirements_of
from nodelint.fit.pod_terms import TOLERATES_ALL, HostPort, LabelExpression
from nodelint.fit.pods import Daemon, Pod, add_requests
from nodelint.fit.pools import DAEMONS_BY_TYPE, EmptyPool
from nodelint.model.requirement import normalize

if TYPE_CHECKING:
    from nodelint.karpenter.resolve.node_size import Resources


class DaemonGroup(NamedTuple):
    """Types on whose nodes the same DaemonSets run, and the total requests of these."""

    types: TypeSet
    requests: Resources
    daemons: tuple[Daemon, ...]

    def port_taken_from(self, pod: Pod) -> tuple[HostPort, Daemon] | None:
        """Return a host port that a DaemonSet uses and the pod needs too, with the DaemonSet; None if there
        is none.
        """
        ports = ((port, daemon) for daemon in self.daemons for port in daemon.pod.ports)
        return next((taken for taken in ports if any(port.clashes(taken[0]) for port in pod.ports)), None)


def group_by_daemons(pool: EmptyPool, daemons: Iterable[Daemon]) -> list[DaemonGroup]:
    """Return the candidates of a pool, grouped by the DaemonSets that run on their nodes."""
    parts: list[tuple[TypeSet, tuple[Daemon, ...]]] = [(pool.candidates, ())]
    for daemon in daemons:
        types = _find_types(pool, daemon.pod)
        split = []
        for remaining, before in parts:
            if remaining & types:
                split.append((remaining & types, (*before, daemon)))
            if remaining - types:
                split.append((remaining - types, before))
        parts = split
    return [
        DaemonGroup(types, add_requests(daemon.pod.requests for daemon in present), present)
        for types, present in parts
    ]


def _find_types(pool: EmptyPool, pod: Pod) -> TypeSet:
    """Return the types on whose nodes Karpenter certainly counts a DaemonSet's pod.

    `isDaemonPodCompatible` of scheduler.go drops required terms that a type does not meet, also for the types
    that follow. The order of the types is not known, so the last term counts, or one that all types meet.
    """
    if pool.taints.untolerated(pod.tolerations, soft=False) is not None:
        return NONE
    if pool.taints.may_have_more and TOLERATES_ALL not in pod.tolerations:
        return NONE
    found = NONE
    for term in pod.terms or (None,):
        found = _meeting(pool, (*pod.selector, *(term.expressions if term is not None else ())))
        if not pool.candidates - found:
            break
    return found


def _meeting(pool: EmptyPool, expressions: Sequence[LabelExpression]) -> TypeSet:
    """Return the types that certainly meet the expressions of one term of a DaemonSet's pod."""
    if any(pool.labels.may_have(normalize(expression.key)) for expression in expressions):
        return NONE
    requirements = requirements_of(expressions, pool.release)
    if pool.labels.clash(pool.template, requirements) is not None:
        return NONE
    return pool.meeting(requirements, pool.candidates) if pool.release >= DAEMONS_BY_TYPE else pool.candidates
