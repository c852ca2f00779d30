r"""Several NodePools with the same weight fit the same pods, so their names decide which one launches the node.

Karpenter tries NodePools by weight, the highest first. No weight counts as 0. If several pools have the same weight,
it tries the one whose name is last in the alphabet first. A pod goes to the first pool that it fits. If two pools
have the same weight, the same taints and some instance types in common, nobody chose the order, and a new name
changes it: `spot` comes before `on-demand`, `general` before `arm`.

The rule compares pools of one file or folder. It reports nothing if a label, a zone, an architecture or a taint
separates the nodes, because then pods choose. Give the pool that Karpenter should try first a `weight`, or separate
the pools by a taint or a label that pods select.

```yaml bad frame=pool+pool
metadata.name: on-demand
---
metadata.name: spot
spec.template.spec.requirements:
  - {key: kubernetes.io/arch, operator: In, values: [amd64]}
  - {key: karpenter.sh/capacity-type, operator: In, values: [spot]}
```

```yaml good frame=bad
---
spec.weight: 10
```

If one pool allows only flex types and the other one lists them first, the intended order is known. The fix then gives
the flex pool the higher weight.

```yaml bad frame=pool+pool
metadata.name: flex
spec.template.spec.requirements:
  - {key: karpenter.k8s.aws/instance-family, operator: In, values: [c7i-flex]}
---
metadata.name: general
spec.template.spec.requirements:
  - {key: karpenter.k8s.aws/instance-family, operator: In, values: [c7i-flex, c7i, m7i]}
```

The strict profile also reports NodePools that differ only in a label or in their types.

A label of the template is for pods that select it. It excludes no pod: a pod without a selector fits each of these
pools. Their names then decide where the pod starts, and it uses nodes that were meant for others. A taint excludes
pods. A higher `weight` says which pool is for all other pods.

The same is true for pools of different instance types, such as one of `c7i` and one of `r7i`: a pod that selects no
type fits both. The rule does not compare pools of accelerators, nor pools of another architecture, zone or operating
system.

```yaml bad frame=pool+pool
metadata.name: apps
spec.template.metadata.labels: {team: apps}
---
metadata.name: reports
spec.template.metadata.labels: {team: reports}
```

```yaml good frame=bad
---
spec.template.spec.taints: [{key: team, value: reports, effect: NoSchedule}]
```
"""

from nodelint.api import (
    Also,
    Context,
    Edit,
    Finding,
    Findings,
    NodePool,
    RuleCheck,
    edits,
    messages,
    resolve,
    rule,
    run_checks,
)


@rule(
    on=NodePool,
    group="hazard",
    fix="unsafe",
    gives_way_to=["no-instance-type", "duplicate-name", "untainted-weight"],
    providers=["aws", "auto-mode"],
    renamed=("pool-tie", "label-only-pools"),
    subject="pools",
    source=[
        "core:pkg/utils/nodepool/nodepool.go@v1.14.0:161",
        "https://karpenter.sh/docs/concepts/nodepools/",
    ],
)
def check(pool: NodePool, context: Context) -> Findings:
    yield from run_checks(
        pool, context, RuleCheck(_check_tie, severity="info"), RuleCheck(_check_labels, severity="info", strict=True)
    )


_STEP = 10
_HEAVIEST = 100


def _check_tie(pool: NodePool, context: Context) -> Findings:
    own = resolve.taints(pool)
    others = [
        other
        for other in context.cluster_pools(pool)
        if (other.weight or 0) == (pool.weight or 0)
        and str(other.name) > str(pool.name)
        and resolve.taints(other) == own
        and other.replicas_node is None
    ]
    if not others or pool.replicas_node is not None:
        return
    resolution = context.resolution(pool)
    if not resolve.comparable(resolution):
        return
    common = [(other, _common(resolution, context.resolution(other))) for other in others]
    before = sorted(((other, number) for other, number in common if number), key=lambda ranked: str(ranked[0].name))
    if not before:
        return
    first, number = before[-1]
    # The pool that is tried first of all is named, the others are marked.
    weights = f"have weight {pool.weight}" if pool.weight else "have no weight"
    types = messages.counted(number, "instance type")
    name, mine = messages.short(str(first.name), 20), messages.short(str(pool.name), 20)
    flex = _flex(pool, first, context)
    yield Finding(
        at=pool.name_node,
        message=f"`{name}` and `{mine}` share {types} and {weights}: Karpenter tries `{name}` first because of its "
        "name",
        also=[Also(other.name_node, "tried first") for other, _ in reversed(before)],
        edits=_heavier(flex) if flex is not None else [],
        help="set `spec.weight` on the pool to try first, or give one of them a taint or a label that pods select",
    )


def _common(resolution: resolve.Resolution, other: resolve.Resolution) -> int:
    """Return how many instance types both pools can launch with the same labels. 0 if the types of the second pool
    are not known for certain.
    """
    return len(resolve.shared(resolution, other)) if resolve.comparable(other) else 0


def _flex(pool: NodePool, other: NodePool, context: Context) -> NodePool | None:
    """Return the pool of flex types whose fallback is the other pool. None if neither pool is one."""
    resolution, two = context.resolution(pool), context.resolution(other)
    if resolve.flex_before(resolution, two):
        return pool
    return other if resolve.flex_before(two, resolution) else None


def _heavier(pool: NodePool) -> list[Edit]:
    spec, weight = pool.node.get("spec"), pool.weight_node
    if spec is None or (pool.weight or 0) >= _HEAVIEST:
        return []
    try:
        if weight is None:
            return edits.add_key(spec, "weight", _STEP)
        return edits.set_value(weight, min((pool.weight or 0) + _STEP, _HEAVIEST))
    except edits.NotEditable:
        return []


def _check_labels(pool: NodePool, context: Context) -> Findings:
    own = resolve.taints(pool)
    others = [
        other
        for other in context.cluster_pools(pool)
        if (other.weight or 0) == (pool.weight or 0)
        and str(other.name) > str(pool.name)
        and resolve.taints(other) == own
        and not pool.static
        and not other.static
    ]
    if not others or not resolve.comparable(context.resolution(pool)):
        return
    apart = {other: what for other in others if (what := _apart(pool, other, context)) is not None}
    if not apart:
        return
    before = sorted(apart, key=resolve.turn)
    first = messages.short(str(before[-1].name), 30)
    yield Finding(
        at=pool.name_node,
        once=True,
        message=f"pods that select no {apart[before[-1]]} start in `{first}`, which Karpenter tries first because "
        "of its name",
        also=[Also(other.name_node, "tried before this one") for other in reversed(before)],
        help="add a taint to the pools for special pods, and a weight to the pool for all others",
    )


def _apart(pool: NodePool, other: NodePool, context: Context) -> str | None:
    """Return the only difference between the nodes of two pools: "label" or "label or instance type".

    None if the nodes are the same, or differ in more.
    """
    here, there = context.resolution(pool), context.resolution(other)
    if not resolve.comparable(there) or resolve.shared(here, there):
        return None
    if resolve.shared(here, there, own_labels=False):
        return "label"
    devices = resolve.special(here.catalog)
    plain = here.launchable - devices and there.launchable - devices and not here.launchable & there.launchable
    alike = plain and resolve.same_pods(here, there) and tuple(here.arches) == tuple(there.arches)
    return "label or instance type" if alike else None
