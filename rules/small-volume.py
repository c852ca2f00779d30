r"""The volume for container images, logs and pods has 20 GiB or less, or the default size in a class with GPUs.

Container images of CUDA, PyTorch or an inference server have 5 to 20 GiB each, and the operating system uses a part
of the volume as well. With 20 GiB the kubelet soon reports disk pressure, deletes images and evicts pods. Map a
larger volume in `blockDeviceMappings`. With `instanceStorePolicy: RAID0`, images and pods use the local disks of the
types that have some. Most GPU types have local disks.

```yaml bad frame=pool+class
metadata.name: gpu
spec.template.spec.taints: [{key: nvidia.com/gpu, effect: NoSchedule}]
spec.template.spec.nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: gpu}
spec.template.spec.requirements:
  - {key: karpenter.k8s.aws/instance-family, operator: In, values: [g6, g6e]}
---
metadata.name: gpu
```

```yaml good frame=bad
---
spec.instanceStorePolicy: RAID0
```

Volumes of 20 GiB or less are also small for nodes without GPUs. nodelint shows this only if `--select` or
`--extend-select` asks for this rule, because the size of the images is not in the files.

The operating system uses some of the space. At 85 % usage the kubelet begins to delete images. When 15 % are free for
images, or 10 % for the rest, it evicts pods and accepts no new ones. A few images of 2 GiB each are enough for that
on a node with many pods. Karpenter considers the size of the volume only for pods that request `ephemeral-storage`. A
`gp3` volume of 100 GiB costs 8 USD a month in us-east-1.

Without `blockDeviceMappings`, Karpenter maps an encrypted `gp3` volume of 20 GiB. This is enough for nodes with few
CPUs and few pods. The rule does not judge a class with `instanceStorePolicy: RAID0`, which puts images and pods on
local disks, nor a class with further volumes.

```yaml bad frame=class
spec.blockDeviceMappings:
  - deviceName: /dev/xvda
    ebs:
      volumeSize: 20Gi
      encrypted: true
```

```yaml good frame=bad
spec.blockDeviceMappings:
  - deviceName: /dev/xvda
    ebs:
      volumeSize: 100Gi
      encrypted: true
```

```yaml bad frame=pool+class
spec.template.spec.requirements:
  - {key: node.kubernetes.io/instance-type, operator: In, values: [m7i.2xlarge, m7i.4xlarge, m7i.8xlarge]}
---
spec.tags: {team: web}
```

```yaml good frame=bad
spec.template.spec.requirements:
  - {key: node.kubernetes.io/instance-type, operator: In, values: [m7i.large, m7a.large, m7i-flex.large]}
---
spec.tags: {team: web}
```
"""

import re
from functools import partial

from nodelint.api import (
    Context,
    EC2NodeClass,
    Finding,
    Findings,
    Node,
    NodePool,
    RuleCheck,
    fixes,
    images,
    keys,
    messages,
    quantities,
    resolve,
    rule,
    run_checks,
    type_set,
)


@rule(
    on=EC2NodeClass,
    group="practice",
    gives_way_to=["removed-api", "invalid-field", "refused-combination", "root-volume-device", "controller-check"],
    renamed=("default-volume-of-gpus",),
    options={
        "gib": "the largest volume, in GiB, that counts as small",
        "cpus": "the fewest CPUs of the largest instance type of a class",
    },
    subject="disks",
    source=[
        "provider:pkg/providers/amifamily/al2023.go@v1.14.1:99",
        "https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/",
    ],
)
def check(node_class: EC2NodeClass, context: Context, *, gib: int = 20, cpus: int = 8) -> Findings:
    by_size = partial(_check_size, smallest=gib, cpus=cpus)
    checks = RuleCheck(_check_gpus, severity="warning"), RuleCheck(by_size, severity="info", on_request=True)
    yield from run_checks(node_class, context, *checks)


