"""Whether consolidation removes a node with pods or replaces it by a cheaper one, and what prevents this."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from nodelint.base.tuples import NamedTuple
from nodelint.drift.plain_values import Plain, mapping
from nodelint.model.keys import CAPACITY_TYPE
from nodelint.model.messages import counted, list_first, short
from nodelint.model.quantities import ONE, format_quantity
from nodelint.why import balanced
from nodelint.why.answer import ChangeOf, NodeCause, SuggestedChange
from nodelint.why.candidates import Rules
from nodelint.why.fleet import Fleet
from nodelint.why.moves import NewNode
from nodelint.why.placing import MOST_WAITING, Placement, Simulation, Unplaced
from nodelint.why.pods import ClusterPod
from nodelint.why.prices import FLEXIBLE, ON_DEMAND, SPOT, Comparison, Prices, compare
from nodelint.why.releases import EMPTY_BY_COST
from nodelint.why.state import NodeState

_GATE = "settings.featureGates.spotToSpotConsolidation"


class Facts(NamedTuple):
    """The facts of a run besides the dump.

    `spot_to_spot` is None if no file sets the feature gate: it is off then. `unresolved` are NodePools whose instance
    types are not known, each with the reason. `missing` are kinds that the dump lacks.
    """

    spot_to_spot: bool | None
    unresolved: tuple[str, ...]
    missing: tuple[str, ...]


class Consolidation:
    """Judges nodes with pods, one at a time. Prices and pools are shared."""

    def __init__(self, rules: Rules, fleet: Fleet, facts: Facts) -> None:
        self.rules = rules
        self.fleet = fleet
        self.facts = facts
        self.prices = Prices(fleet.pools)
        self.pools = {pool.name: pool for pool in fleet.pools}

    @cached_property
    def _waiting(self) -> list[ClusterPod]:
        return [pod for pod in self.rules.cluster.pending if pod.shape is not None]

    @cached_property
    def _leaving(self) -> list[ClusterPod]:
        return [
            pod for state in self.rules.cluster.nodes if state.is_deleting for pod in state.pods if self._moves(pod)
        ]

    def _moves(self, pod: ClusterPod) -> bool:
        """Return whether the pod is scheduled elsewhere when its node is removed (core's
        `IsCurrentlyReschedulable`).
        """
        if not pod.is_reschedulable or (pod.is_active and pod.is_protected(self.rules.now, self.rules.release)):
            return False
        return not self.rules.pdbs.blocks_fully(pod, self.rules.now, self.rules.release)

    def knows_type(self, state: NodeState) -> bool | None:
        """Return whether the node's instance type is in the catalogue. None if no NodePool could be resolved."""
        pool = self.prices.pool_of(state)
        if pool is None:
            return None
        return pool.pool.resolution.catalog.place(state.instance_type) is not None

    def price_of(self, state: NodeState) -> float | None:
        """Return the price of the node in USD per hour. None if it is not known, and for spot nodes."""
        return self.prices.of_node(state)

    def node_limit(self, pool: str) -> int | None:
        """Return `limits.nodes` of the pool. None if it has no such limit."""
        found = self.pools.get(pool)
        limit = found.pool.limits.get("nodes") if found is not None else None
        return None if limit is None else limit // ONE

    def doubts(self) -> tuple[str, ...]:
        """Return the kinds that the dump lacks, so that no removal is certain."""
        return self.facts.missing

    def simulate(
        self, states: Sequence[NodeState], is_brief: bool = False, skips_recent: bool = True
    ) -> Placement | NodeCause:
        """Return where the pods of the nodes would be scheduled, or why this is not computed."""
        waiting, leaving = self._waiting, self._leaving
        if len(waiting) + len(leaving) > MOST_WAITING:
            message = (
                f"{counted(len(waiting) + len(leaving), 'pod')} wait for a node or leave one: where they"
                " go is not computed"
            )
            return NodeCause("pending-pods", message, known=False)
        pods = (pod for state in states for pod in state.pods if self._moves(pod))
        return Simulation(self.fleet, states, waiting, leaving, is_brief, skips_recent).run(pods)

    def judge_drift(self, state: NodeState, why: str) -> tuple[NodeCause, bool]:
        """Return the cause for a drifted node, and whether it is replaced: its pods must fit elsewhere at
        any price.
        """
        placed = self.simulate([state], skips_recent=False)
        if isinstance(placed, NodeCause):
            return placed, False
        stop = self._check_placed(placed, None)
        if stop is not None:
            return stop._replace(text=f"it has drifted ({why}), but {stop.text}"), False
        does = "replaces" if placed.new else "deletes"
        message = f"it has drifted ({why}): {_destinations(placed, state)}; Karpenter {does} it"
        return self._with_unknown(NodeCause("drift", message), placed), True

    def judge(self, state: NodeState, pool: Plain, change_of: ChangeOf) -> tuple[NodeCause, bool]:
        """Return the cause for a node, and whether consolidation removes or replaces it."""
        placed = self.simulate([state])
        if isinstance(placed, NodeCause):
            return placed, False
        stop = self._check_placed(placed, change_of)
        if stop is not None:
            return stop, False
        if not placed.new:
            price = self.price_of(state)
            scored = self._check_balanced(state, pool, price)
            if scored is not None:
                return scored, False
            cause = NodeCause(
                "delete", f"{_destinations(placed, state)}: Karpenter deletes it", facts=_moved_facts(placed)
            )
            return self._with_unknown(cause, placed), True
        if len(placed.new) > 1:
            return self._with_unknown(_explain_several(placed, state), placed, stays=True), False
        return self._compare(state, pool, placed, change_of)

    def _with_unknown(self, cause: NodeCause, placed: Placement, stays: bool = False) -> NodeCause:
        """Return the cause, marked as not known if the placement depends on unknown facts."""
        unknown = [*placed.unknown, *(self.facts.unresolved if stays else ())]
        if not unknown:
            return cause
        return cause._replace(known=False, text=f"{cause.text}; not known: {'; '.join(unknown[:3])}")

    def _check_placed(self, placed: Placement, change_of: ChangeOf | None) -> NodeCause | None:
        """Return why pods of the node cannot be scheduled elsewhere. None if all of them can."""
        blocking = placed.blocking
        if blocking:
            cause = _explain_unplaced(blocking, change_of)
            if self.facts.unresolved:
                message = f"{cause.text}; not known: {'; '.join(self.facts.unresolved[:2])}"
                return cause._replace(known=False, text=message)
            return cause
        if placed.on_uninitialized:
            pod, node = placed.on_uninitialized[0]
            message = f"{pod.label} would go onto {node.name}, which is not initialized: Karpenter waits for it"
            return NodeCause("uninitialized-node", message, facts={"pod": pod.label, "node": node.name})
        return None

    def _compare(
        self, state: NodeState, pool: Plain, placed: Placement, change_of: ChangeOf
    ) -> tuple[NodeCause, bool]:
        new = placed.new[0]
        found = compare([state], new, self.prices, self.facts.spot_to_spot is True)
        only_others = not any(pod.node == state.name for pod in new.pods)
        if found.code:
            cause = _explain_price(found, state, new, change_of)._replace(lines=_explain_near(placed, new, state))
            if only_others:
                cause = _explain_waiting(cause, new)
            unsure = not cause.known or bool(placed.unknown)
            return self._with_unknown(cause._replace(known=not unsure), placed), False
        scored = self._check_balanced(state, pool, found.price, found.cheapest)
        if scored is not None:
            return scored, False
        price, name = found.cheapest or (None, "")
        message = (
            f"{_take(len(new.pods))} {name} (${price:.4f} an hour) of NodePool/{new.pool.name},"
            f" instead of {state.instance_type} (${found.price:.4f}): Karpenter replaces it"
            if price is not None and found.price is not None
            else f"a cheaper node of NodePool/{new.pool.name} takes the pods"
        )
        cause = NodeCause("replace", message, known=found.known, facts=_price_facts(found, new))
        return self._with_unknown(cause, placed), True

    def _check_balanced(
        self, state: NodeState, pool: Plain, price: float | None, new: tuple[float, str] | None = None
    ) -> NodeCause | None:
        """Return a cause if the policy Balanced rejects the saving, or a price is not known.

        None if it accepts or is not set.
        """
        if not self.is_balanced(pool):
            return None
        score = None if price is None else self.score(state.pool, [state], price - (new[0] if new else 0.0))
        if score is None:
            message = "the policy Balanced weighs the saving against the pods that move, and a price is not known"
            return NodeCause("balanced", message, known=False)
        if score.is_enough:
            return None
        message = (
            f"the policy Balanced: it would save {score.savings:.1%} of the pool's cost for {score.disruption:.1%} of"
            f" its disruption, and Karpenter wants at least half as much"
        )
        return NodeCause("balanced", message, facts={"savings": score.savings, "disruption": score.disruption})

    def is_balanced(self, pool: Plain) -> bool:
        """Return whether the pool has the policy Balanced and the release supports it."""
        policy = mapping(pool, "spec", "disruption").get("consolidationPolicy")
        return policy == "Balanced" and self.rules.release >= EMPTY_BY_COST

    def score(self, pool: str, states: Sequence[NodeState], saved: float) -> balanced.Score | None:
        """Return the score of removing nodes of a pool. None if a price of the pool's nodes is not known."""
        members = self.rules.cluster.by_pool.get(pool, [])
        found = self._pool_prices.get(pool)
        if found is None:
            found = self._pool_prices[pool] = {id(member): self.price_of(member) for member in members}
        return balanced.score(states, saved, members, found)

    @cached_property
    def _pool_prices(self) -> dict[str, dict[int, float | None]]:
        return {}


