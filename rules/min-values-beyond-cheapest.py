r"""The allowed instance types meet a `minValues`, but the 60 cheapest of them do not, so launches fail.

Karpenter asks EC2 for a node of the 60 cheapest instance types that fit the pods, and counts the values among these
60. If there are fewer than `minValues`, the launch fails: Karpenter deletes the NodeClaim, and the next one fails in
the same way. With the controller's policy `BestEffort` (since 1.6.0) Karpenter launches anyway. Before 1.7.0 the
scheduler itself considers only 60 types, and the pods stay Pending.

The rule sorts by on-demand prices, for small pods. Larger pods have other cheapest types. If the pool allows only
spot, the rule considers twice as many types, because it does not know spot prices.

```yaml bad frame=pool
spec.template.spec.requirements:
  - key: karpenter.k8s.aws/instance-category
    operator: In
    values: ["c", "m", "r"]
  - key: karpenter.k8s.aws/instance-cpu
    operator: Exists
    minValues: 3
  - key: karpenter.sh/capacity-type
    operator: In
    values: ["on-demand"]
```

```yaml good frame=bad
spec.template.spec.requirements:
  - key: karpenter.k8s.aws/instance-category
    operator: In
    values: ["c", "m", "r"]
  - key: karpenter.k8s.aws/instance-family
    operator: Exists
    minValues: 3
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
    RequirementLine,
    Skip,
    TypeSet,
    labels,
    messages,
    resolve,
    rule,
)


@rule(
    on=NodePool,
    group="hazard",
    gives_way_to=["too-few-values", "no-instance-type", "invalid-field", "refused-combination", "removed-api"],
    providers=["aws", "auto-mode"],
    mentions=["minValues"],
    subject="requirements",
    source=[
        "core:pkg/cloudprovider/types.go@v1.14.0:437",
        "provider:pkg/providers/instance/instance.go@v1.14.1:67",
    ],
)
def check(pool: NodePool, context: Context) -> Findings:
    if not any(line.min_values for line in pool.requirements):
        return
    if pool.partial:
        yield Skip(pool.name_node, "the NodePool is only a fragment: its cheapest types are known after rendering")
        return
    resolution = context.resolution(pool)
    if "reserved" in resolution.capacity_types:
        # What is reserved costs next to nothing, and comes first.
        return
    most = resolution.most_launched
    looked_at = most if "on-demand" in resolution.capacity_types else 2 * most
    if len(resolution.candidates) > looked_at:
        yield from _counted(resolution, resolution.cheapest(looked_at), looked_at)


def _counted(resolution: resolve.Resolution, cheapest: TypeSet, looked_at: int) -> Findings:
    most = resolution.most_launched
    for min_values in resolution.min_values:
        line = min_values.line.at
        values = resolution.distinct(min_values.key, cheapest)
        if (
            not min_values.met
            or values is None
            or len(values) >= min_values.wanted
            or not isinstance(line, RequirementLine)
        ):
            continue
        shown = messages.short(", ".join(sorted(values, key=lambda family: (len(family), family))), 24)
        least = f"minValues `{min_values.wanted}` of {labels.name_of(min_values.key)}"
        yield Finding(
            at=line.node.get("minValues") or line.node,
            message=f"{least}: the {looked_at} cheapest types have only {len(values)} ({shown})",
            note=f"Karpenter considers the {most} cheapest instance types that fit",
            help="lower minValues",
        )
