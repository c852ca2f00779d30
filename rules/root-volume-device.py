r"""A volume is mapped to another device than the one that nodes of the image family use.

A mapping changes a volume of the image only if it names the device of that volume. Any other name adds an empty disk
that nothing mounts. The root device of AL2 and AL2023 is `/dev/xvda`, of Windows `/dev/sda1`. Bottlerocket has its
system on `/dev/xvda`, and images, logs and pods on `/dev/xvdb`. If you resize only `/dev/xvda`, pods get no more
room. A volume that is not mapped keeps the size of the image, 20 GiB, and Karpenter plans pods with that.

The rule applies to the images of the family itself. If a class has its own `userData`, or a mapping with
`rootVolume: true`, the rule assumes that the class mounts a disk itself. The exception is `/dev/sda1` as the only
volume of AL2 and AL2023. On Bottlerocket, `instanceStorePolicy: RAID0` moves images and pods to the local disks
(since Karpenter 1.1.0), so `/dev/xvdb` can keep its size. The fix replaces the nodes of the class.

```yaml bad frame=class
spec.blockDeviceMappings:
  - deviceName: /dev/sda1
    ebs:
      volumeSize: 100Gi
      encrypted: true
```

```yaml bad frame=class
spec.amiSelectorTerms:
  - alias: bottlerocket@v1.46.0
spec.blockDeviceMappings:
  - deviceName: /dev/xvda
    ebs:
      volumeSize: 100Gi
      encrypted: true
```

```yaml bad frame=class
spec.blockDeviceMappings:
  - deviceName: /dev/xvda
    ebs:
      volumeSize: 50Gi
      encrypted: true
  - deviceName: /dev/xvdb
    ebs:
      volumeSize: 300Gi
      encrypted: true
```

```yaml good frame=bad
spec.blockDeviceMappings:
  - deviceName: /dev/xvda
    ebs:
      volumeSize: 300Gi
      encrypted: true
```
"""

from nodelint.api import (
    Context,
    EC2NodeClass,
    Edit,
    Finding,
    Findings,
    Node,
    edits,
    fixes,
    images,
    keys,
    quantities,
    releases,
    rule,
)

SNAPSHOT = "20Gi"
"""The size of the data volume in a Bottlerocket image. EC2 refuses a smaller volume."""


@rule(
    on=EC2NodeClass,
    group="hazard",
    fix="unsafe",
    mentions=["blockDeviceMappings"],
    subject="disks",
    source=[
        "provider:pkg/providers/amifamily/bottlerocket.go@v1.14.1:198",
        "provider:pkg/providers/amifamily/al2023.go@v1.14.1:106",
        "provider:pkg/providers/instancetype/types.go@v1.14.1:369",
    ],
)
def check(node_class: EC2NodeClass, context: Context) -> Findings:
    mappings = node_class.block_devices_node
    if mappings is None or mappings.kind != "sequence" or not mappings.items or not node_class.shows_all(mappings):
        return
    names = [mapping.get("deviceName") for mapping in mappings.items]
    given = [node.value for node in names if node is not None and isinstance(node.value, str)]
    if len(given) != len(mappings.items):
        return
    found = context.images(node_class)
    if any(item.get("rootVolume") is not None for item in mappings.items):
        yield from _marked_as_root(node_class, mappings, found)
        return
    # With an alias, a placeholder can only be the family of the alias, or `Custom` with the same images.
    family = found.ami_family or (found.boots if found.alias is not None else None)
    devices = images.devices_of(family)
    if family is None or devices is None or not _is_own(found):
        return
    root, data = devices
    last = names[-1]
    assert last is not None
    if (data or root) in given:
        yield from _for_another_family(node_class, mappings, family, devices)
        return
    if data is not None and root in given:
        if _on_local_disks(node_class, context):
            return
        yield Finding(
            at=last,
            message=f"the class maps only `{root}`: pods and container images are on `{data}`, which stays at 20 GiB",
            edits=_added(mappings, given.index(root), data),
            note=f"{family} uses {root} only for its system",
            help=f"map `{data}` with room for images and pods",
        )
    elif data is not None or not (node_class.user_data_node is not None and "sda1" not in given[-1]):
        wanted = data or root
        gib = images.default_gib() if data is not None else images.system_gib(family)
        yield Finding(
            at=last,
            message=f"`{given[-1]}` adds a second disk: the root device of {family} is `{wanted}`",
            edits=edits.if_editable(edits.set_value, last, wanted) if len(given) == 1 else (),
            note=f"the root volume `{wanted}` keeps the {gib} GiB of the image",
            help=f"map `{wanted}`",
        )


