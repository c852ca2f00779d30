r"""`blockDeviceMappings` does not map a volume of the image, so the image decides its size and encryption.

Karpenter has its own mappings with encrypted volumes for each image family. A list in the class replaces all of them.
A device that the list does not name keeps the mapping of the image: its size, its volume type, and no encryption
unless the account encrypts by default. On Bottlerocket, a class often maps `/dev/xvdb` but not the system's volume
`/dev/xvda`.

For the family `Custom`, Karpenter has no mappings: if the class has no list, the image decides.

The fix maps the device as Karpenter does by default. Karpenter then replaces the nodes of the class.

```yaml bad frame=class
spec.amiSelectorTerms:
  - alias: bottlerocket@v1.46.0
spec.blockDeviceMappings:
  - deviceName: /dev/xvdb
    ebs:
      volumeSize: 100Gi
      encrypted: true
```
"""

from nodelint.api import Context, EC2NodeClass, Finding, Findings, edits, images, rule


@rule(
    on=EC2NodeClass,
    group="practice",
    severity="info",
    fix="unsafe",
    gives_way_to=["root-volume-device", "controller-check", "invalid-field", "removed-api"],
    subject="disks",
    source=[
        "provider:pkg/apis/v1/ec2nodeclass.go@v1.14.1:456",
        "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/block-device-mapping-concepts.html",
    ],
    cel=(
        "has(object.spec.blockDeviceMappings) && size(object.spec.blockDeviceMappings) > 0 ? "
        "(!((has(object.spec.amiSelectorTerms) && object.spec.amiSelectorTerms.exists(t, has(t.alias) && "
        "!t.alias.startsWith('windows'))) || (has(object.spec.amiFamily) && object.spec.amiFamily in "
        "['AL2', 'AL2023', 'Bottlerocket'])) || object.spec.blockDeviceMappings.exists(m, "
        "has(m.deviceName) && m.deviceName == '/dev/xvda') || object.spec.blockDeviceMappings.exists(m, "
        "!has(m.deviceName))) && (!((has(object.spec.amiSelectorTerms) && "
        "object.spec.amiSelectorTerms.exists(t, has(t.alias) && t.alias.startsWith('windows'))) || "
        "(has(object.spec.amiFamily) && object.spec.amiFamily .startsWith('Windows'))) || "
        "object.spec.blockDeviceMappings.exists(m, has(m.deviceName) && m.deviceName == '/dev/sda1') || "
        "object.spec.blockDeviceMappings.exists(m, !has(m.deviceName))) : "
        "has(object.spec.blockDeviceMappings) || !has(object.spec.amiFamily) || object.spec.amiFamily != "
        "'Custom'"
    ),
)
def check(node_class: EC2NodeClass, context: Context) -> Findings:
    spec = node_class.node.get("spec")
    mappings = spec.get("blockDeviceMappings") if spec is not None else None
    if spec is None or node_class.partial:
        return
    if mappings is None or mappings.kind != "sequence" or not mappings.items:
        field = spec.get("amiFamily")
        if field is not None and node_class.ami_family == "Custom" and mappings is None:
            yield Finding(
                at=field,
                message="Karpenter maps no volumes for the family Custom: the image decides size and encryption",
                note="for other families, Karpenter maps an encrypted volume",
                help="map the root device of the image in `blockDeviceMappings`, with `encrypted: true`",
            )
        return
    names = [mapping.get("deviceName") for mapping in mappings.items]
    given = [node.value for node in names if node is not None and isinstance(node.value, str)]
    family = context.images(node_class).ami_family
    devices = images.devices_of(family)
    if devices is None or len(given) != len(mappings.items) or devices[0] in given:
        return
    root = devices[0]
    gib = images.system_gib(str(family))
    ebs: dict[str, str | bool] = {"volumeSize": f"{gib}Gi", "volumeType": "gp3", "encrypted": True}
    volume: dict[str, str | dict[str, str | bool]] = {"deviceName": root, "ebs": ebs}
    yield Finding(
        at=names[0] or mappings,
        message=f"`{root}`, the system's volume of {family}, is not mapped: the image decides size and encryption",
        edits=edits.if_editable(edits.insert_items, mappings, 0, [volume]),
        note="AWS publishes its images unencrypted; Karpenter's own mappings, which this list replaces, encrypt them",
        help=f"also map `{root}`, with `encrypted: true`",
    )
