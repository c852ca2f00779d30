r"""A static NodePool has a `limits.nodes` below its `replicas`, so Karpenter never launches the rest of the nodes.

Karpenter launches as many nodes as `replicas` says, up to `limits.nodes`. If both are equal, all nodes run, but
Karpenter cannot replace a drifted node: it would have to start the new node first, beyond the limit. Allow at least
one node more. From 1.15.0 on you can instead turn on the feature gate `TerminateFirstDrift`, which is off by default.

```yaml bad frame=pool
spec.replicas: 5
spec.limits: {nodes: 3}
```

```yaml good frame=bad
spec.limits: {nodes: 6}
```
"""

from nodelint.api import Context, Finding, Findings, NodePool, releases, rule


@rule(
    on=NodePool,
    group="correctness",
    severity="warning",
    releases=">=1.8.0",
    gives_way_to=["invalid-field", "refused-combination", "unknown-limit", "removed-api"],
    mentions=["replicas"],
    subject="pools",
    source=[
        "core:pkg/controllers/static/provisioning/controller.go@v1.14.0:97",
        "core:pkg/controllers/disruption/staticdrift.go@v1.14.0:69",
    ],
    cel=(
        "!has(object.spec.replicas) || object.spec.replicas == 0 || !has(object.spec.limits) || "
        "!('nodes' in object.spec.limits) || !string(object.spec.limits.nodes).matches('^[0-9]+$') || "
        "int(string(object.spec.limits.nodes)) > object.spec.replicas"
    ),
)
def check(pool: NodePool, context: Context) -> Findings:
    replicas, limit = pool.replicas_node, pool.node.find("spec", "limits", "nodes")
    if replicas is None or limit is None or not isinstance(replicas.value, int):
        return
    text = str(limit.value)
    most = int(text) if text.isdigit() else None
    if most is None or most > replicas.value or replicas.value == 0:
        return
    if most < replicas.value:
        yield Finding(
            at=limit,
            message=f"a limit of {most} nodes is below `replicas: {replicas.value}`: Karpenter never launches the "
            "rest",
            help="raise the limit above `replicas`, so that Karpenter can also replace nodes",
        )
    elif not context.settings(pool).gate("TerminateFirstDrift"):
        way = "turn on the feature gate TerminateFirstDrift"
        if context.karpenter < releases.Version(1, 15, 0):
            way = f"upgrade to Karpenter 1.15 and {way}"
        yield Finding(
            at=limit,
            message=f"a limit of {most} nodes equals `replicas`: Karpenter cannot replace a node that drifts",
            severity="info",
            help=f"raise the limit by one or more, or {way}",
        )