def _marked_as_root(node_class: EC2NodeClass, mappings: Node, found: images.ImageSet) -> Findings:
    """Yield a finding for a single volume with `rootVolume: true` whose device is the root device of other image
    families.
    """
    device, marked = mappings.items[0].get("deviceName"), mappings.items[0].get("rootVolume")
    devices = images.devices_of(found.ami_family)
    if (
        len(mappings.items) != 1
        or device is None
        or marked is None
        or marked.value is not True
        or found.alias is None
        or found.ami_family not in ("AL2", "AL2023")
        or devices is None
        or device.value != "/dev/sda1"
        or node_class.user_data_node is not None
    ):
        return
    gib = images.system_gib(found.ami_family)
    yield Finding(
        at=device,
        message="`/dev/sda1` adds a second disk, whatever `rootVolume` says: the root device of "
        f"{found.ami_family} is "
        f"`{devices[0]}`",
        edits=edits.if_editable(edits.set_value, device, devices[0]),
        note=f"the root keeps the image's {gib} GiB, while Karpenter plans pods with this volume's size",
        help=f"map `{devices[0]}`",
    )


def _for_another_family(
    node_class: EC2NodeClass, mappings: Node, family: str, own: tuple[str, str | None]
) -> Findings:
    """Yield a finding for an additional volume on the data device of another image family, if no user data mounts the
    volume.
    """
    if node_class.user_data_node is not None or family.startswith("Windows"):
        return
    if len(mappings.items) > 2:  # more disks than any family has: they are for pods that use them
        return
    for mapping in mappings.items:
        node = mapping.get("deviceName")
        if node is None or not isinstance(node.value, str) or node.value in own:
            continue
        other = next(
            (family for family in images.families() if _data_of(images.ami_family_of(family)) == node.value), None
        )
        if other is not None:
            yield Finding(
                at=node,
                message=f"{family} mounts nothing on `{node.value}`: {images.ami_family_of(other)} uses it",
                help=f"resize `{own[0]}`, which holds pods and images; the extra disk costs money and stays empty",
            )


def _on_local_disks(node_class: EC2NodeClass, context: Context) -> bool:
    """Return whether Bottlerocket keeps images and pods on the local disks of all instance types that the NodePools
    may launch.
    """
    policy = node_class.instance_store_node
    if (
        policy is None
        or policy.value is None
        or not releases.behaves("bottlerocket-instance-store", context.karpenter)
    ):
        return False
    if policy.value != "RAID0":
        return True
    disks = context.catalog.having(keys.LOCAL_NVME)
    pools = [context.resolution(pool) for pool in context.pools(node_class) if not pool.partial]
    return not any(resolution.candidates - disks for resolution in pools if not fixes.doubts(resolution))


def _data_of(family: str) -> str | None:
    devices = images.devices_of(family)
    return devices[1] if devices is not None else None


def _is_own(found: images.ImageSet) -> bool:
    """Return whether all images are those of the class's own family, by alias or by a published name.

    Bottlerocket has no others.
    """
    if found.alias is not None or found.ami_family == "Bottlerocket":
        return True
    return found.complete and all(
        image.family in images.families() and images.ami_family_of(str(image.family)) == found.ami_family
        for image in found.images
    )


def _added(mappings: Node, index: int, device: str) -> list[Edit]:
    """Return edits that add the same volume for another device after the existing one.

    Empty if the volume is too small for an image.
    """
    ebs = mappings.items[index].get("ebs")
    plain = ebs.plain() if ebs is not None else None
    written = ebs.get("volumeSize") if ebs is not None else None
    size = quantities.quantity_of(written) if written is not None else None
    if size is not None and size < quantities.billionths(SNAPSHOT):
        return []
    if not isinstance(plain, dict) or any(not isinstance(value, str | int | bool) for value in plain.values()):
        return []
    return edits.if_editable(edits.insert_items, mappings, index + 1, [{"deviceName": device, "ebs": plain}])
