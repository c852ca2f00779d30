r"""A volume of `blockDeviceMappings` does not set `encrypted: true`.

Without `blockDeviceMappings`, Karpenter gives nodes encrypted volumes. (For the family `Custom`, the image decides.)
Your own mapping replaces them. If it does not set `encrypted`, the volume is not encrypted, unless the account
encrypts new volumes in the region by default. Then images, logs, `emptyDir` volumes and Secrets that pods have
mounted are readable on the volume and in its snapshots.

For a volume without `encrypted`, the account's default decides. If `nodelint refresh` has asked for it, the finding
is a warning, or there is none because the account encrypts new volumes. If the default is not known, the finding is
information. A `kmsKeyID` without `encrypted: true` is always an error, because EC2 refuses the launch.

The rule does not judge a volume with a `snapshotID`, which is encrypted if its snapshot is. If you change the
setting, Karpenter replaces the nodes of the class.

```yaml bad frame=class
spec.blockDeviceMappings:
  - deviceName: /dev/xvda
    ebs:
      volumeSize: 100Gi
      volumeType: gp3
```

```yaml bad frame=class
spec.blockDeviceMappings:
  - {deviceName: /dev/xvda, ebs: {volumeSize: 100Gi, encrypted: false}}
```
"""

from nodelint.api import (
    UNKNOWN,
    Also,
    Context,
    EC2NodeClass,
    Finding,
    Findings,
    Missing,
    Severity,
    edits,
    messages,
    rule,
    selectors,
)

PLAIN = "the account does not encrypt new volumes in this region by default"
UNSET = "EC2 encrypts it only if the account encrypts new volumes in this region by default"
REFUSED = 'EC2 answers "the parameter KmsKeyId requires the parameter Encrypted to be set"'
HINT = "Karpenter encrypts its default volumes; your own mapping must set it"


@rule(
    on=EC2NodeClass,
    group="hazard",
    fix="unsafe",
    mentions=["blockDeviceMappings"],
    subject="disks",
    source=[
        "https://docs.aws.amazon.com/ebs/latest/userguide/encryption-by-default.html",
        "https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_EbsBlockDevice.html",
        "provider:pkg/apis/v1/ec2nodeclass.go@v1.14.1:456",
    ],
    cel=(
        "!has(object.spec.blockDeviceMappings) || object.spec.blockDeviceMappings.all(m, !has(m.ebs) || "
        "has(m.ebs.snapshotID) || (has(m.ebs.encrypted) && m.ebs.encrypted))"
    ),
)
def check(node_class: EC2NodeClass, context: Context) -> Findings:
    mappings, by_default = node_class.block_devices_node, _encrypts(node_class, context)
    for mapping in mappings.items if mappings is not None else ():
        ebs, device = mapping.get("ebs"), mapping.get("deviceName")
        if ebs is None or ebs.kind != "mapping" or ebs.get("snapshotID") is not None:
            continue
        named = (
            f"`{messages.short(str(device.value))}`" if device is not None and device.value is not UNKNOWN else "it"
        )
        encrypted, key = ebs.get("encrypted"), ebs.get("kmsKeyID")
        also = [Also(key, "EC2 accepts a key only with `encrypted: true`")] if key is not None else []
        refused = key is not None and key.value not in (None, "", UNKNOWN)
        if encrypted is not None and encrypted.value is False:
            yield Finding(
                at=encrypted,
                message=_refusal(named)
                if refused
                else f"`encrypted: false`: what pods write to {named} is stored unencrypted",
                severity="error" if refused else None,
                edits=edits.if_editable(edits.set_value, encrypted, True),
                also=also,
                note=REFUSED if refused else HINT,
            )
        elif (encrypted is None or (encrypted.kind == "scalar" and encrypted.value is None)) and node_class.shows_all(
            ebs
        ):
            if by_default and not refused:
                continue
            severity: Severity = "error" if refused else "info" if by_default is None else "warning"
            yield Finding(
                at=mapping.key("ebs") or mapping,
                message=_refusal(named)
                if refused
                else f"{'the volume' if named == 'it' else named} does not set `encrypted: true`",
                severity=severity,
                once=severity == "info",
                edits=edits.if_editable(edits.set_value, encrypted, True)
                if encrypted is not None
                else edits.if_editable(edits.add_key, ebs, "encrypted", True),
                also=also,
                note=REFUSED if refused else UNSET if by_default is None else PLAIN,
            )


def _encrypts(node_class: EC2NodeClass, context: Context) -> bool | None:
    """Return whether the account encrypts volumes by default. None if the snapshot does not have this fact."""
    try:
        selectors.check_region(context.pools(node_class), context.facts, "volume-encryption")
        return context.facts.encrypts_volumes
    except Missing:
        return None


def _refusal(named: str) -> str:
    volume = "the volume" if named == "it" else named
    return f"{volume} has a `kmsKeyID` without `encrypted: true`: EC2 refuses the launch"
