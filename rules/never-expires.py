"""`expireAfter: Never` keeps nodes without a time limit, with the kernel and kubelet that they started with.

By default nodes expire after 720h. With `Never`, Karpenter replaces a node only for drift (a new image, a changed
NodePool or class), for consolidation, or if you delete it. If the image of the pool is pinned, a full node can run
for years, with old certificates, memory leaks and unpatched kernels. `Never` can be right if images change often, or
if stateful work must not be interrupted.

The rule `never-patched` reports pools whose nodes nothing else replaces either. If you change `expireAfter`, you
change the template: Karpenter replaces the pool's nodes, within its budgets.

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
            message="nodes never expire: they keep their kernel and kubelet until Karpenter replaces them for drift",
            once=True,
            edits=edits.if_editable(edits.set_value, node, "720h"),
        )
