r"""A NodePool that takes spot capacity from fewer than 15 instance types.

Spot capacity is a pool of its own for each instance type and zone. EC2 starts instances where there is most to spare,
so that with more types to choose from nodes are interrupted less often, and a replacement is found sooner. AWS
advises to be flexible across at least ten types. With 15 and more, Karpenter can also move spot nodes to cheaper ones
(see `spot-to-spot-blocked`, which speaks of pools whose policy replaces underutilized nodes).

```yaml bad
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: default
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: karpenter.k8s.aws/instance-family, operator: In, values: [c5, m5]}
        - {key: karpenter.k8s.aws/instance-size, operator: In, values: [large, xlarge]}
  disruption: {consolidationPolicy: WhenEmpty, consolidateAfter: 5m}
```

```yaml good
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: default
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: karpenter.k8s.aws/instance-family, operator: In, values: [c5, c6a, c6i, m5, m6a, m6i, r5, r6i]}
        - {key: karpenter.k8s.aws/instance-size, operator: In, values: [large, xlarge]}
  disruption: {consolidationPolicy: WhenEmpty, consolidateAfter: 5m}
```
"""

from nodelint.api import Context, Finding, Findings, NodePool, fixes, keys, labels, resolve, rule

LEAST = 15


@rule(
    on=NodePool,
    group="practice",
    severity="info",
    gives_way_to=["no-instance-type", "narrow-spot", "one-instance-type", "spot-to-spot-blocked", "removed-api"],
    providers=["aws", "auto-mode"],
)
def check(pool: NodePool, context: Context) -> Findings:
    narrow = (keys.FAMILY, keys.INSTANCE_TYPE, keys.SIZE, keys.CATEGORY)
    if pool.partial or not any(item.key in narrow and item.operator == "In" for item in labels.asked(pool)):
        return
    resolution = context.resolution(pool)
    count = len(resolution.launchable)
    if "spot" not in resolution.capacity_types or not 2 < count < LEAST or fixes.doubts(resolution):
        return
    if not resolution.launchable - resolve.accelerated(resolution.catalog):
        return  # there are few of these anyway
    spot = labels.last_asking(pool, keys.CAPACITY_TYPE)
    yield Finding(
        at=labels.values_at(spot) if spot is not None else fixes.place(pool),
        message=f"spot capacity of {count} instance types: with {LEAST} and more, nodes are taken back less often",
        help="allow more families, sizes and generations of the same shape",
    )
