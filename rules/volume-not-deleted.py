r"""A volume has `deleteOnTermination: false`, so it stays after its node is deleted.

Karpenter replaces nodes often, and no new node reuses a volume of an old one. Each replaced node leaves its volumes:
nobody uses them, they still cost money, and everybody with access can read what pods wrote to them. Put data that
must outlive a node on a PersistentVolume.

The fix replaces the nodes of the class. The volumes of the nodes that run now still stay.

```yaml bad frame=class
spec.blockDeviceMappings:
  - deviceName: /dev/xvda
    ebs:
      volumeSize: 100Gi
      encrypted: true
      deleteOnTermination: false
```
"""

from nodelint.api import Context, EC2NodeClass, Finding, Findings, edits, rule


@rule(
    on=EC2NodeClass,
    group="hazard",
    fix="unsafe",
    gives_way_to=["removed-api"],
    renamed=("kept-volume",),
    mentions=["blockDeviceMappings"],
    subject="disks",
    source=[
        "provider:pkg/apis/v1/ec2nodeclass.go@v1.14.1:456",
        "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/preserving-volumes-on-termination.html",
    ],
    cel=(
        "!has(object.spec.blockDeviceMappings) || object.spec.blockDeviceMappings.all(m, !has(m.ebs) || "
        "!has(m.ebs.deleteOnTermination) || m.ebs.deleteOnTermination)"
    ),
)
def check(node_class: EC2NodeClass, context: Context) -> Findings:
    mappings = node_class.block_devices_node
    for mapping in mappings.items if mappings is not None and mappings.kind == "sequence" else ():
        node = mapping.find("ebs", "deleteOnTermination")
        if node is not None and node.value is False:
            yield Finding(
                at=node,
                message="the volume stays after its node is deleted: each replaced node leaves a volume that "
                "costs money",
                edits=edits.if_editable(edits.set_value, node, True),
                note="no later node uses this volume",
                help="keep data that outlives a node on a PersistentVolume",
            )
