"""The rollout of a cluster's drifted nodes: the first step, all steps, blocking pods, and the cost.

Without objects of a cluster there is no rollout. Each answer uses only the objects that are known.
"""

from __future__ import annotations

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.drift.cluster_pods import DO_NOT_DISRUPT, covering
from nodelint.fit.pod_terms import Toleration
from nodelint.model.messages import counted, list_first

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from typing import Any

    from nodelint.drift.cluster import Claim, Cluster
    from nodelint.drift.cluster_pods import RunningPod
    from nodelint.karpenter.resolve import Resolution
    from nodelint.model.manifest import NodePool
    from nodelint.model.releases import Version
    from nodelint.plan.disruption_rate import Pace
    from nodelint.plan.nodes import NodeOutcome

MINUTES = (5, 15)
"""The assumed minutes of a step, at least and at most: a replacement is launched and ready, and the old node is
drained.
"""

HOURS_OF_MONTH = 730
INSTANCE_TYPE = "node.kubernetes.io/instance-type"
_SIZE = ("karpenter.k8s.aws/instance-cpu", "karpenter.k8s.aws/instance-memory")
_NAMES = 3


class Roll(NamedTuple):
    """The rollout of the nodes of a pool that are replaced or deleted.

    `gone` is true if the pool is deleted: all nodes are deleted, and no budget counts. `first` is how many may be
    disrupted at once now; None if budgets do not count or are not known. `steps` is the approximate number of such
    steps; None if it is not known, or if no budget allows a disruption within the week. `later` is how many may be
    disrupted at once later, if none may now. The blockers are names; None if the cluster's output has no such
    objects. Costs are on-demand dollars for a month of 730 hours: of all nodes of the pool now, and of the cheapest
    types of at least the same size.
    """

    goes: int
    gone: bool
    first: int | None
    later: int | None
    steps: int | None
    do_not_disrupt: tuple[str, ...] | None
    budgets: tuple[str, ...] | None
    untolerating: tuple[str, ...] | None
    cost_before: float | None
    cost_after: float | None

    @property
    def hours(self) -> tuple[float, float] | None:
        """Return the fewest and the most hours that the roll takes, with `MINUTES` for each step.

        None if the number of steps is not known.
        """
        return None if self.steps is None else (self.steps * MINUTES[0] / 60, self.steps * MINUTES[1] / 60)


def roll(
    cluster: Cluster,
    pools: tuple[NodePool | None, NodePool | None],
    outcomes: Sequence[NodeOutcome],
    pace: Pace | None,
    after: Resolution | None,
    region: str,
    release: Version,
    now: datetime | None,
) -> Roll | None:
    """Return the rollout of a pool's nodes that are replaced. `pools` are the pool before and after.

    None if no node is replaced.
    """
    names = {outcome.name for outcome in outcomes if outcome.outcome == "replaced"}
    if not names:
        return None
    old, new = pools
    claims = [claim for claim in cluster.claims if claim.name in names]
    running = [claim for claim in cluster.claims if claim.name in {outcome.name for outcome in outcomes}]
    nodes = {claim.node for claim in claims if claim.node}
    pods = None if cluster.pods is None else [pod for pod in cluster.pods if pod.node in nodes and not pod.static]
    first, later, steps = _steps(len(claims), len(running), sum(claim.deleting for claim in running), pace)
    before, then = _costs(running, names, after, region)
    return Roll(
        len(claims),
        new is None,
        first,
        later,
        steps,
        tuple(_guarded(cluster, claims, pods, release, now)),
        None
        if cluster.pod_budgets is None or pods is None
        else tuple(budget.label for budget in covering(cluster.pod_budgets, pods)),
        None if pods is None else tuple(_untolerating(old, new, pods)),
        before,
        then,
    )


