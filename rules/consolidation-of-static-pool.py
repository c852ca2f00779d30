r"""A static NodePool has settings for consolidation, although Karpenter never consolidates its nodes.

A NodePool with `replicas` keeps exactly that many nodes. Karpenter ignores its `consolidationPolicy` and
`consolidateAfter`, so empty nodes stay. To have fewer nodes, set `replicas` lower. The rule does not report
`consolidateAfter`, because releases before 1.15 require it in a `disruption` block.

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
            help="remove `consolidationPolicy`; to have fewer nodes, lower `replicas`",
        )
