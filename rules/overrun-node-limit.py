r"""A dynamic NodePool limits `nodes`, but the target release of Karpenter launches nodes beyond that limit.

Before 1.11.0 `limits.nodes` applies only to static NodePools (`replicas`). A dynamic pool launches as many nodes as
its pods need, beyond this limit. Until you upgrade, limit `cpu` or `memory` as well.

```yaml bad frame=pool karpenter=1.8.3
spec.limits: {nodes: 3}
```

```yaml good frame=bad karpenter=1.8.3
spec.limits: {cpu: 48}
```
"""

from nodelint.api import Context, Finding, Findings, NodePool, rule


@rule(
    on=NodePool,
    group="hazard",
    releases="<1.11.0",
    gives_way_to=["invalid-field", "unknown-limit", "removed-api"],
    mentions=["nodes"],
    subject="pools",
    source="core:pkg/controllers/provisioning/scheduling/scheduler.go@v1.11.0:607",
    cel="has(object.spec.replicas) || !has(object.spec.limits) || !('nodes' in object.spec.limits)",
)
def check(pool: NodePool, context: Context) -> Findings:
    limit = pool.node.find("spec", "limits", "nodes")
    if limit is None or pool.static or pool.partial or limit.value is None:
        return
    yield Finding(
        at=limit,
        # Another limit stops the pool, later than was meant.
        severity="info" if len(limit.parent.entries if limit.parent is not None else ()) > 1 else None,
        message=f"Karpenter {context.karpenter} does not enforce `limits.nodes` of a dynamic NodePool",
        note="it launches as many nodes as the pods need; from 1.11.0 on it enforces the limit",
        help="limit `cpu` or `memory` as well, or upgrade to 1.11 or newer",
    )
