"""Whether a node is a candidate of consolidation, in the order of `ShouldDisrupt`."""

from __future__ import annotations

from nodelint.drift.plain_values import length, mapping, moment, text
from nodelint.model.keys import CAPACITY_TYPE, ZONE
from nodelint.model.messages import counted, list_first, short
from nodelint.why.answer import NodeCause
from nodelint.why.candidates import Rules
from nodelint.why.consolidation import Consolidation
from nodelint.why.places import Places
from nodelint.why.releases import EMPTY_BY_COST, LABELS_ASKED_LATER
from nodelint.why.state import NodeState
from nodelint.why.times import later, shown_length, shown_time

_POLICIES = ("WhenEmpty", "WhenEmptyOrUnderutilized", "Balanced")


class ConsolidationCheck:
    """The checks of a node before consolidation looks for a cheaper placement of its pods."""

    def __init__(self, rules: Rules, consolidation: Consolidation, places: Places) -> None:
        self.cluster = rules.cluster
        self.now = rules.now
        self.release = rules.release
        self.consolidation = consolidation
        self.places = places

    def check(self, state: NodeState, empty: bool) -> NodeCause | None:
        """Return why the node is no consolidation candidate, in the order of `ShouldDisrupt`; None if it is one."""
        pool = mapping(self.cluster.pools.get(state.pool, {}), "spec", "disruption")
        if not empty:
            unsure = self._check_type(state)
            if unsure is not None:
                return unsure
        after, policy = pool.get("consolidateAfter"), pool.get("consolidationPolicy")
        name = short(state.pool)
        if after == "Never":
            change = self.places.suggest(
                state.pool, "spec.disruption.consolidateAfter", "Never", "1m", "turn consolidation on"
            )
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
        change = self.places.suggest(
            state.pool,
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
        change = self.places.suggest(
            state.pool, "spec.disruption.consolidateAfter", after, gone, f"at most {gone}, the time since {what}"
        )
        return NodeCause("consolidate-after", message, until=until, changes=(change,), facts=facts)


def _hold(pods: int) -> str:
    return f"{counted(pods, 'pod')} {'has' if pods == 1 else 'have'} to move"
