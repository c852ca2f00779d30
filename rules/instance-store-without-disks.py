r"""A class sets `instanceStorePolicy`, but its pools can launch no type with local disks.

`RAID0` joins the local NVMe disks of an instance into an array, and the kubelet and containerd use it. A type without
local disks keeps everything on its EBS volume, and the policy silently does nothing. Types with disks have a `d` in
their family (`m6id`, `c7gd`), begin with `i` (`i4i`, `im4gn`), or have accelerators (`g5`, `g6`, `p5`, `trn1`). The
label `karpenter.k8s.aws/instance-local-nvme` shows it, and the rule reads that label. In the values of a chart, the
rule looks at the pool next to the class.

```yaml bad frame=pool+class
spec.template.spec.requirements:
  - {key: kubernetes.io/arch, operator: In, values: [amd64]}
  - {key: karpenter.k8s.aws/instance-family, operator: In, values: [m6i, c6i]}
---
spec.instanceStorePolicy: RAID0
```

```yaml good frame=bad
spec.template.spec.requirements:
  - {key: kubernetes.io/arch, operator: In, values: [amd64]}
  - {key: karpenter.k8s.aws/instance-family, operator: In, values: [m6id, c6id]}
```

The strict profile also reports the opposite: a pool requires local disks, but its class has neither the policy nor
user data. You then pay for disks that nothing uses. If a provisioner of local volumes uses the disks, ignore the
finding.

For Windows and for most `Custom` images, Karpenter passes no policy to the node. The disks stay unused, but Karpenter
plans pods with their size.

```yaml bad frame=class
spec.amiSelectorTerms: [{alias: windows2022@latest}]
spec.instanceStorePolicy: RAID0
```

```yaml good frame=bad
spec.instanceStorePolicy: null
```
"""

import re

from nodelint.api import Also, Context, EC2NodeClass, Finding, Findings, fixes, keys, messages, rule

LINUX = ("AL2023", "AL2", "Bottlerocket")
"""Image families for which Karpenter applies `instanceStorePolicy`."""


@rule(
    on=EC2NodeClass,
    group="hazard",
    gives_way_to=["removed-api"],
    subject="disks",
    source=[
        "provider:pkg/apis/v1/ec2nodeclass.go@v1.14.1:533",
        "provider:pkg/providers/instancetype/types.go@v1.14.1:369",
        "provider:pkg/providers/amifamily/windows.go@v1.14.1:73",
        "provider:pkg/providers/amifamily/bootstrap/custom.go@v1.14.1:28",
    ],
)
def check(node_class: EC2NodeClass, context: Context) -> Findings:
    policy = node_class.instance_store_node
    if policy is None and context.strict:
        yield from _unused(node_class, context)
    if policy is None or policy.value != "RAID0":
        return
    family = context.images(node_class).ami_family
    if family is not None and family.startswith("Windows"):
        yield Finding(
            at=policy,
            message="Karpenter does not pass `RAID0` to Windows nodes: their local disks stay unused",
            note="if a type has local disks, Karpenter still plans pods with their size",
            help="remove `instanceStorePolicy`, and set the size of the root volume in `blockDeviceMappings`",
        )
        return
    if family == "Custom" and _leaves_disks(node_class):
        yield Finding(
            at=policy,
            message="Karpenter does not pass `RAID0` to nodes of family Custom, and `userData` does not prepare "
            "local disks",
            severity="info",
            note="if a type has local disks, Karpenter still plans pods with their size",
            help="remove `instanceStorePolicy` unless the image prepares the disks, or prepare them in `userData`",
        )
        return
    pools = context.pools(node_class) or context.chart_pair(node_class)
    counts = []
    for pool in pools:
        resolution = context.resolution(pool)
        if (pool.partial and not pool.of_values) or fixes.doubts(resolution) or not resolution.candidates:
            return
        if resolution.candidates & context.catalog.having(keys.LOCAL_NVME):
            return
        counts.append(len(resolution.candidates))
    if pools:
        yield Finding(
            at=policy,
            message=f"`RAID0` has no effect: {_describe_lack(sum(counts), len(pools))} local disks",
            also=[
                Also(fixes.place(pool), f"allows {messages.counted(n, 'type')}")
                for pool, n in zip(pools, counts, strict=True)
            ],
            help="allow types with local disks: `karpenter.k8s.aws/instance-local-nvme Gt 0`, for example `m6id`",
        )


def _leaves_disks(node_class: EC2NodeClass) -> bool:
    """Return whether the user data is known and mentions no disks."""
    node = node_class.user_data_node
    script = node.value if node is not None else ""
    if node_class.partial or not isinstance(script, str):
        return False
    return re.search(r"mdadm|nvme|mkfs|lvm|vgcreate|zpool|setup-local-disks", script) is None


def _unused(node_class: EC2NodeClass, context: Context) -> Findings:
    """Yield a finding for local disks that a pool requires, but that neither the class nor user data sets up."""
    spec = node_class.node.get("spec")
    if spec is None or spec.get("userData") is not None or node_class.partial:
        return
    if context.images(node_class).ami_family not in LINUX:
        return
    for pool in context.pools(node_class):
        for line in context.resolution(pool).lines:
            if line.key == keys.LOCAL_NVME and line.requirement and not line.requirement.absent_allowed:
                yield Finding(
                    at=line.at.node,
                    message="the NodePool requires local disks, but nothing on the node uses them",
                    severity="info",
                    strict=True,
                    also=[Also(node_class.name_node, "has neither `instanceStorePolicy` nor `userData`")],
                    note="images, logs and `emptyDir` volumes stay on the EBS volume",
                    help="set `instanceStorePolicy: RAID0`, unless a provisioner of local volumes uses the disks",
                )


def _describe_lack(types: int, pools: int) -> str:
    """Return the start of the message that no instance type has local disks."""
    whose = "the pool" if pools == 1 else "the pools"
    return (
        f"the one instance type of {whose} has no"
        if types == 1
        else f"none of the {types:,} instance types of {whose} has"
    )
