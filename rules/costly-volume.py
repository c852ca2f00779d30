r"""A volume has provisioned IOPS or throughput that cost more than most nodes need.

The price of a `gp3` volume includes 3,000 IOPS and 125 MiB/s. You pay for more on each node, for as long as the node
lives. 16,000 IOPS and 1,000 MiB/s cost 100 USD a month in us-east-1, more than many nodes cost themselves. If you
need fast image pulls, local disks with `instanceStorePolicy: RAID0` are faster, and the price of the type includes
them. All prices are those of us-east-1.

```yaml bad frame=class
spec.blockDeviceMappings:
  - deviceName: /dev/xvda
    ebs:
      encrypted: true
      iops: 16000
      throughput: 1000
      volumeSize: 100Gi
      volumeType: gp3
```

```yaml good frame=bad
spec.blockDeviceMappings:
  - deviceName: /dev/xvda
    ebs:
      encrypted: true
      iops: 4000
      throughput: 250
      volumeSize: 100Gi
      volumeType: gp3
```
"""

from nodelint.api import Context, EC2NodeClass, Finding, Findings, Node, fixes, images, rule


@rule(
    on=EC2NodeClass,
    group="practice",
    severity="info",
    gives_way_to=["controller-check", "invalid-field"],
    options={"usd": "USD a month from which on a volume's performance is worth a word"},
    mentions=["blockDeviceMappings"],
    subject="disks",
    source=[
        "https://docs.aws.amazon.com/ebs/latest/userguide/general-purpose.html",
        "https://aws.amazon.com/ebs/pricing/",
    ],
    cel=(
        "!has(object.spec.blockDeviceMappings) || object.spec.blockDeviceMappings.all(m, !has(m.ebs) || "
        "!has(m.ebs.volumeType) || (m.ebs.volumeType == 'gp3' ? (has(m.ebs.iops) && m.ebs.iops > 3000 ? "
        "double(m.ebs.iops - 3000) * 0.005 : 0.0) + (has(m.ebs.throughput) && m.ebs.throughput > 125 ? "
        "double(m.ebs.throughput - 125) * 0.04 : 0.0) < double($usd) : !(m.ebs.volumeType in ['io1', "
        "'io2']) || !has(m.ebs.iops) || double(m.ebs.iops) * 0.065 < double($usd)))"
    ),
)
def check(node_class: EC2NodeClass, context: Context, *, usd: int = 30) -> Findings:
    mappings = node_class.block_devices_node
    for mapping in mappings.items if mappings is not None and mappings.kind == "sequence" else ():
        ebs = mapping.get("ebs")
        kind = ebs.get("volumeType") if ebs is not None else None
        if ebs is None or kind is None or not isinstance(kind.value, str):
            continue
        iops, throughput = _number(ebs.get("iops")), _number(ebs.get("throughput"))
        cost = images.performance_cost(kind.value, iops, throughput)
        if cost is None or cost < usd:
            continue
        shown = " and ".join(
            [f"{iops:,} IOPS"] * (iops > 0) + [f"{throughput:,} MiB/s"] * (throughput > 0 and kind.value == "gp3")
        )
        yield Finding(
            at=fixes.key_of(ebs.get("iops") or ebs.get("throughput") or kind),
            message=f"{shown} of `{kind.value}` cost about ${cost:,.0f} a month on each node",
            help="measure what the nodes need and provision that, or use local disks for images and pods (`RAID0`)",
        )


def _number(node: Node | None) -> int:
    return node.value if node is not None and type(node.value) is int else 0