def _steps(goes: int, total: int, going: int, pace: Pace | None) -> tuple[int | None, int | None, int | None]:
    """Return how many nodes may be disrupted at once now, how many later if none may now, and the number of steps."""
    if pace is None:
        return None, None, None
    now = max(0, pace.now.allowed(total) - going) if pace.now.budgets else goes
    most = max((interval.allowed(total) if interval.budgets else goes for interval in pace.stretches), default=0)
    each_step = pace.now.allowed(total) if pace.now.budgets else goes
    width = each_step or most
    steps = -(-goes // width) if width else None
    return min(goes, now), (min(goes, most) if not now and most else None), steps


def _guarded(
    cluster: Cluster,
    claims: Sequence[Claim],
    pods: Sequence[RunningPod] | None,
    release: Version,
    now: datetime | None,
) -> list[str]:
    """Return the claims, nodes and pods whose annotation prevents disruption."""
    found = [f"NodeClaim/{claim.name}" for claim in claims if claim.annotations.get(DO_NOT_DISRUPT) == "true"]
    found += [f"Node/{c.node}" for c in claims if cluster.nodes.get(c.node, {}).get(DO_NOT_DISRUPT) == "true"]
    return found + [f"Pod/{pod.label}" for pod in pods or () if pod.is_protected(now, release)]


def _untolerating(old: NodePool | None, new: NodePool | None, pods: Sequence[RunningPod]) -> list[str]:
    """Return the pods that do not tolerate a taint that the pool's new nodes have and its old ones do not."""
    if old is None or new is None:
        return []
    had = {(taint.key, taint.value, taint.effect) for taint in old.taints}
    fresh = [
        (taint.key, taint.value if isinstance(taint.value, str) else "", taint.effect)
        for taint in new.taints
        if (taint.key, taint.value, taint.effect) not in had and taint.effect in ("NoSchedule", "NoExecute")
    ]
    known = [(key, value, effect) for key, value, effect in fresh if isinstance(key, str) and isinstance(effect, str)]
    return [
        f"Pod/{pod.label}"
        for pod in pods
        if any(not any(_toleration(t).tolerates(*taint) for t in pod.tolerations) for taint in known)
    ]


def _toleration(stated: dict[str, Any]) -> Toleration:
    def text(key: str) -> str | None:
        value = stated.get(key)
        return str(value) if value is not None else None

    return Toleration(text("key"), text("operator") or "", text("value") or "", text("effect"))


def _costs(
    running: Sequence[Claim], going: set[str], after: Resolution | None, region: str
) -> tuple[float | None, float | None]:
    """Return the on-demand cost of a month in dollars before and after. None if a type or a price is not known."""
    if after is None:
        return None, None
    prices = [
        after.catalog.prices.on_demand(claim.labels.get(INSTANCE_TYPE, ""), region)
        for claim in running
        if claim.labels.get(INSTANCE_TYPE, "") in after.catalog
    ]
    if len(prices) != len(running) or any(price is None for price in prices):
        return None, None
    was = [price for price in prices if price is not None]
    then: list[float] = []
    for claim, price in zip(running, was, strict=True):
        found = _cheapest_as_large(claim, after, region) if claim.name in going else price
        if found is None:
            return sum(was) * HOURS_OF_MONTH, None
        then.append(found)
    return sum(was) * HOURS_OF_MONTH, sum(then) * HOURS_OF_MONTH


def _cheapest_as_large(claim: Claim, after: Resolution, region: str) -> float | None:
    """Return the lowest price among launchable types with at least the CPUs and memory of the node's type. None if
    there is none.
    """
    catalog = after.catalog
    least = _size(after, claim.labels[INSTANCE_TYPE])
    large = (
        name
        for name in catalog.iterate_names(after.launchable)
        if all(a >= b for a, b in zip(_size(after, name), least, strict=True))
    )
    return min(
        (price for name in large if (price := catalog.prices.on_demand(name, region)) is not None), default=None
    )


def _size(after: Resolution, name: str) -> tuple[float, ...]:
    return tuple(float(after.catalog.label(name, key) or 0) for key in _SIZE)


def describe_roll(found: Roll) -> list[str]:
    """Return the rollout in short sentences."""
    sentences = []
    if found.gone:
        sentences.append(f"all {counted(found.goes, 'node')} at once: no budget counts where a pool is deleted")
    elif found.first is None:
        sentences.append(f"{counted(found.goes, 'node')}; in which steps is not known")
    elif found.steps is None:
        sentences.append(f"{counted(found.goes, 'node')} drift, and no budget lets one of them go within a week")
    else:
        start = f"{found.first} of {counted(found.goes, 'node')} at once now"
        if not found.first:
            start = f"none of {counted(found.goes, 'node')} now"
            start += f", {found.later} at once later" if found.later else ""
        least, most = found.hours or (0.0, 0.0)
        about = "1 step" if found.steps == 1 else f"about {found.steps} steps"
        sentences.append(f"first step: {start}; the whole: {about}")
        sentences.append(
            f"{_duration(least)} to {_duration(most)} at {MINUTES[0]} to {MINUTES[1]} minutes a step, an assumption, "
            "while budgets are open and nothing blocks"
        )
    for names, what in (
        (found.budgets, "PodDisruptionBudgets that allow no eviction now"),
        (found.do_not_disrupt, f"held by {DO_NOT_DISRUPT}"),
        (found.untolerating, "pods that do not tolerate a new taint, and find no place on the new nodes"),
    ):
        if names:
            sentences.append(f"{what}: {len(names)} ({list_first(names, _NAMES)})")
    if found.untolerating is None:
        sentences.append("which pods and PodDisruptionBudgets block is not known: --live has no pods")
    elif found.budgets is None:
        sentences.append("which PodDisruptionBudgets block is not known: --live has none")
    if found.cost_before is not None:
        money = f"nodes that run now: {_dollars(found.cost_before)} a month on demand"
        if found.cost_after is not None:
            money += f"; with the cheapest types of their size after: {_dollars(found.cost_after)}"
        sentences.append(money)
    return sentences


def _duration(hours: float) -> str:
    if hours < 1:
        return f"{round(hours * 60)} minutes"
    return counted(round(hours), "hour") if hours < 48 else counted(round(hours / 24), "day")


def _dollars(amount: float) -> str:
    return f"${amount:,.0f}"
