"""`expireAfter: Never`: a node lives until something else replaces it, with the kernel that it began with.

By default nodes are replaced after 720h. With `Never` a node goes only for drift (a new image, a changed NodePool or
class), for consolidation, or by hand. A full node of a pool whose image is pinned can run for years: certificates,
memory leaks and unpatched kernels get old with it. Where images are moved often, or stateful work must not be
interrupted, that can be right; a careful team decides it once.

`never-patched` is about the cases in which nothing else replaces the nodes either. A change of `expireAfter` is a
change of the template: it replaces the pool's nodes, within its budgets.

```yaml bad frame=pool
spec.template.spec.expireAfter: Never
```
"""

from nodelint.api import Context, Finding, Findings, NodePool, edits, rule


@rule(
    on=NodePool,
    group="practice",
    severity="info",
    fix="unsafe",
    gives_way_to=["never-patched"],
    mentions=["Never"],
    subject="disruption",
    source=[
        "core:pkg/controllers/nodeclaim/expiration/controller.go@v1.14.0:57",
        "https://karpenter.sh/docs/concepts/disruption/",
    ],
    cel="!has(object.spec.template.spec.expireAfter) || object.spec.template.spec.expireAfter != 'Never'",
)
def check(pool: NodePool, context: Context) -> Findings:
    node = pool.find_field("spec", "template", "spec", "expireAfter")
    if node is None or node.kind != "scalar" or node.value != "Never":
        return
    if not context.is_dropped(pool, node):
        yield Finding(
            at=node,
            message="nodes never expire: kernel and kubelet stay as they are until drift replaces the node",
            once=True,
            edits=edits.if_editable(edits.set_value, node, "720h"),
        )
