"""Why each node stays: the checks of the disruption controller for each method, in the order of the release.

Source: core pkg/controllers/disruption at v1.14.1 (controller.go:105, emptiness.go, drift.go, staticdrift.go,
consolidation.go:84) and, for differences, at 1.0.0, 1.1.0, 1.5.0 and 1.8.0.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from functools import cached_property, partial

from nodelint.base.types import TYPE_CHECKING
from nodelint.drift.plain_values import Plain, length, mapping, text, whole
from nodelint.model.messages import counted, short
from nodelint.model.releases import Version
from nodelint.why.answer import NodeAnswer, NodeCause
from nodelint.why.balanced import disruption_cost
from nodelint.why.candidates import Rules, check_marks, check_node, check_pods
from nodelint.why.consolidatable import ConsolidationCheck
from nodelint.why.consolidation import Consolidation
from nodelint.why.draining import explain_removal
from nodelint.why.events import Events
from nodelint.why.multi_node import MultiNode
from nodelint.why.places import Places
from nodelint.why.pods import ClusterPod
from nodelint.why.pool_budgets import PoolBudgets
from nodelint.why.releases import EMPTY_BY_COST, STATIC, methods
from nodelint.why.state import NodeState
from nodelint.why.times import later, shown_time

if TYPE_CHECKING:
    from nodelint.why.answer import Status

_UNDERUTILIZED = "Underutilized"
_REASONS = {"emptiness": "Empty", "drift": "Drifted", "static-drift": "Drifted", "consolidation": _UNDERUTILIZED}


class Examiner:
    """Explains nodes, one at a time. `pools` are the names of the NodePools that the controller manages."""

    def __init__(
        self, rules: Rules, consolidation: Consolidation, events: Events, places: Places, pools: frozenset[str]
    ) -> None:
        self.pools = pools
        self.rules = rules
        self.cluster = rules.cluster
        self.now: datetime = rules.now
        self.release: Version = rules.release
        self.consolidation = consolidation
        self.events = events
        self.places = places
        self.methods = methods(rules.release)
        self.budgets = PoolBudgets(rules.cluster, rules.now, places)
        self._consolidatable = ConsolidationCheck(rules, consolidation, places)

    def explain(self, state: NodeState) -> NodeAnswer:
        """Return the answer for a node."""
        cause = check_node(state, self.rules)
        if cause is not None:
            known: Status = "unmanaged" if state.claim is None else "stays"
            return self._answer(state, known if cause.known else "unknown", "candidate", cause)
        if state.is_deleting:
            return self._answer(
                state, "going", "candidate", explain_removal(state, self.rules.pdbs, self.now, self.release)
            )
        expires = _expiry(state)
        if expires is not None and expires <= self.now:
            message = (
                f"it has expired at {shown_time(expires)} (expireAfter): Karpenter deletes it, whatever"
                " its pods and budgets"
            )
            return self._answer(state, "goes", "expiration", NodeCause("expired", message))
        cause = check_marks(state, self.rules)
        if cause is not None:
            return self._answer(state, "stays" if cause.known else "unknown", "candidate", cause)
        return self._explain_methods(state)

    def _explain_methods(self, state: NodeState) -> NodeAnswer:
        blocked_pod = check_pods(state, self.rules)
        found: list[tuple[str, NodeCause, bool]] = []
        for method in self.methods:
            if not self._concerns(method, state):
                continue
            grace = mapping(state.claim, "spec").get("terminationGracePeriod") is not None
            if blocked_pod is not None and not (method in ("drift", "static-drift") and grace):
                found.append((method, blocked_pod, False))
                continue
            found.append((method, *self._try(method, state)))
        if not found:  # an empty node of a static pool, or one of which nothing is asked
            found.append(("candidate", blocked_pod or self._explain_static(state), False))
        if not any(goes for _, _, goes in found):
            self._add_multi_node(found, state)
        first = next((item for item in found if item[2]), found[0])
        others = [(m, c) for m, c, _ in found if c is not first[1]]
        method, cause, goes = first
        if cause is blocked_pod:
            method = "candidate"
        status: Status = "goes" if goes else "stays"
        unknown = _list_doubts(state, self.rules, self.consolidation) if goes else ()
        if not cause.known or unknown:
            status = "unknown"
        return self._answer(state, status, method, cause, tuple(others), unknown)

    def _add_multi_node(self, found: list[tuple[str, NodeCause, bool]], state: NodeState) -> None:
        """Add a cause if the node is removed together with others and single-node consolidation does not
        remove it.
        """
        if id(state) not in self._candidate_ids:
            return
        cause = self.multi_node.explain(state)
        if cause is not None:
            at = next((n for n, (method, _, _) in enumerate(found) if method == "consolidation"), len(found))
            found.insert(at, ("multi-node", cause, True))

    @cached_property
    def multi_node(self) -> MultiNode:
        """Return the sets of nodes that Karpenter removes together."""
        return MultiNode(
            self.consolidation, self._candidates, lambda pool: self.budgets.find(pool, _UNDERUTILIZED).left
        )

    @cached_property
    def _candidates(self) -> list[NodeState]:
        """Return the consolidation candidates whose pools' budgets allow a disruption."""
        return [state for state in self.cluster.nodes if self._is_candidate(state)]

    @cached_property
    def _candidate_ids(self) -> frozenset[int]:
        return frozenset(id(state) for state in self._candidates)

    def _is_candidate(self, state: NodeState) -> bool:
        if state.pool not in self.pools or state.is_deleting or check_node(state, self.rules) is not None:
            return False
        expires = _expiry(state)
        if (expires is not None and expires <= self.now) or check_marks(state, self.rules) is not None:
            return False
        if not self._concerns("consolidation", state) or check_pods(state, self.rules) is not None:
            return False
        return (
            self._consolidatable.check(state, empty=False) is None
            and self.budgets.find(state.pool, _UNDERUTILIZED).left > 0
        )

    def _concerns(self, method: str, state: NodeState) -> bool:
        """Return whether a disruption method considers the node at all."""
        drifted = (state.claim_condition("Drifted") or {}).get("status") == "True"
        replicas = mapping(self._pool(state), "spec").get("replicas")
        static = replicas is not None and self.release >= STATIC
        if method == "static-drift":
            return drifted and static
        if method == "drift":
            return drifted and not static
        if static:
            return False
        return self.is_empty(state) == (method == "emptiness")

    def is_empty(self, state: NodeState) -> bool:
        """Return whether the node counts as empty: no pod is rescheduled; from 1.14 on, evictions cost nothing."""
        moving = [pod for pod in state.pods if pod.is_reschedulable]
        return disruption_cost(moving) <= 1.0 if self.release >= EMPTY_BY_COST else not moving

    def _pool(self, state: NodeState) -> Plain:
        return self.cluster.pools.get(state.pool, {})

    def _explain_static(self, state: NodeState) -> NodeCause:
        replicas = whole(mapping(self._pool(state), "spec").get("replicas"))
        shown = f"replicas: {replicas}" if replicas is not None else "replicas"
        change = self.places.suggest(
            state.pool, "spec.replicas", str(replicas), None, "fewer replicas: Karpenter removes as many nodes"
        )
        message = f"NodePool/{short(state.pool)} is static (`{shown}`): its nodes are not consolidated"
        return NodeCause("static-pool", message, changes=(change,))

    def _try(self, method: str, state: NodeState) -> tuple[NodeCause, bool]:
        """Return the cause for a node under one method, and whether the method removes the node."""
        if method in ("drift", "static-drift"):
            return self._try_drift(method, state)
        cause = self._consolidatable.check(state, empty=method == "emptiness")
        if cause is not None:
            return cause, False
        blocked = self.budgets.check(state, _REASONS[method])
        if blocked is not None:
            return blocked, False
        if method == "emptiness":
            return NodeCause(
                "empty", f"no pod has to move ({_pods_in_words(state.pods)}): Karpenter deletes it"
            ), True
        return self.consolidation.judge(state, self._pool(state), partial(self.places.suggest, state.pool))

    def _try_drift(self, method: str, state: NodeState) -> tuple[NodeCause, bool]:
        why = text((state.claim_condition("Drifted") or {}).get("reason")) or "Drifted"
        blocked = self.budgets.check(state, "Drifted")
        if blocked is not None:
            return blocked, False
        if method == "drift":
            return self.consolidation.judge_drift(state, why)
        return self._try_static_drift(state, why)

    def _try_static_drift(self, state: NodeState, why: str) -> tuple[NodeCause, bool]:
        spec = mapping(self._pool(state), "spec")
        replicas, members = whole(spec.get("replicas")) or 0, self.cluster.by_pool.get(state.pool, [])
        limit = self.consolidation.node_limit(state.pool)
        running = sum(member.is_queued or not member.is_deleting for member in members)
        if running > replicas:
            message = (
                f"it has drifted ({why}), and NodePool/{short(state.pool)} first removes nodes: {running}"
                f" run for `replicas: {replicas}`"
            )
            return NodeCause("static-drift", message), False
        if limit is not None and limit <= len(members):
            # The controller first launches what lacks of `replicas`, within the same limit.
            room = str(max(len(members), replicas) + 1)
            change = self.places.suggest(state.pool, "spec.limits.nodes", str(limit), room, "room for a replacement")
            message = f"it has drifted ({why}), and `limits.nodes: {limit}` leaves no room for a replacement"
            return NodeCause("static-drift", message, changes=(change,)), False
        return NodeCause("drift", f"it has drifted ({why}): Karpenter replaces it"), True

    def _answer(
        self,
        state: NodeState,
        status: Status,
        method: str,
        cause: NodeCause,
        others: tuple[tuple[str, NodeCause], ...] = (),
        unknown: Iterable[str] = (),
    ) -> NodeAnswer:
        return NodeAnswer(
            state.name,
            state.claim_name,
            state.pool,
            state.instance_type,
            state.capacity_type,
            state.zone,
            status,
            method,
            cause,
            others,
            self.events.about_objects(("Node", state.name), ("NodeClaim", state.claim_name)),
            self.consolidation.price_of(state),
            sum(pod.is_reschedulable for pod in state.pods),
            _expiry(state),
            tuple(unknown),
        )


