r"""A volume with `deleteOnTermination: false`, which stays after its node is deleted.

Karpenter replaces nodes all the time, and no new node takes a volume of an old one. Each leaves its volumes behind:
nobody uses them, they cost as before, and what pods wrote to them stays readable. Data that has to outlive a node
belongs on a PersistentVolume.

The fix replaces the nodes of the class; the volumes of those that run now are left behind even so.

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
                message="the volume stays when its node is gone: each replaced node leaves one behind, and its cost",
                edits=edits.if_editable(edits.set_value, node, True),
                note="no later node uses it",
                help="keep data that outlives a node on a PersistentVolume",
            )