def _destinations(placed: Placement, state: NodeState) -> str:
    """Return in words where the pods of the node would be scheduled."""
    own = [(pod, node) for pod, node in placed.moved if pod.node == state.name]
    nodes = list(dict.fromkeys(node.name for _, node in own))
    parts = []
    if nodes:
        parts.append(f"{_fit(len(own))} on {list_first(nodes, 2)}")
    if placed.new:
        parts.append(f"{counted(len(placed.new), 'new node')} of NodePool/{placed.new[0].pool.name} takes the rest")
    return ", ".join(parts) or "no pod has to move"


def _fit(pods: int) -> str:
    return f"its {pods} pods fit" if pods != 1 else "its one pod fits"


def _take(pods: int) -> str:
    return f"{counted(pods, 'pod')} {'fits' if pods == 1 else 'fit'} on"


def _moved_facts(placed: Placement) -> dict[str, object]:
    return {"moves": [{"pod": pod.label, "node": node.name} for pod, node in placed.moved[:50]]}


def _explain_near(placed: Placement, new: NewNode, state: NodeState) -> tuple[str, ...]:
    """Return why pods do not fit on existing nodes, and which pods of other nodes share the new node."""
    own = [pod for pod in new.pods if pod.node == state.name]
    lines = [f"{pod.label}: {near}" for pod in own if (near := placed.near.get(pod.label))]
    full = [pod for pod in own if not placed.near.get(pod.label)]
    if full:
        which = f"{counted(len(full), 'pod')}, such as {full[0].label}" if len(full) > 1 else full[0].label
        lines.append(f"no other node has room for {which}")
    others = [pod for pod in new.pods if pod.node != state.name]
    if others and own:
        from_node = f"of {others[0].node}, which is being removed," if others[0].node else "waits for a node, and"
        lines.append(f"{others[0].label} {from_node} goes onto the same new node")
    return tuple(lines[:4])