def _check_gpus(node_class: EC2NodeClass, context: Context) -> Findings:
    spec = node_class.node.get("spec")
    pools = context.pools(node_class)
    if spec is None or node_class.partial or not pools or any(pool.partial for pool in pools):
        return
    if any(spec.get(field) is not None for field in ("blockDeviceMappings", "instanceStorePolicy", "userData")):
        return
    family = context.images(node_class).ami_family
    resolutions = [context.resolution(pool) for pool in pools]
    types = type_set.union(resolution.candidates for resolution in resolutions)
    if family is None or images.devices_of(family) is None or family.startswith("Windows"):
        return
    if (
        not types
        or types - resolve.accelerated(context.catalog)
        or any(fixes.doubts(resolution) for resolution in resolutions)
    ):
        return
    disks = len(types & context.catalog.having(keys.LOCAL_NVME))
    note = f"{disks} of {len(types)} instance types have local disks, which stay unused" if disks else None
    yield Finding(
        at=node_class.name_node,
        message="nodes with GPUs or accelerators get the default volume of 20 GiB for images and pods",
        note=note,
        help="map a larger volume" + (", or set `instanceStorePolicy: RAID0`" if disks else ""),
    )


GIB = quantities.billionths("1Gi")
MOUNTS = r"\b(?:mount|mkfs|mdadm|pvcreate|xvd[b-z]|nvme\d)"


def _check_size(node_class: EC2NodeClass, context: Context, smallest: int, cpus: int) -> Findings:
    spec = node_class.node.get("spec")
    if spec is None or spec.get("instanceStorePolicy") is not None or _mounts(spec):
        return
    mappings = spec.get("blockDeviceMappings")
    if mappings is None and not node_class.shows_all(spec):
        return
    family = context.images(node_class).ami_family
    devices = images.devices_of(family)
    if family is None or devices is None or family.startswith("Windows"):
        return
    usual = images.default_gib()
    if mappings is None:
        if usual > smallest or _has_small_types(node_class, context, cpus):
            return
        yield Finding(
            at=node_class.name_node,
            message=f"nodes get the default volume of {usual} GiB for images, logs and pods",
            once=True,
            note="the kubelet deletes images from 85 % on, and evicts pods when the volume is nearly full",
            help="map a larger volume in `blockDeviceMappings`, encrypted",
        )
        return
    size = _size(mappings, devices)
    gib = quantities.quantity_of(size) if size is not None else None
    if size is not None and gib is not None and 0 < gib <= smallest * GIB:
        yield Finding(
            at=size,
            message=f"a volume of {messages.short(str(size.value), 20)} for images, logs and pods is soon full",
            note="the kubelet deletes images from 85 % on, and evicts pods when the volume is nearly full",
            help="use 50 to 100 GiB, depending on the images of the pods",
        )


def _has_small_types(node_class: EC2NodeClass, context: Context, cpus: int) -> bool:
    """Return whether the instance types of the class's NodePools are, or may all be, too small to run many pods."""
    pools = context.pools(node_class)
    if not pools:
        others = [obj for obj in context.objects if isinstance(obj, NodePool)]
        return any(pool.class_ref is not None and not isinstance(pool.class_ref.name, str) for pool in others)
    resolutions = [context.resolution(pool) for pool in pools]
    if any(fixes.doubts(resolution) for resolution in resolutions):
        return True
    types = type_set.union(resolution.candidates for resolution in resolutions)
    allocatable = types.select(context.catalog.resources.column("cpu"))
    # A node keeps a part of its last CPU for itself.
    most = (cpus - 1) * quantities.ONE
    return bool(types) and all(count is not None and quantities.billionths(count) <= most for count in allocatable)


def _mounts(spec: Node) -> bool:
    """Return whether the user data seems to mount other disks."""
    data = spec.get("userData")
    return data is not None and re.search(MOUNTS, data.text) is not None


def _size(mappings: Node, devices: tuple[str, str | None]) -> Node | None:
    """Return the size of the volume for images and pods.

    None if the class maps a device of another kind, or states no size.
    """
    found: dict[object, Node] = {}
    for mapping in mappings.items if mappings.kind == "sequence" else ():
        name, size = mapping.get("deviceName"), mapping.find("ebs", "volumeSize")
        if name is None or name.value not in devices:
            return None
        if size is not None:
            found[name.value] = size
    return found.get(devices[1] or devices[0])
