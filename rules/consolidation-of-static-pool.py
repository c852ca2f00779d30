r"""Settings for consolidation in a static NodePool, whose nodes Karpenter never consolidates.

A NodePool with `replicas` keeps as many nodes as it says. `consolidationPolicy` and `consolidateAfter` are ignored
there: empty and half empty nodes stay. Set `replicas` lower to have fewer. (`consolidateAfter` has to be given before
1.15 wherever `disruption` is, and is not reported.)

```yaml bad frame=pool karpenter=1.14.1
spec.replicas: 3
spec.disruption:
  consolidationPolicy: WhenEmptyOrUnderutilized
  consolidateAfter: 5m
```

```yaml good frame=bad karpenter=1.14.1
spec.disruption: null
```
"""

from nodelint.api import Context, Finding, Findings, NodePool, fixes, rule


@rule(
    on=NodePool,
    group="practice",
    severity="info",
    releases=">=1.8.0",
    gives_way_to=["invalid-field", "refused-combination", "removed-api"],
    providers=["aws", "auto-mode"],
    mentions=["replicas"],
    subject="disruption",
    source=[
        "core:pkg/controllers/disruption/consolidation.go@v1.14.0:102",
        "core:pkg/apis/v1/nodepool.go@v1.14.0:88",
    ],
)
def check(pool: NodePool, context: Context) -> Findings:
    policy = pool.node.find("spec", "disruption", "consolidationPolicy")
    if pool.static and policy is not None and isinstance(policy.value, str):
        yield Finding(
            at=fixes.key_of(policy),
            message=f"`consolidationPolicy: {policy.value}` has no effect: static pools are not consolidated",
            help="remove it; lower `replicas` to have fewer nodes",
        )
