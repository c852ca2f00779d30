"""Nodes expire, and nothing ends the wait for a pod that may not be evicted.

From Karpenter 1.0 on a node that reaches its `expireAfter` is drained at once, whatever the disruption budgets say.
The drain waits for every pod: for a PodDisruptionBudget that allows nothing, and for pods with
`karpenter.sh/do-not-disrupt`. Without `terminationGracePeriod` it waits for as long as they stay. The node takes no
new pods meanwhile, is paid for, and keeps its old image.

With `terminationGracePeriod: 24h` such pods are deleted in time, and the node goes. That can cost work that runs
longer, so only the owner of the workloads can say how long is enough. The field is part of the template: setting it
replaces the pool's nodes, within its budgets.

```yaml bad frame=pool
spec.template.spec.expireAfter: 336h
```

```yaml good frame=bad
spec.template.spec.terminationGracePeriod: 24h
```
"""

from nodelint.api import Context, Finding, Findings, NodePool, controller, manifest, rule

TEMPLATE = ("spec", "template", "spec")


@rule(
    on=NodePool,
    group="practice",
    severity="info",
    subject="disruption",
    source=[
        "core:pkg/apis/v1/nodeclaim.go@v1.14.0:73",
        "https://karpenter.sh/docs/concepts/disruption/",
    ],
)
def check(pool: NodePool, context: Context) -> Findings:
    if pool.node.find(*TEMPLATE) is None or pool.partial:
        return
    if pool.find_field(*TEMPLATE, "terminationGracePeriod") is not None:
        return
    node = pool.find_field(*TEMPLATE, "expireAfter")
    written = manifest.text(node)
    absent = node is None or node.value is None
    if not absent and (not isinstance(written, str) or controller.seconds(written) is None):
        return  # Never, a placeholder, or what the schema refuses
    yield Finding(
        at=pool.name_node if absent or node is None else node,
        message=f"nodes expire after {'720h (default)' if absent else f'`{written}`'}, but a drain has no time limit",
        once=True,
        note="a pod that must not be evicted keeps its node forever",
        help="set `terminationGracePeriod`, for example to 24h"
        if pool.version == "v1"
        else "write the object as v1, and set `terminationGracePeriod`, for example to 24h",
    )
