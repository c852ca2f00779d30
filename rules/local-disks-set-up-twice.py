r"""`instanceStorePolicy: RAID0` and the user data both set up the local disks of a node.

With the policy, Karpenter lets the node join its instance store disks into an array for the kubelet and containerd.
If the user data also sets up the disks, whichever comes second finds disks in use. On Bottlerocket, Karpenter has
written an essential bootstrap command since 1.1.0. If a command of the user data runs `ephemeral-storage init` before
it, nodes with local disks do not boot.

The finding says which of the two to remove. Without the policy, Karpenter plans pods with the size of the EBS volume.

```yaml bad frame=class
spec.amiSelectorTerms: [{alias: bottlerocket@v1.46.0}]
spec.instanceStorePolicy: RAID0
spec.userData: |
  [settings.bootstrap-commands.k8s-ephemeral-storage]
  commands = [["apiclient", "ephemeral-storage", "init"]]
  essential = true
  mode = "always"
```

```yaml good frame=bad
spec.userData: null
```

```yaml bad frame=class
spec.instanceStorePolicy: RAID0
spec.userData: |
  #!/bin/bash
  mdadm --create /dev/md0 --level=0 --raid-devices=2 /dev/nvme1n1 /dev/nvme2n1
  mkfs.xfs /dev/md0
```

```yaml good frame=bad
spec.userData: null
```
"""

import re

from nodelint.api import Also, Context, EC2NodeClass, Finding, Findings, releases, rule, userdata

_INIT = re.compile(r"""["']ephemeral-storage["']\s*,\s*["']init["']""")
_ARRAY = re.compile(
    r"(?m)^(?![ \t]*+#)[^\n]{0,500}?\b(mdadm[ \t][^\n]{0,500}?--create|mdadm[ \t]{1,20}-C\b|setup-local-disks)\b"
)
_SINCE = releases.Version(1, 1, 0)


@rule(
    on=EC2NodeClass,
    group="correctness",
    severity="warning",
    gives_way_to=["user-data-family", "user-data-syntax", "instance-store-without-disks", "removed-api"],
    mentions=["instanceStorePolicy"],
    subject="disks",
    source=[
        "provider:pkg/providers/amifamily/bootstrap/bottlerocket.go@v1.14.1:56",
        "https://github.com/kubernetes-sigs/karpenter/issues/2282",
    ],
)
def check(node_class: EC2NodeClass, context: Context) -> Findings:
    policy = node_class.instance_store_node
    data = context.user_data(node_class)
    if policy is None or policy.value != "RAID0" or data is None:
        return
    also = [Also(policy, "also sets up the local disks")]
    storage = data.local_storage()
    if data.family == "Bottlerocket":
        found = _INIT.search(data.text)
        if found is not None and context.karpenter >= _SINCE:
            yield Finding(
                at=data.places.locate(*found.span()),
                message="the user data and `instanceStorePolicy` both set up the local disks: nodes do not boot",
                also=also,
                help="remove the command from the user data: Karpenter writes one of its own since 1.1.0",
            )
    elif storage is not None and storage[0] != "RAID0":
        yield Finding(
            at=data.places.locate(*storage[1:]),
            message=f"`{storage[0]}` and `instanceStorePolicy: RAID0` contradict each other: Karpenter appends RAID0",
            severity="info",
            also=also,
            help="keep one of the two",
        )
    else:
        yield from _by_script(node_class, data, also)


def _by_script(node_class: EC2NodeClass, data: "userdata.UserData", also: list[Also]) -> Findings:
    """Yield a finding for a script that creates a RAID array.

    The rule reports nothing if the class maps several volumes, because the array may be of these.
    """
    mapped = node_class.block_devices_node
    found = _ARRAY.search(data.text)
    if found is None or data.is_windows or (mapped is not None and len(mapped.items) > 1):
        return
    yield Finding(
        at=data.places.locate(*found.span(1)),
        message="the user data and `instanceStorePolicy` both set up the local disks",
        also=also,
        note="the second of the two finds disks that are in use",
        help="remove the commands from the user data, or `instanceStorePolicy`",
    )
