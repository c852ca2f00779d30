r"""User data sets up local disks, but some types have none, or Karpenter does not know of the disks.

With `localStorage` of a NodeConfig, nodeadm mounts the instance store volumes of a node or joins them into an array.
If a type has no such volumes, it does nothing: a pod that expects `/mnt/k8s-disks/0` finds an empty folder on the
root volume. Karpenter does not read the field. With `RAID0` the kubelet keeps its data on the array, but Karpenter
plans pods with the size of the EBS volume. Set `instanceStorePolicy: RAID0` instead: then both use the disks.

```yaml bad frame=pool+class
spec.template.spec.requirements:
  - {key: kubernetes.io/arch, operator: In, values: [amd64]}
  - {key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m, r]}
---
spec.userData: |
  apiVersion: node.eks.aws/v1alpha1
  kind: NodeConfig
  spec:
    instance:
      localStorage:
        strategy: Mount
```

```yaml good frame=bad
spec.template.spec.requirements:
  - {key: kubernetes.io/arch, operator: In, values: [amd64]}
  - {key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m, r]}
  - {key: karpenter.k8s.aws/instance-local-nvme, operator: Gt, values: ["0"]}
```

```yaml bad frame=pool+class
---
spec.userData: |
  apiVersion: node.eks.aws/v1alpha1
  kind: NodeConfig
  spec:
    instance:
      localStorage:
        strategy: RAID0
```

```yaml good frame=bad
---
spec.instanceStorePolicy: RAID0
spec.userData: null
```
"""

from nodelint.api import Also, Context, EC2NodeClass, Finding, Findings, fixes, keys, rule


@rule(
    on=EC2NodeClass,
    group="practice",
    severity="info",
    gives_way_to=["user-data-family", "user-data-syntax", "instance-store-without-disks", "removed-api"],
    mentions=["userData"],
    subject="disks",
    source=[
        "provider:pkg/providers/instancetype/types.go@v1.14.1:369",
        "https://karpenter.sh/docs/concepts/nodeclasses/",
    ],
)
def check(node_class: EC2NodeClass, context: Context) -> Findings:
    data = context.user_data(node_class)
    found = data.local_storage() if data is not None else None
    if data is None or found is None:
        return
    strategy, start, end = found
    at = data.places.locate(start, end)
    if strategy != "Mount" and node_class.instance_store_node is None:
        yield Finding(
            at=at,
            severity="warning",
            message=f"Karpenter does not read `{strategy}`: it plans pods with the size of the EBS volume",
            help="set `instanceStorePolicy: RAID0`: Karpenter and the node then use the disks",
        )
        return
    for pool in context.pools(node_class):
        resolution = context.resolution(pool)
        types = resolution.candidates
        without = types - context.catalog.having(keys.LOCAL_NVME)
        if without and not pool.partial and not fixes.doubts(resolution):
            yield Finding(
                at=at,
                message=f"{len(without):,} of {len(types):,} instance types have no local disks for `{strategy}`",
                worse=len(without) == len(types),
                also=[Also(fixes.place(pool), "allows them")],
                help="require `karpenter.k8s.aws/instance-local-nvme Gt 0`",
            )
            return