def _explain_several(placed: Placement, state: NodeState) -> NodeCause:
    count = len(placed.new)
    own = [new for new in placed.new if any(pod.node == state.name for pod in new.pods)]
    if len(own) <= 1:
        waiting = next(pod for new in placed.new for pod in new.pods if pod.node != state.name)
        message = (
            f"the simulation launches {counted(count, 'node')}, as pods wait for one ({waiting.label}):"
            " Karpenter replaces no node by several"
        )
        change = SuggestedChange(f"Pod/{waiting.label}", None, None, None, "let the pod be scheduled, or delete it")
        return NodeCause("pending-pods", message, changes=(change,), facts={"pod": waiting.label, "nodes": count})
    shapes = [new.pods[0] for new in own]
    preferring = next((p for p in shapes if p.shape is not None and p.shape.prefers), None)
    names = " and ".join(pod.label for pod in shapes[:2])
    message = (
        f"its pods need {counted(count, 'new node')} ({names} not together): Karpenter replaces no node by several"
    )
    changes: tuple[SuggestedChange, ...] = ()
    if preferring is not None and preferring.shape is not None:
        message += f"; {preferring.label} has {preferring.shape.prefers}, which consolidation keeps to"
        said_change = "take the preference away, or run Karpenter with PREFERENCE_POLICY=Ignore"
        changes = (SuggestedChange(f"Pod/{preferring.label}", None, None, None, said_change),)
    return NodeCause(
        "several-nodes", message, changes=changes, facts={"nodes": count, "pods": [p.label for p in shapes[:10]]}
    )


