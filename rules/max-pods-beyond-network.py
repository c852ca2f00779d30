r"""`maxPods` is higher than the network interfaces of some instance types allow without prefix delegation.

Karpenter plans with `maxPods`. The VPC CNI gives each pod an address of the node's interfaces. When no address is
free, pods stay in ContainerCreating. If you use prefix delegation (`ENABLE_PREFIX_DELEGATION` of the VPC CNI), IPv6
or another CNI, there are enough addresses, and you can ignore this rule: the manifests do not show it.

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
            message=f"{len(fewer):,} of {len(carried):,} instance types support fewer pods than maxPods `{most}`: "
            f"`{fewer[0][1]}` supports {fewer[0][0]}",
            note="without prefix delegation, the VPC CNI has no IP address for further pods",
            help="enable prefix delegation in the VPC CNI, or remove maxPods",
        )
