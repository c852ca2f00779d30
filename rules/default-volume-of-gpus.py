r"""A class whose nodes have GPUs or accelerators, with the default volume of 20 GiB for their images.

Container images of CUDA, PyTorch or an inference server have 5 to 20 GiB each, and the operating system takes a part
of the volume too. On 20 GiB the kubelet soon sees disk pressure, deletes images and evicts pods. A mapping in
`blockDeviceMappings` makes the volume larger. With `instanceStorePolicy: RAID0`, images and pods are on the local
disks of the types that have some, as most GPU types do.

```yaml bad
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: gpu
spec:
  template:
    spec:
      taints: [{key: nvidia.com/gpu, effect: NoSchedule}]
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: gpu}
      requirements:
        - {key: karpenter.k8s.aws/instance-family, operator: In, values: [g6, g6e]}
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: gpu
spec:
  role: KarpenterNodeRole-main
  amiSelectorTerms: [{alias: al2023@v20250403}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
```

```yaml good
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: gpu
spec:
  template:
    spec:
      taints: [{key: nvidia.com/gpu, effect: NoSchedule}]
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: gpu}
      requirements:
        - {key: karpenter.k8s.aws/instance-family, operator: In, values: [g6, g6e]}
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: gpu
spec:
  role: KarpenterNodeRole-main
  instanceStorePolicy: RAID0
  amiSelectorTerms: [{alias: al2023@v20250403}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
```
"""

from nodelint.api import Context, EC2NodeClass, Finding, Findings, fixes, images, keys, resolve, rule, type_set


@rule(on=EC2NodeClass, group="practice", gives_way_to=["removed-api", "invalid-field", "refused-combination"])
def check(node_class: EC2NodeClass, context: Context) -> Findings:
    spec = node_class.node.get("spec")
    pools = context.pools(node_class)
    if spec is None or node_class.partial or not pools or any(pool.partial for pool in pools):
        return
    if any(spec.get(field) is not None for field in ("blockDeviceMappings", "instanceStorePolicy", "userData")):
        return
    family = context.images(node_class).ami_family
    resolutions = [context.resolution(pool) for pool in pools]
    types = type_set.union(each.candidates for each in resolutions)
    if family is None or images.devices_of(family) is None or family.startswith("Windows"):
        return
    if not types or types - resolve.accelerated(context.catalog) or any(fixes.doubts(each) for each in resolutions):
        return
    disks = len(types & context.catalog.having(keys.LOCAL_NVME))
    note = f"{disks} of {len(types)} instance types have local disks, which stay unused" if disks else None
    yield Finding(
        at=node_class.name_node,
        message="nodes with GPUs or accelerators get the default volume of 20 GiB for images and pods",
        note=note,
        help="map a larger volume" + (", or set `instanceStorePolicy: RAID0`" if disks else ""),
    )