def _explain_waiting(cause: NodeCause, new: NewNode) -> NodeCause:
    pod = new.pods[0]
    wants = f"has to leave {pod.node}, which is being removed" if pod.node else "waits for a node"
    message = (
        f"its own pods fit on other nodes, but {pod.label} {wants}: Karpenter counts the node for it as the"
        f" replacement ({cause.text})"
    )
    change = SuggestedChange(f"Pod/{pod.label}", None, None, None, "let the pod be scheduled, or delete it")
    return NodeCause("pending-pods", message, cause.known, changes=(change,), facts={"pod": pod.label, **cause.facts})


_REFUSAL_CODES = {"limits": "limits", "minValues": "min-values"}


def _explain_unplaced(blocking: Sequence[Unplaced], change_of: ChangeOf | None) -> NodeCause:
    """Return the cause for the first pod that fits nowhere else."""
    first = blocking[0]
    pod = first.pod
    code = next((_REFUSAL_CODES[r.code] for r in first.refusals if r.code in _REFUSAL_CODES), "pods-do-not-fit")
    requests = pod.shape.requests if pod.shape is not None else {}
    asks = ", ".join(f"{r} {format_quantity(r, requests[r])}" for r in ("cpu", "memory") if requests.get(r))
    near = first.near or "no other node has room for it"
    message = f"pod {pod.label}{f' ({asks})' if asks else ''} fits nowhere else: {near}"
    lines = [f"NodePool/{refused.pool.name}: {refused.text}" for refused in first.refusals[:5]]
    if lines:
        message += f"; {lines[0]}"
    changes: list[SuggestedChange] = []
    if code == "limits" and change_of is not None:
        pool = next(r.pool.name for r in first.refusals if r.code == "limits")
        changes.append(
            SuggestedChange(f"NodePool/{pool}", "spec.limits", None, None, "raise the limit, or let fewer nodes run")
        )
    elif code == "min-values":
        pool = next(r.pool.name for r in first.refusals if r.code == "minValues")
        changes.append(
            SuggestedChange(f"NodePool/{pool}", "spec.template.spec.requirements", None, None, "lower minValues")
        )
    elif pod.shape is not None:
        changes.append(SuggestedChange(f"Pod/{pod.label}", None, None, None, _ease(first)))
    facts = {"pod": pod.label, "pods": len(blocking), "pools": lines}
    return NodeCause(code, message, changes=tuple(changes), facts=facts, lines=tuple(lines[1:]))


def _ease(item: Unplaced) -> str:
    codes = {refused.code for refused in item.refusals}
    if "keeps it away" in item.near or "topology" in codes:
        return "loosen its spread or its affinity to pods"
    if codes & {"requirements", "taint"}:
        return "let a NodePool have the labels that the pod selects, or let the pod tolerate its taints"
    return "lower its requests, or allow larger instance types"


