r"""A lower bound on memory or bandwidth is so small that it was probably meant in GiB or Gbit/s.

For example, `instance-memory Gt 32` means more than 32 MiB. Karpenter counts `instance-memory` and
`instance-gpu-memory` in MiB, and `instance-network-bandwidth` and `instance-ebs-bandwidth` in Mbit/s. A bound in the
larger unit excludes nothing, so the pool launches the small types that it should exclude. The rule reports bounds
below 512 MiB of memory, below 1,024 MiB of GPU memory, and of 100 Mbit/s or less, if no instance type is that small.

The fix writes the bound in Karpenter's unit. It is unsafe because Karpenter replaces running nodes that do not meet
the bound.

```yaml bad frame=pool
spec.template.spec.requirements:
  - {key: kubernetes.io/arch, operator: In, values: [amd64]}
  - {key: karpenter.k8s.aws/instance-memory, operator: Gt, values: ["32"]}
```

```yaml bad frame=pool
spec.template.spec.requirements:
  - {key: kubernetes.io/arch, operator: In, values: [amd64]}
  - {key: karpenter.k8s.aws/instance-network-bandwidth, operator: Gt, values: ["10"]}
```
"""

from nodelint.api import Context, Finding, Findings, NodePool, edits, fixes, labels, rule

UNITS = {
    "karpenter.k8s.aws/instance-memory": (512, 1024, "MiB", "GiB"),
    "karpenter.k8s.aws/instance-gpu-memory": (1024, 1024, "MiB", "GiB"),
    "karpenter.k8s.aws/instance-network-bandwidth": (101, 1000, "Mbit/s", "Gbit/s"),
    "karpenter.k8s.aws/instance-ebs-bandwidth": (101, 1000, "Mbit/s", "Gbit/s"),
}
"""By label: the bound from which on a value is plausible, the factor between the two units, and the smaller and the
larger unit.
"""


@rule(
    on=NodePool,
    group="hazard",
    fix="unsafe",
    gives_way_to=["no-instance-type", "invalid-field", "removed-api"],
    mentions=["instance-memory", "instance-gpu-memory", "bandwidth"],
    subject="requirements",
    source=["provider:pkg/providers/instancetype/types.go@v1.14.1:200"],
)
def check(pool: NodePool, context: Context) -> Findings:
    for line in pool.requirements:
        if line.key not in UNITS or line.operator not in ("Gt", "Gte") or len(line.texts) != 1:
            continue
        least, factor, unit, larger = UNITS[str(line.key)]
        text = line.texts[0]
        if not text.isdigit() or not 0 < int(text) < least or _excludes(str(line.key), int(text), context):
            continue
        changed = str(int(text) * factor)
        name = labels.name_of(str(line.key))
        yield Finding(
            at=fixes.visible_node(line.values[0].node),
            message=f"{name} is in {unit}: `{line.operator} {text}` excludes no instance type",
            edits=edits.if_editable(edits.set_value, line.values[0].node, changed),
            help=f"if you mean {text} {larger}, write {changed}",
        )


def _excludes(key: str, bound: int, context: Context) -> bool:
    """Return whether the bound excludes an instance type: one with the label has a value that is not above it."""
    values = context.catalog.values(key)
    return any(value.isdigit() and int(value) <= bound for value in values if value)
