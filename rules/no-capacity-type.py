r"""A NodePool has no requirement on the capacity type, so Karpenter tries spot first, and EC2 may reclaim its nodes.

Without a requirement on `karpenter.sh/capacity-type` every type is allowed. Karpenter tries reserved capacity, then
spot, then on-demand. (The Provisioner of the old API used on-demand by default.) State which one you want:
`[spot, on-demand]` for the same behaviour, `[on-demand]` for nodes that must stay.

```yaml bad frame=pool
spec.template.spec.requirements:
  - key: karpenter.k8s.aws/instance-category
    operator: In
    values: ["c", "m", "r"]
```

```yaml good frame=bad
spec.template.spec.requirements:
  - key: karpenter.k8s.aws/instance-category
    operator: In
    values: ["c", "m", "r"]
  - key: karpenter.sh/capacity-type
    operator: In
    values: ["on-demand"]
```
"""

from nodelint.api import (
    Context,
    Finding,
    Findings,
    NodePool,
    Suggestion,
    edits,
    fixes,
    keys,
    pool_requirements,
    resolve,
    rule,
)


@rule(
    on=NodePool,
    group="practice",
    gives_way_to=["no-instance-type", "removed-api", "unknown-label"],
    subject="spot",
    source=[
        "provider:pkg/providers/instance/instance.go@v1.14.1:149",
        "https://karpenter.sh/docs/concepts/nodepools/",
    ],
)
def check(pool: NodePool, context: Context) -> Findings:
    if (
        pool.partial
        or pool.class_ref is None
        or pool_requirements.find_last_requirement(pool, keys.CAPACITY_TYPE) is not None
    ):
        return
    unsure = fixes.doubts(context.resolution(pool), (keys.CAPACITY_TYPE,))
    if any(not isinstance(line.key, str) for line in pool.requirements) or unsure:
        return
    node_class = context.node_class(pool)
    chosen = node_class is not None and "reserved" in resolve.capacity_types(node_class, context.karpenter)
    reserved = "reserved, then " if chosen else ""
    yield Finding(
        at=fixes.place(pool),
        message=f"the NodePool sets no capacity type: Karpenter tries {reserved}spot before on-demand",
        help="require `karpenter.sh/capacity-type In [on-demand]`, or `[spot, on-demand]` to allow both",
        suggestions=_ways(pool),
    )


def _ways(pool: NodePool) -> list[Suggestion]:
    ways = (("launch on-demand capacity only", ("on-demand",)), ("allow spot and on-demand", ("spot", "on-demand")))
    offers = (
        (name, edits.if_editable(fixes.require, pool, [(keys.CAPACITY_TYPE, "In", values)])) for name, values in ways
    )
    return [Suggestion(name, changes) for name, changes in offers if changes]
