r"""A NodePool may use spot capacity of fewer than ten instance types.

EC2 interrupts spot nodes less often if it can choose among more instance types.

If the files turn the feature gate SpotToSpotConsolidation on, which is off by default, Karpenter replaces a spot node
by a cheaper one only if it can choose among at least 15 cheaper instance types. Otherwise EC2 would soon interrupt
the new node. If the pool allows fewer types, Karpenter keeps each node until the node is empty, expires, drifts or
can be merged with others.

```yaml bad frame=pool
spec.template.spec.requirements:
  - key: karpenter.sh/capacity-type
    operator: In
    values: ["spot"]
  - key: karpenter.k8s.aws/instance-family
    operator: In
    values: ["m6i", "m7i"]
  - key: karpenter.k8s.aws/instance-size
    operator: In
    values: ["large", "xlarge", "2xlarge", "4xlarge"]
```

```yaml good frame=bad
spec.template.spec.requirements:
  - key: karpenter.sh/capacity-type
    operator: In
    values: ["spot"]
  - key: karpenter.k8s.aws/instance-family
    operator: In
    values: ["m5", "m5a", "m6a", "m6i", "m7a", "m7i"]
  - key: karpenter.k8s.aws/instance-size
    operator: In
    values: ["large", "xlarge", "2xlarge", "4xlarge"]
```

For EC2, each instance type in each zone has its own spot capacity. EC2 starts instances where most capacity is free.
With more types to choose from, EC2 interrupts nodes less often and a replacement starts sooner. AWS recommends at
least ten types.

```yaml bad frame=pool
spec.template.spec.requirements:
  - {key: karpenter.k8s.aws/instance-family, operator: In, values: [c5, m5]}
  - {key: karpenter.k8s.aws/instance-size, operator: In, values: [large, xlarge]}
```

```yaml good frame=bad
spec.template.spec.requirements:
  - {key: karpenter.k8s.aws/instance-family, operator: In, values: [c5, c6a, c6i, m5, m6a, m6i, r5, r6i]}
  - {key: karpenter.k8s.aws/instance-size, operator: In, values: [large, xlarge]}
```
"""

from functools import partial

from nodelint.api import (
    Context,
    Finding,
    Findings,
    NodePool,
    RuleCheck,
    fixes,
    keys,
    pool_requirements,
    resolve,
    rule,
    run_checks,
)

LEAST = 15


@rule(
    on=NodePool,
    group="practice",
    severity="info",
    gives_way_to=["narrow-spot", "one-instance-type", "no-instance-type", "removed-api"],
    providers=["aws", "auto-mode"],
    renamed=("spot-to-spot-blocked",),
    options={"types": "how many types a pool needs to be interrupted less often"},
    subject="spot",
    source=[
        "core:pkg/controllers/disruption/consolidation.go@v1.14.0:47",
        "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-best-practices.html",
    ],
)
def check(pool: NodePool, context: Context, *, types: int = 10) -> Findings:
    checks = [RuleCheck(partial(_check_interruption, least=types))]
    if context.settings(pool).gate("SpotToSpotConsolidation"):
        checks.insert(0, RuleCheck(_check_consolidation))
    yield from run_checks(pool, context, *checks)


def _check_consolidation(pool: NodePool, context: Context) -> Findings:
    spot = pool_requirements.find_last_requirement(pool, keys.CAPACITY_TYPE)
    policy = pool.node.find("spec", "disruption", "consolidationPolicy")
    static = pool.replicas_node is not None
    if spot is None or static or (policy is not None and policy.value == "WhenEmpty"):
        return
    resolution = context.resolution(pool)
    count = len(resolution.launchable)
    if "spot" not in resolution.capacity_types or not 0 < count < LEAST:
        return
    yield Finding(
        at=pool_requirements.values_at(spot),
        message=f"Karpenter replaces no spot node by a cheaper one: it needs {LEAST} instance types, {count} are "
        "allowed",
        worse=True,
        help=f"allow {LEAST - count} more: the feature gate SpotToSpotConsolidation is on",
    )


def _check_interruption(pool: NodePool, context: Context, least: int) -> Findings:
    narrow = (keys.FAMILY, keys.INSTANCE_TYPE, keys.SIZE, keys.CATEGORY)
    if pool.partial or not any(
        item.key in narrow and item.operator == "In" for item in pool_requirements.requirements_of(pool)
    ):
        return
    resolution = context.resolution(pool)
    count = len(resolution.launchable)
    if "spot" not in resolution.capacity_types or not 2 < count < least:
        return
    if fixes.doubts(resolution) or fixes.doubts(resolution, (keys.CAPACITY_TYPE,)):
        return
    if not resolution.launchable - resolve.accelerated(resolution.catalog):
        return  # there are few of these anyway
    spot = pool_requirements.find_last_requirement(pool, keys.CAPACITY_TYPE)
    yield Finding(
        at=pool_requirements.values_at(spot) if spot is not None else fixes.place(pool),
        once=True,
        message=f"the NodePool allows {count} instance types for spot: with {least} or more, EC2 interrupts nodes "
        "less often",
        help="allow more families, sizes and generations of the same shape",
    )