def _expiry(state: NodeState) -> datetime | None:
    """Return when the node expires. None if it does not expire, or if the time is not known."""
    return later(state.created, length(mapping(state.claim, "spec").get("expireAfter")))


def _list_doubts(state: NodeState, rules: Rules, consolidation: Consolidation) -> tuple[str, ...]:
    """Return the unknown facts that may keep a node which the known facts would remove."""
    return tuple(dict.fromkeys([*consolidation.doubts(), *_doubts_of_pods(state, rules)]))


def _doubts_of_pods(state: NodeState, rules: Rules) -> Iterable[str]:
    dump = rules.cluster.dump
    for pod in state.pods:
        if not pod.is_reschedulable:
            continue
        stated = pod.meta.get("ownerReferences")
        if stated is not None and not pod.owners:
            yield f"who owns the pod {pod.label}"
        for api, kind, name in pod.owners:
            if api == "apps/v1" and dump.has_kind(kind) and (pod.namespace, name) not in dump.objects_of(kind):
                owner = f"{kind}/{short(name)}"
                yield f"it is not known whether {pod.label} is created again: its owner {owner} is not in the dump"


def _pods_in_words(pods: Iterable[ClusterPod]) -> str:
    daemons = sum(pod.is_of_daemon for pod in pods)
    return f"{counted(daemons, 'pod')} of DaemonSets" if daemons else "it has no pods"
