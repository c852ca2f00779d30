r"""The root volume has the type `st1` or `sc1`, and EC2 cannot boot from it.

Throughput-optimized and cold volumes are for large, sequential reads and cannot be boot volumes. EC2 refuses each
launch of the class. `gp3` is the cheapest type that boots. Bottlerocket's data volume, which is not the root, may
have these types.

The fix writes `gp3`.

```yaml bad frame=class
spec.blockDeviceMappings:
  - deviceName: /dev/xvda
    ebs: {volumeSize: 500Gi, volumeType: st1, encrypted: true}
```
"""

from nodelint.api import Context, EC2NodeClass, Finding, Findings, edits, images, rule

UNBOOTABLE = ("st1", "sc1")


@rule(
    on=EC2NodeClass,
    group="correctness",
    fix="unsafe",
    gives_way_to=["invalid-field", "removed-api"],
    mentions=["blockDeviceMappings"],
    subject="disks",
    source=["https://docs.aws.amazon.com/ebs/latest/userguide/ebs-volume-types.html"],
    cel=(
        "!has(object.spec.blockDeviceMappings) || object.spec.blockDeviceMappings.all(m, !has(m.ebs) || "
        "!has(m.ebs.volumeType) || !(m.ebs.volumeType in ['st1', 'sc1']) || !has(m.deviceName) || "
        "!((m.deviceName == '/dev/xvda' && ((has(object.spec.amiSelectorTerms) && "
        "object.spec.amiSelectorTerms.exists(t, has(t.alias) && !t.alias.startsWith('windows'))) || "
        "(has(object.spec.amiFamily) && object.spec.amiFamily in ['AL2', 'AL2023', 'Bottlerocket']))) || "
        "(m.deviceName == '/dev/sda1' && ((has(object.spec.amiSelectorTerms) && "
        "object.spec.amiSelectorTerms.exists(t, has(t.alias) && t.alias.startsWith('windows'))) || "
        "(has(object.spec.amiFamily) && object.spec.amiFamily .startsWith('Windows'))))))"
    ),
)
def check(node_class: EC2NodeClass, context: Context) -> Findings:
    mappings = node_class.block_devices_node
    devices = images.devices_of(context.images(node_class).ami_family)
    if mappings is None or devices is None:
        return
    for mapping in mappings.items:
        device, kind = mapping.get("deviceName"), mapping.find("ebs", "volumeType")
        if device is None or kind is None or kind.value not in UNBOOTABLE or device.value != devices[0]:
            continue
        yield Finding(
            at=kind,
            message=f"EC2 cannot boot from a root volume of type `{kind.value}`: no node launches",
            edits=edits.if_editable(edits.set_value, kind, "gp3"),
        )
