r"""A volume has a type of an earlier generation: `gp2`, `io1` or `standard`.

A `gp3` volume costs about 20 % less than a `gp2` volume of the same size, and has 3,000 IOPS and 125 MiB/s at any
size. A `gp2` volume below 1,000 GiB reaches that only in bursts. After the burst, 100 GiB have 300 IOPS, which is
slow when a node pulls many images. `io2` is more durable than `io1` at the same price. `standard` is a magnetic disk.

If a mapping has no `volumeType`, Karpenter requests none, and EC2 uses the image's type or `gp2`. The rule does not
judge that. If you change the type, Karpenter replaces the nodes of the class.

```yaml bad frame=class
spec.blockDeviceMappings:
  - deviceName: /dev/xvda
    ebs:
      volumeSize: 100Gi
      volumeType: gp2
      encrypted: true
```
"""

from nodelint.api import Context, EC2NodeClass, Finding, Findings, edits, rule

BETTER = {
    "gp2": ("gp3", "`gp3` costs about 20 % less and needs no burst credits"),
    "io1": ("io2", "`io2` is more durable at the same price"),
    "standard": ("gp3", "`gp3` is an SSD"),
}


@rule(
    on=EC2NodeClass,
    group="practice",
    fix="unsafe",
    mentions=["blockDeviceMappings"],
    subject="disks",
    source=[
        "https://docs.aws.amazon.com/ebs/latest/userguide/ebs-volume-types.html",
        "provider:pkg/apis/v1/ec2nodeclass.go@v1.14.1:456",
    ],
    cel=(
        "!has(object.spec.blockDeviceMappings) || object.spec.blockDeviceMappings.all(m, !has(m.ebs) || "
        "!has(m.ebs.volumeType) || !(m.ebs.volumeType in ['gp2', 'io1', 'standard']))"
    ),
)
def check(node_class: EC2NodeClass, context: Context) -> Findings:
    mappings = node_class.block_devices_node
    for mapping in mappings.items if mappings is not None else ():
        node = mapping.find("ebs", "volumeType")
        if node is not None and isinstance(node.value, str) and node.value in BETTER:
            better, why = BETTER[node.value]
            # With iops a `standard` volume is refused anyway.
            yield Finding(
                at=node,
                message=f"`{node.value}` is a previous generation: {why}",
                edits=edits.if_editable(edits.set_value, node, better),
            )
