"""Why each node stays: the checks of the disruption controller for each method, in the order of the release.

Source: core pkg/controllers/disruption at v1.14.1 (controller.go:105, emptiness.go, drift.go, staticdrift.go,
consolidation.go:84) and, for differences, at 1.0.0, 1.1.0, 1.5.0 and 1.8.0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import cached_property

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.drift.plain_values import Plain, length, mapping, moment, text, whole
from nodelint.model.keys import CAPACITY_TYPE, ZONE
from nodelint.model.messages import counted, list_first, short
from nodelint.model.releases import Version
from nodelint.why.answer import ChangeOf, NodeAnswer, NodeCause, SuggestedChange
from nodelint.why.balanced import disruption_cost
from nodelint.why.budget_now import BudgetNow, budget_now
from nodelint.why.candidates import Rules, check_marks, check_node, check_pods
from nodelint.why.consolidation import Consolidation
from nodelint.why.draining import explain_removal
from nodelint.why.events import Events
from nodelint.why.multi_node import MultiNode
from nodelint.why.pods import ClusterPod
from nodelint.why.releases import EMPTY_BY_COST, LABELS_ASKED_LATER, STATIC, methods
from nodelint.why.state import NodeState
from nodelint.why.times import later, shown_length, shown_time

if TYPE_CHECKING:
    from nodelint.why.answer import Status

_UNDERUTILIZED = "Underutilized"
_REASONS = {"emptiness": "Empty", "drift": "Drifted", "static-drift": "Drifted", "consolidation": _UNDERUTILIZED}
_POLICIES = ("WhenEmpty", "WhenEmptyOrUnderutilized", "Balanced")


class Places(NamedTuple):
    """Where manifests write fields: `file:line` by object and field, such as `NodePool/default`, `spec.weight`."""

    lines: Mapping[tuple[str, str], str]

    def find_line(self, target: str, path: str | None) -> str | None:
        """Return the place of a field, or of the nearest field around it. None if no manifest writes the object."""
        parts = (path or "").split(".")
        for size in range(len(parts), -1, -1):
            found = self.lines.get((target, ".".join(parts[:size])))
            if found is not None:
                return found
        return None


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
        self._budgets: dict[tuple[str, str], BudgetNow] = {}

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
        unknown = self._doubts(state, cause) if goes else ()
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
        return MultiNode(self.consolidation, self._candidates, lambda pool: self.budget(pool, _UNDERUTILIZED).left)

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
            self._check_consolidatable(state, empty=False) is None
            and self.budget(state.pool, _UNDERUTILIZED).left > 0
        )

    def _concerns(self, method: str, state: NodeState) -> bool:
        """Return whether a disruption method considers the node at all."""
        drifted = (state.claim_condition("Drifted") or {}).get("status") == "True"
        static = self._is_static(state)
        if method == "static-drift":
            return drifted and static
        if method == "drift":
            return drifted and not static
        if static:
            return False
        return self.is_empty(state) == (method == "emptiness")

    def _is_static(self, state: NodeState) -> bool:
        replicas = mapping(self._pool(state), "spec").get("replicas")
        return replicas is not None and self.release >= STATIC

    def is_empty(self, state: NodeState) -> bool:
        """Return whether the node counts as empty: no pod is rescheduled; from 1.14 on, evictions cost nothing."""
        moving = [pod for pod in state.pods if pod.is_reschedulable]
        return disruption_cost(moving) <= 1.0 if self.release >= EMPTY_BY_COST else not moving

    def _pool(self, state: NodeState) -> Plain:
        return self.cluster.pools.get(state.pool, {})

    def _explain_static(self, state: NodeState) -> NodeCause:
        replicas = whole(mapping(self._pool(state), "spec").get("replicas"))
        shown = f"replicas: {replicas}" if replicas is not None else "replicas"
        change = self._change(
            state, "spec.replicas", str(replicas), None, "fewer replicas: Karpenter removes as many nodes"
        )
        message = f"NodePool/{short(state.pool)} is static (`{shown}`): its nodes are not consolidated"
        return NodeCause("static-pool", message, changes=(change,))

    def _try(self, method: str, state: NodeState) -> tuple[NodeCause, bool]:
        """Return the cause for a node under one method, and whether the method removes the node."""
        if method in ("drift", "static-drift"):
            return self._try_drift(method, state)
        cause = self._check_consolidatable(state, empty=method == "emptiness")
        if cause is not None:
            return cause, False
        blocked = self._check_budget(state, _REASONS[method])
        if blocked is not None:
            return blocked, False
        if method == "emptiness":
            return NodeCause(
                "empty", f"no pod has to move ({_pods_in_words(state.pods)}): Karpenter deletes it"
            ), True
        return self.consolidation.judge(state, self._pool(state), self._change_of(state))

    def _check_consolidatable(self, state: NodeState, empty: bool) -> NodeCause | None:
        """Return why the node is no consolidation candidate, in the order of `ShouldDisrupt`; None if it is one."""
        pool = mapping(self._pool(state), "spec", "disruption")
        if not empty:
            unsure = self._check_type(state)
            if unsure is not None:
                return unsure
        after, policy = pool.get("consolidateAfter"), pool.get("consolidationPolicy")
        name = short(state.pool)
        if after == "Never":
            change = self._change(state, "spec.disruption.consolidateAfter", "Never", "1m", "turn consolidation on")
            return NodeCause(
                "consolidation-disabled", f"NodePool/{name} has `consolidateAfter: Never`", changes=(change,)
            )
        if policy is not None and policy not in _POLICIES:
            return NodeCause(
                "policy", f"NodePool/{name} has a consolidationPolicy that is not known here", known=False
            )
        when_empty = policy == "WhenEmpty" or (policy == "Balanced" and self.release < EMPTY_BY_COST)
        if when_empty and not empty:
            return self._explain_policy(state, str(policy))
        return self._check_consolidate_after(state, text(after) or "0s")

    def _check_type(self, state: NodeState) -> NodeCause | None:
        lacking = next((key for key in (CAPACITY_TYPE, ZONE) if not state.labels.get(key)), None)
        known = self.consolidation.knows_type(state)
        if not state.instance_type or known is False:
            message = (
                f"`{short(state.instance_type)}` is no instance type that is known here"
                if state.instance_type
                else "no label names its instance type"
            )
            more = (
                ": whether Karpenter knows its price is not known (`nodelint refresh` asks EC2)"
                if state.instance_type
                else ""
            )
            return NodeCause("unknown-type", message + more, known=not state.instance_type)
        if lacking is not None and self.release >= LABELS_ASKED_LATER:
            return NodeCause("missing-label", f"it has no label {lacking}, by which its price is found")
        return None

    def _explain_policy(self, state: NodeState, policy: str) -> NodeCause:
        moving = [pod for pod in state.pods if pod.is_reschedulable]
        names = list_first([pod.label for pod in moving], 3)
        change = self._change(
            state,
            "spec.disruption.consolidationPolicy",
            policy,
            "WhenEmptyOrUnderutilized",
            "consolidate nodes with pods",
        )
        message = (
            f"NodePool/{short(state.pool)} has `consolidationPolicy: {policy}`, and {_hold(len(moving))}: {names}"
        )
        return NodeCause("policy", message, changes=(change,), facts={"pods": [pod.label for pod in moving[:20]]})

    def _check_consolidate_after(self, state: NodeState, after: str) -> NodeCause | None:
        if (state.claim_condition("Consolidatable") or {}).get("status") == "True":
            return None
        started = moment(mapping(state.claim, "status").get("lastPodEventTime"))
        what = "the last pod came or went"
        if started is None:
            started, what = (
                moment((state.claim_condition("Initialized") or {}).get("lastTransitionTime")),
                "it was initialized",
            )
        until = later(started, length(after))
        facts = {"consolidateAfter": after, "since": shown_time(started) if started else None}
        if started is None or until is None:
            message = (
                f"its NodeClaim is not Consolidatable, and when `consolidateAfter: {short(after, 12)}`"
                " ends is not known"
            )
            return NodeCause("consolidate-after", message, known=False, facts=facts)
        if until <= self.now:
            message = (
                f"`consolidateAfter: {after}` ended at {shown_time(until)}, but its NodeClaim is not"
                " Consolidatable yet"
            )
            return NodeCause("consolidate-after", message, known=False, until=until, facts=facts)
        left = shown_length(until - self.now)
        gone = shown_length(self.now - started)
        message = f"`consolidateAfter: {after}` goes on until {shown_time(until)} ({left}): {what} {gone} ago"
        change = self._change(
            state, "spec.disruption.consolidateAfter", after, gone, f"at most {gone}, the time since {what}"
        )
        return NodeCause("consolidate-after", message, until=until, changes=(change,), facts=facts)

    def budget(self, pool: str, reason: str) -> BudgetNow:
        """Return the state of a pool's budgets now for a reason: the budget that counts, and how many nodes it
        allows.
        """
        found = self._budgets.get((pool, reason))
        if found is None:
            states = self.cluster.by_pool.get(pool, [])
            found = budget_now(self.cluster.pools.get(pool, {}), reason, states, self.now)
            self._budgets[pool, reason] = found
        return found

    def _check_budget(self, state: NodeState, reason: str) -> NodeCause | None:
        """Return a cause if the pool's budgets allow no node now. None if they allow one."""
        now = self.budget(state.pool, reason)
        if now.left > 0:
            return None
        found = now.budget
        shown = f'`nodes: "{found.nodes}"`' if found is not None else "the budgets"
        if found is not None and found.written:
            shown += f" (schedule {short(found.written, 40)})"
        if found is not None and found.broken:
            message = (
                f"a budget of NodePool/{short(state.pool)} cannot be read ({found.broken}): Karpenter"
                " disrupts nothing"
            )
        elif now.allowed <= 0:
            since = f" since {shown_time(now.since)}" if now.since is not None else ""
            message = f"budget {shown} of NodePool/{short(state.pool)} allows no node for {reason}{since}"
        else:
            message = (
                f"budget {shown} of NodePool/{short(state.pool)} allows {now.allowed} of {counted(now.nodes, 'node')}"
                f" for {reason}, and {now.busy} {'is' if now.busy == 1 else 'are'} being removed or not Ready"
            )
        if now.opens is not None:
            message += f"; it opens at {shown_time(now.opens)}"
        elif now.allowed <= 0:
            message += "; it does not open within a week"
        path = f"spec.disruption.budgets[{now.entry}].nodes" if now.entry is not None else "spec.disruption.budgets"
        old = found.nodes if found is not None else None
        change = self._change(state, path, old, str(now.busy + 1), f"allow a node for {reason}")
        facts = {
            "reason": reason,
            "budget": old,
            "schedule": found.written if found is not None else None,
            "allowed": now.allowed,
            "nodes": now.nodes,
            "busy": now.busy,
            "since": shown_time(now.since) if now.since is not None else None,
        }
        return NodeCause("budget", message, until=now.opens, changes=(change,), facts=facts)

    def _try_drift(self, method: str, state: NodeState) -> tuple[NodeCause, bool]:
        why = text((state.claim_condition("Drifted") or {}).get("reason")) or "Drifted"
        blocked = self._check_budget(state, "Drifted")
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
            change = self._change(state, "spec.limits.nodes", str(limit), room, "room for a replacement")
            message = f"it has drifted ({why}), and `limits.nodes: {limit}` leaves no room for a replacement"
            return NodeCause("static-drift", message, changes=(change,)), False
        return NodeCause("drift", f"it has drifted ({why}): Karpenter replaces it"), True

    def _doubts(self, state: NodeState, cause: NodeCause) -> tuple[str, ...]:
        """Return the unknown facts that may keep a node which the known facts would remove."""
        return tuple(dict.fromkeys([*self.consolidation.doubts(), *_doubts_of_pods(state, self.rules)]))

    def _change(self, state: NodeState, path: str, old: str | None, new: str | None, message: str) -> SuggestedChange:
        target = f"NodePool/{state.pool}"
        return SuggestedChange(target, path, old, new, message, self.places.find_line(target, path.partition("[")[0]))

    def _change_of(self, state: NodeState) -> ChangeOf:
        return lambda path, old, new, message: self._change(state, path, old, new, message)

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


def _hold(pods: int) -> str:
    return f"{counted(pods, 'pod')} {'has' if pods == 1 else 'have'} to move"


def _pods_in_words(pods: Iterable[ClusterPod]) -> str:
    daemons = sum(pod.is_of_daemon for pod in pods)
    return f"{counted(daemons, 'pod')} of DaemonSets" if daemons else "it has no pods"
