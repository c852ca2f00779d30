r"""A dynamic NodePool limits `nodes`, but the target release of Karpenter can launch nodes beyond that limit.

Before 1.11.0 the scheduler does not look at `limits.nodes`. From 1.0 on, Karpenter creates no further node while a
pool has more nodes than the limit, so a dynamic pool can exceed the limit by one node at any time. If many pods wait
at the same time, Karpenter creates all their nodes at once, and the pool can exceed the limit by any number. Until
you upgrade, limit `cpu` or `memory` as well. Static NodePools (`replicas`) stay within `limits.nodes`.

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
    source=[
        "core:pkg/controllers/provisioning/scheduling/scheduler.go@v1.11.0:607",
        "core:pkg/controllers/provisioning/provisioner.go@v1.10.0:420",
    ],
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
        message=f"Karpenter {context.karpenter} can launch more nodes than `limits.nodes` allows in a dynamic pool",
        note="it notices the limit only after the pool has exceeded it; from 1.11.0 on it stops at the limit",
        help="limit `cpu` or `memory` as well, or upgrade to 1.11 or newer",
    )
