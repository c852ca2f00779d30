r"""A NodePool without a taint allows categories of GPU or accelerator types together with categories of CPU types.

If a pod asks for a GPU, Karpenter launches a `g` type for it. From then on, any pod of the pool can run on that
node. Pods that need no GPU keep the node busy, and you pay for it even after the last GPU pod is gone. If a zone or
spot capacity has no cheaper type, Karpenter launches a GPU type for ordinary pods as well.

Give GPU types a NodePool of their own with a taint, such as `nvidia.com/gpu`. Then only pods that tolerate the taint
run there. The rule reports nothing if the pool has a taint, or if a requirement excludes the accelerators.

```yaml bad frame=pool
spec.template.spec.requirements:
  - {key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m, g]}
  - {key: karpenter.k8s.aws/instance-generation, operator: Gt, values: ["4"]}
```

```yaml good frame=bad
spec.template.spec.requirements:
  - {key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m]}
  - {key: karpenter.k8s.aws/instance-generation, operator: Gt, values: ["4"]}
```
"""

from nodelint.api import (
    UNKNOWN,
    Context,
    Finding,
    Findings,
    NodePool,
    fixes,
    keys,
    messages,
    pool_requirements,
    resolve,
    rule,
)


@rule(
    on=NodePool,
    group="hazard",
    gives_way_to=["no-instance-type", "unmatchable-value", "invalid-field", "removed-api"],
    providers=["aws", "auto-mode"],
    subject="GPUs",
    source=[
        "https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/",
        "provider:pkg/providers/instancetype/types.go@v1.14.1:163",
    ],
    mentions=["instance-category"],
)
def check(pool: NodePool, context: Context) -> Findings:
    taints = pool.taints_node
    if pool.partial or pool.taints or (taints is not None and (taints.value is UNKNOWN or taints.items)):
        return
    item = pool_requirements.find_last_requirement(pool, keys.CATEGORY)
    if item is None or item.operator != "In" or not item.known or len(item.values) < 2:
        return
    resolution = context.resolution(pool)
    if fixes.doubts(resolution):
        return
    types, accelerated = resolution.candidates, resolve.accelerated(resolution.catalog)
    found = []
    for value in item.values:
        of_category = types & resolution.catalog.having_value(keys.CATEGORY, str(value.text))
        if of_category and not of_category - accelerated:
            found.append(value)
    if not found or not types - accelerated:
        return
    listed = messages.short(", ".join(f"`{value.text}`" for value in found), 40)
    yield Finding(
        at=fixes.visible_node(found[0].node),
        message=f"{listed} and CPU types share a NodePool without a taint: pods that need no GPU fill the GPU nodes",
        covers=[fixes.visible_node(value.node) for value in found],
        help="give accelerators a NodePool of their own with a taint, such as `nvidia.com/gpu`",
    )
