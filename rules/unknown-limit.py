r"""A key of `spec.limits` that names no resource of a node, so that it limits nothing.

Karpenter compares each limit with the resource of that very name. CPUs are `cpu`, GPUs of NVIDIA `nvidia.com/gpu`.
The API server takes any name, and a limit whose resource no node has is never reached.

```yaml bad frame=pool
spec.limits:
  cores: 500 # a quarter of our quota
  gpu: 4
```
"""

from nodelint.api import Context, Edit, Finding, Findings, NodePool, edits, messages, resolve, rule


@rule(
    on=NodePool,
    group="correctness",
    fix="safe",
    gives_way_to=["unknown-field", "invalid-field", "refused-combination", "removed-api"],
    providers=["aws", "auto-mode"],
    subject="pools",
    source="core:pkg/apis/v1/nodepool.go@v1.14.0:190",
)
def check(pool: NodePool, context: Context) -> Findings:
    limits = list(resolve.limits(pool))
    for limit in limits:
        if resolve.known_resource(limit.resource):
            continue
        near = resolve.meant_resource(limit.resource)
        changes: list[Edit] = []
        if near is not None and all(other.resource != near for other in limits):
            changes = edits.if_editable(edits.set_key, limit.at.key_node, near)
        meant = f", did you mean `{near}`?" if near is not None else ""
        yield Finding(
            at=limit.at.key_node,
            message=f"the limit `{messages.short(limit.resource)}` has no effect: nodes have no such resource{meant}",
            edits=changes,
        )