def _explain_price(found: Comparison, state: NodeState, new: NewNode, change_of: ChangeOf) -> NodeCause:
    facts = _price_facts(found, new)
    pool, name = new.pool.name, short(state.instance_type)
    own = f"${found.price:.4f} an hour" if found.price is not None else "an unknown price"
    cheapest = (
        f"{found.cheapest[1]} (${found.cheapest[0]:.4f})" if found.cheapest is not None else "none with a known price"
    )
    if found.code == "spot-to-spot":
        gate = SuggestedChange("the chart of Karpenter", _GATE, "false", "true", "turn the feature gate on")
        other = change_of("spec.template.spec.requirements", None, None, f"or allow {CAPACITY_TYPE} on-demand alone")
        message = "a spot node is not replaced by a spot node: the feature gate SpotToSpotConsolidation is off"
        return NodeCause("spot-to-spot", message, changes=(gate, other), facts=facts)
    if found.code == "spot-flexibility":
        most = found.cheaper
        if found.known:
            message = (
                f"at most {counted(most, 'instance type')} of NodePool/{pool} take the pods as spot; at"
                f" least {FLEXIBLE} cheaper ones are wanted"
            )
            wider = SuggestedChange(
                f"NodePool/{pool}",
                "spec.template.spec.requirements",
                None,
                None,
                f"allow more types: {most} of {FLEXIBLE}",
            )
            return NodeCause("spot-flexibility", message, changes=(wider,), facts=facts)
        message = (
            f"{counted(most, 'instance type')} of NodePool/{pool} take the pods as spot; whether"
            f" {FLEXIBLE} of them are cheaper now only spot prices tell"
        )
        return NodeCause("spot-flexibility", message, known=False, facts=facts)
    if found.code == "min-values":
        lower = SuggestedChange(
            f"NodePool/{pool}", "spec.template.spec.requirements", None, None, f"lower minValues of {found.key}"
        )
        message = (
            f"{counted(found.cheaper, 'cheaper instance type')} than {name} ({own}), fewer than minValues"
            f" of {found.key} wants"
        )
        return NodeCause("min-values", message, found.known, changes=(lower,), facts=facts)
    return _explain_no_cheaper(found, state, new, (own, cheapest), facts)


def _explain_no_cheaper(
    found: Comparison, state: NodeState, new: NewNode, shown: tuple[str, str], facts: dict[str, object]
) -> NodeCause:
    own, cheapest = shown
    name, pool = short(state.instance_type), new.pool.name
    if found.price is None:
        message = (
            f"what {name} costs as {state.capacity_type or 'this capacity type'} is not known; the"
            f" cheapest that takes its pods is {cheapest}"
        )
        return NodeCause("no-cheaper-type", message, known=False, facts=facts)
    if found.bound and found.cheaper:
        message = f"spot {name} costs at most {own}; whether {cheapest} is cheaper only spot prices tell"
        return NodeCause("no-cheaper-type", message, known=False, facts=facts)
    at_most = "at most " if found.bound else ""
    if found.cheapest is not None and found.cheapest[1] == state.instance_type:
        why = f"the cheapest of NodePool/{pool} that takes {_name_pods(new, state)} is {name} itself"
    else:
        why = f"the cheapest of NodePool/{pool} that takes {_name_pods(new, state)} is {cheapest}"
    message = f"{name} costs {at_most}{own}; {why}"
    if not found.known:
        kind = "spot" if SPOT in new.pool.pool.resolution.capacity_types else "other"
        return NodeCause(
            "no-cheaper-type", f"{message}; whether a {kind} price is lower is not known", known=False, facts=facts
        )
    return NodeCause("no-cheaper-type", message, changes=(_allow_cheaper(new, state),), facts=facts)


def _allow_cheaper(new: NewNode, state: NodeState) -> SuggestedChange:
    text = "lower requests, or allow smaller or cheaper instance types"
    if state.capacity_type == ON_DEMAND and SPOT not in new.pool.pool.resolution.capacity_types:
        text += ", or spot"
    return SuggestedChange(f"NodePool/{new.pool.name}", "spec.template.spec.requirements", None, None, text)


def _name_pods(new: NewNode, state: NodeState) -> str:
    own = sum(pod.node == state.name for pod in new.pods)
    others = len(new.pods) - own
    named = f"its {own} pods" if own != 1 else "its pod"
    return f"{named} and {counted(others, 'other')}" if own and others else named if own else counted(others, "pod")


def _price_facts(found: Comparison, new: NewNode) -> dict[str, object]:
    return {
        "price": found.price,
        "cheapest": None if found.cheapest is None else {"name": found.cheapest[1], "price": found.cheapest[0]},
        "types": len(new.types),
        "cheaper": found.cheaper,
        "pool": new.pool.name,
    }
