"""A NodePool has a weight but no taint, so every pod that fits goes there before pools with a lower weight.

A weight does not choose pods. It only decides which pool Karpenter tries first. If a pool for special work (large
nodes, fast disks, on-demand nodes) has a weight but no taint, all other pods use it as well, as far as its limits
allow. If you want that, for example to prefer spot nodes, nothing is wrong. If not, add a taint that only the special
pods tolerate.

If the pool allows only spot or reserved capacity and a pool with a lower weight allows on-demand capacity, the weight
is an order of preference: only `--select` and `--extend-select` show the finding.

The finding names other pools that have a lower weight and no taint. If there are none, the rule usually reports
nothing. The exception is several pools of one weight that pods select by different labels: then other files probably
define the pools with a lower weight.

```yaml bad frame=pool+pool
metadata.name: fast-disks
spec.weight: 50
```

```yaml good frame=bad
spec.template.spec.taints:
  - {key: example.com/fast-disks, effect: NoSchedule}
```

```yaml bad frame=pool+pool+pool
metadata: {name: reserved}
spec.weight: 100
spec.limits: {cpu: 16}
spec.template.metadata: {labels: {intent: reserved}}
spec.template.spec.requirements: [{key: karpenter.k8s.aws/instance-family, operator: In, values: [m7i]}]
---
metadata: {name: saved}
spec.weight: 100
spec.template.spec.taints: [{key: example.com/saved, effect: NoSchedule}]
spec.template.spec.requirements: [{key: karpenter.k8s.aws/instance-family, operator: In, values: [c7i]}]
---
metadata: {name: other}
spec.weight: 100
spec.template.metadata: {labels: {intent: cached}}
spec.template.spec.requirements: [{key: karpenter.k8s.aws/instance-family, operator: In, values: [r7i]}]
```

```yaml good frame=pool
metadata: {name: reserved}
spec.weight: 100
spec.limits: {cpu: 16}
spec.template.metadata: {labels: {intent: reserved}}
spec.template.spec.taints: [{key: example.com/reserved, effect: NoSchedule}]
spec.template.spec.requirements: [{key: karpenter.k8s.aws/instance-family, operator: In, values: [m7i]}]
```
"""

from nodelint.api import UNKNOWN, Also, Context, Finding, Findings, NodePool, messages, resolve, rule


@rule(
    on=NodePool,
    group="practice",
    severity="info",
    providers=["aws", "auto-mode"],
    mentions=["weight"],
    subject="pools",
    source=[
        "core:pkg/utils/nodepool/nodepool.go@v1.14.0:161",
        "https://karpenter.sh/docs/concepts/scheduling/",
    ],
)
def check(pool: NodePool, context: Context) -> Findings:
    node = pool.weight_node
    if node is None or not pool.weight or resolve.taints(pool) != frozenset():
        return
    if tuple(context.resolution(pool).arches) == ("arm64",):
        return  # `untainted-arm64` says which pods start there first
    pools = context.cluster_pools(pool)
    open_to_all = [other for other in pools if not resolve.taints(other)]
    alike = bool(open_to_all) and all(
        other.weight == pool.weight and _selected_apart(pool, other) for other in open_to_all
    )
    if alike and not pool.partial:
        yield Finding(
            at=node,
            message="the pool has a weight but no taint: Karpenter tries it before pools with a lower weight",
            help="if the pool is for special workloads, add a taint; if it is the preferred one, change nothing",
        )
        return
    lighter = sorted(
        (other for other in open_to_all if (other.weight or 0) < pool.weight),
        key=lambda pool: (-(pool.weight or 0), str(pool.name)),
    )
    if lighter:
        names = messages.list_first([f"`{messages.short(str(pool.name), 20)}`" for pool in lighter], 2)
        yield Finding(
            at=node,
            message=f"the pool has a weight but no taint: Karpenter tries it before {names} for every pod",
            once=True,
            on_request=_prefers_cheaper(pool, lighter, context),
            also=[Also(pool.name_node, f"weight {pool.weight or 0}") for pool in lighter],
            help="if the pool is for special workloads, add a taint; if it is the preferred one, change nothing",
        )


def _prefers_cheaper(pool: NodePool, lighter: list[NodePool], context: Context) -> bool:
    """Return whether the weight puts cheaper capacity before the on-demand capacity of another pool."""
    capacity = set(context.resolution(pool).capacity_types)
    return (
        bool(capacity)
        and "on-demand" not in capacity
        and any("on-demand" in context.resolution(other).capacity_types for other in lighter)
    )


def _selected_apart(pool: NodePool, other: NodePool) -> bool:
    """Return whether pods that select a label of one pool never run on the other."""
    own, theirs = (
        {str(label.key): label.value for label in either_pool.template_labels} for either_pool in (pool, other)
    )
    return any(
        theirs.get(key, value) != value for key, value in own.items() if UNKNOWN not in (value, theirs.get(key))
    )
