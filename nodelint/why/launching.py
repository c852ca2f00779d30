"""Whether a new node of a NodePool accepts one more pod: `CanAdd` of nodeclaim.go of core."""

from __future__ import annotations

from collections.abc import Callable

from nodelint.base.tuples import NamedTuple
from nodelint.fit.pod_terms import AFFINITY, ANTI_AFFINITY, SPREAD, LabelExpression
from nodelint.fit.pods import Pod, add_requests
from nodelint.fit.refusal import PoolRefusal, too_few_types
from nodelint.model.keys import ZONE
from nodelint.why.constraints import Constraint, is_hostname
from nodelint.why.fleet import LaunchPool
from nodelint.why.moves import Admission, Moves, NewNode
from nodelint.why.pods import ClusterPod
from nodelint.why.shapes import RelaxedPod, Shape


class PoolStop(NamedTuple):
    """Why a pool does not accept a pod: `refusal` from `fit` if there is one, and a sentence."""

    pool: LaunchPool
    text: str
    refusal: PoolRefusal | None = None
    code: str = ""


class Newcomer(NamedTuple):
    """A pod to be scheduled on a new node, in one of the states that the scheduler tries."""

    pod: ClusterPod
    shape: Shape
    state: RelaxedPod


class Launcher:
    """Puts pods on new nodes. `unknown` collects unknown facts; `admission` checks constraints."""

    def __init__(
        self,
        moves: Moves,
        unknown: dict[str, None],
        admission: Callable[[Constraint, Newcomer], Admission],
    ) -> None:
        self.moves = moves
        self.fleet = moves.fleet
        self.unknown = unknown
        self._admission = admission

    def join(self, new: NewNode, who: Newcomer) -> PoolStop | None:
        """Put a pod on a new node. Return why this is not possible; None if the pod was added."""
        pool, shape, profile = new.pool, who.shape, who.state.profile
        if not pool.is_ready:
            why = f": {pool.why_not_ready}" if pool.why_not_ready else ""
            return PoolStop(pool, f"the NodePool is not Ready{why}", code="not-ready")
        taint = pool.pool.taints.untolerated(profile.tolerations, soft=True)
        if taint is not None:
            return PoolStop(pool, f"its taint {taint.key}:{taint.effect} is not tolerated", code="taint")
        taken = new.merged.ports if new.merged is not None else ()
        if any(port.clashes(other) for port in shape.pod.ports for other in taken):
            return PoolStop(pool, "a port of the node that it needs is taken", code="port")
        domains = self._domains(new, who)
        if isinstance(domains, str):
            return PoolStop(pool, domains, code="topology")
        return self._join_with(new, who, domains)

    def _join_with(self, new: NewNode, who: Newcomer, domains: dict[str, frozenset[str]]) -> PoolStop | None:
        """Put a pod on a new node in these domains, if a type of the pool has room for all pods of the node.

        Return why this is not possible; None if the pod was added.
        """
        pool = new.pool
        merged = _merged(new, who, domains)
        profiles = new.profiles | {who.state.profile.key[0]}
        verdict = pool.requirements_verdict(merged, (profiles, frozenset(domains.items())))
        types = pool.holding(merged, verdict.types) if verdict.fits else verdict.types
        if not types or too_few_types(pool.pool, types) is not None:
            if new.pods:
                return PoolStop(
                    pool, "no instance type takes it with the other pods of the new node", code="resources"
                )
            refusal = pool.judge(merged).refusal
            text = refusal.brief if refusal is not None else "no instance type takes it"
            return PoolStop(pool, text, refusal, refusal.reason if refusal is not None else "")
        types = pool.within_limits(types, self.moves.removed)
        if not types:
            return PoolStop(pool, "its limits leave no room for another node", code="limits")
        new.pods.append(who.pod)
        new.merged, new.profiles, new.types, new.domains = merged, profiles, types, domains
        self.moves.add(who.pod, new)
        return None

    def _domains(self, new: NewNode, who: Newcomer) -> dict[str, frozenset[str]] | str:
        """Return the possible domains of a new node with the pod, or why there is none."""
        domains = dict(new.domains)
        stop = _narrow_to_volume(domains, new, who.shape)
        if stop is not None:
            return stop
        for constraint in who.state.constraints:
            if is_hostname(constraint):
                if not self._fits_on_host(constraint, new, who):
                    return f"its {constraint.description} keeps it from a new node"
                continue
            before = self._possible_domains(constraint, new, who, domains)
            if before is None:
                self.unknown[f"which values of {constraint.key} a new node can have"] = None
                continue
            admission = self._admission(constraint, who)
            remaining = frozenset(domain for domain in before if admission.admits(domain))
            if not remaining:
                return f"its {constraint.description} leaves no domain for a new node"
            if constraint.what == SPREAD:
                # Of several domains with as few pods, the controller takes one: later pods have to go there.
                remaining = frozenset({admission.emptiest(remaining)})
            domains[constraint.key] = remaining
        return self._without_repelled(domains, new, who)

    def _possible_domains(
        self, constraint: Constraint, new: NewNode, who: Newcomer, domains: dict[str, frozenset[str]]
    ) -> frozenset[str] | None:
        before = domains.get(constraint.key, new.pool.domains(constraint.key))
        if before is None and constraint.key == ZONE:
            counts = self.moves.count(constraint, who.shape)
            before = frozenset(counts.list_domains()) | self.fleet.cluster.zones
        if before is None:
            return None
        wanted = who.state.profile.requirements
        return frozenset(d for d in before if constraint.key not in wanted or wanted[constraint.key].admits(d))

    def _without_repelled(
        self, domains: dict[str, frozenset[str]], new: NewNode, who: Newcomer
    ) -> dict[str, frozenset[str]] | str:
        for constraint in self.moves.repelling(who.pod):
            if is_hostname(constraint):
                if self.moves.repels_on(constraint, new):
                    return f"a pod there keeps it away by its {constraint.description}"
                continue
            before = domains.get(constraint.key, new.pool.domains(constraint.key))
            remaining = frozenset(d for d in before or () if not self.moves.repels(constraint, d))
            if before and not remaining:
                return f"pods in every domain keep it away by their {constraint.description}"
            if before:
                domains[constraint.key] = remaining
        return domains

    def _fits_on_host(self, constraint: Constraint, new: NewNode, who: Newcomer) -> bool:
        """Return whether a constraint over hostnames accepts the pod on a new node with its other pods."""
        there = sum(constraint.selects(p.namespace, p.labels) for p in new.pods)
        if constraint.what == ANTI_AFFINITY:
            return there == 0
        selects_itself = constraint.selects(who.pod.namespace, who.pod.labels)
        if constraint.what == AFFINITY:
            return there > 0 or (selects_itself and self.moves.count(constraint, who.shape).are_all_zero())
        return there + selects_itself <= constraint.skew


