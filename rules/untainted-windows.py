r"""A NodePool of Windows nodes has no taint, so Linux pods that select no operating system run there and fail.

Few Linux workloads select `kubernetes.io/os: linux`. For the scheduler and for Karpenter, they fit a Windows node,
but their containers never start. Add a taint. Let Windows pods tolerate it and select `kubernetes.io/os: windows`.
There is no fix: taints are part of the template, so Karpenter replaces nodes, and pods without a toleration then stay
out.

```yaml bad frame=pool+class
metadata.name: windows
---
spec.amiSelectorTerms: [{alias: windows2022@latest}]
```

```yaml good frame=bad
spec.template.spec.taints: [{key: os, value: windows, effect: NoSchedule}]
```
"""

from nodelint.api import UNKNOWN, Also, Context, Finding, Findings, NodePool, rule


@rule(
    on=NodePool,
    group="hazard",
    gives_way_to=["no-instance-type", "unsupported-alias", "removed-api"],
    subject="pools",
    source="https://kubernetes.io/docs/concepts/windows/user-guide/#taints-and-tolerations",
)
def check(pool: NodePool, context: Context) -> Findings:
    taints = pool.taints_node
    if pool.partial or pool.taints or (taints is not None and (taints.value is UNKNOWN or taints.items)):
        return
    node_class = context.node_class(pool)
    if node_class is None:
        return
    images = context.images(node_class)
    if images.os != "windows":
        return
    yield Finding(
        at=pool.name_node,
        message="the Windows nodes have no taint, so they also get Linux pods that select no operating system",
        also=[Also(images.alias_node, "this selects Windows images")] if images.alias_node is not None else (),
        help="add `taints: [{key: os, value: windows, effect: NoSchedule}]`, and the toleration to Windows pods",
    )
