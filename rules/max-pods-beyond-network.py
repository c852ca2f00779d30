r"""`maxPods` above what the network interfaces of some instance types carry, unless prefixes are delegated.

Karpenter believes `maxPods` and plans with it; the VPC CNI gives each pod an address of the node's interfaces. Where
they run out, pods hang in ContainerCreating. With prefix delegation (`ENABLE_PREFIX_DELEGATION` of the VPC CNI),
with IPv6, or with a CNI of another kind there are enough, and this rule has nothing to tell; that is not part of the
manifests.

```yaml bad frame=pool+class
spec.template.spec.requirements:
  - {key: node.kubernetes.io/instance-type, operator: In, values: [t3.medium, t3.large]}
---
spec.kubelet: {maxPods: 110}
```

```yaml good frame=bad
---
spec.kubelet: {maxPods: 17}
```
"""

from nodelint.api import Context, EC2NodeClass, Finding, Findings, fixes, rule, type_set


@rule(
    on=EC2NodeClass,
    group="practice",
    severity="info",
    gives_way_to=["invalid-field", "unknown-field", "removed-api"],
    mentions=["maxPods"],
    subject="kubelet",
    source=[
        "provider:pkg/providers/instancetype/types.go@v1.14.1:485",
        "https://docs.aws.amazon.com/eks/latest/userguide/choosing-instance-type.html",
    ],
)
def check(node_class: EC2NodeClass, context: Context) -> Findings:
    node = node_class.max_pods_node
    most = node.value if node is not None and node.kind == "scalar" else None
    if node is None or not isinstance(most, int) or isinstance(most, bool):
        return
    resolutions = (context.resolution(pool) for pool in context.pools(node_class))
    types = type_set.union(found.launchable for found in resolutions if not fixes.doubts(found))
    carried = sorted(
        (int(pods), name)
        for name in context.catalog.names_in(types)
        if (pods := context.catalog.resources.amounts(name).get("pods")) is not None
    )
    fewer = [density for density in carried if density[0] < most]
    if fewer:
        yield Finding(
            at=fixes.visible_node(node),
            message=f"maxPods `{most}` is more than {len(fewer):,} of {len(carried):,} instance types support: "
            f"`{fewer[0][1]}` supports {fewer[0][0]}",
            note="without prefix delegation, the VPC CNI has no IP address for further pods",
            help="enable prefix delegation in the VPC CNI, or remove maxPods",
        )
