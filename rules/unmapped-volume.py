r"""A volume of the image that `blockDeviceMappings` leaves out: size and encryption are those of the image.

Karpenter has mappings of its own for each image family, with encrypted volumes. A list in the class takes the place
of all of them. A device that the list does not name keeps the mapping of the image: its size and volume type, and no
encryption unless the account encrypts by default. On Bottlerocket it is mostly the system's volume `/dev/xvda` that
is forgotten next to `/dev/xvdb`.

The family `Custom` has no mappings of its own: a class without a list takes what the image says.

The fix maps the device as Karpenter does by default. It replaces the nodes of the class.

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
                message="the family Custom maps no volumes: size and encryption are those of the image",
                note="for other families Karpenter maps an encrypted volume",
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
        help=f"map `{root}` too, with `encrypted: true`",
    )