def _narrow_to_volume(domains: dict[str, frozenset[str]], new: NewNode, shape: Shape) -> str | None:
    """Restrict `domains` to those of the pod's volume. Return why none remains; None if one remains."""
    for volume in shape.volumes[:1]:
        for requirement in volume.requirements:
            if requirement.operator != "In":
                continue
            before = domains.get(requirement.key, new.pool.domains(requirement.key))
            remaining = frozenset(v for v in requirement.values if before is None or v in before)
            if not remaining:
                places = ", ".join(sorted(requirement.values)[:3])
                return f"its volume is in {places}, where the pool launches nothing"
            domains[requirement.key] = remaining
    return None


def _merged(new: NewNode, who: Newcomer, domains: dict[str, frozenset[str]]) -> Pod:
    """Return all pods of a new node as one pod with the sum of their requests and constraints."""
    own, before, profile = who.shape.pod, new.merged, who.state.profile
    places = tuple(
        LabelExpression(own.node, key, "In", tuple(sorted(values)))
        for key, values in sorted(domains.items())
        if new.domains.get(key) != values
    )
    if before is None:
        return own._replace(selector=(*profile.expressions, *places))
    more = () if profile.key[0] in new.profiles else profile.expressions
    return before._replace(
        requests=add_requests((before.requests, own.requests)),
        selector=(*before.selector, *more, *places),
        ports=(*before.ports, *own.ports),
    )
