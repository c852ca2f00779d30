"""A list that names types or families on the Xen hypervisor, ten and more years old.

`t2`, `m4`, `c4` and `r4` cost more than their successors for less, have no NVMe disks and older drivers, carry fewer
pods, and some lack ENA. AWS retires them region by region. `t3a`, `m7i` or `m7g` do the same for less.

```yaml bad
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: default
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: kubernetes.io/arch, operator: In, values: [amd64]}
        - {key: karpenter.k8s.aws/instance-family, operator: In, values: [t2, t3, t3a]}
```

```yaml good
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: default
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: kubernetes.io/arch, operator: In, values: [amd64]}
        - {key: karpenter.k8s.aws/instance-family, operator: In, values: [t3, t3a]}
```
"""

from nodelint.api import Context, Finding, Findings, NodePool, fixes, keys, labels, messages, rule


@rule(
    on=NodePool,
    group="practice",
    severity="info",
    gives_way_to=["no-instance-type", "unmatchable-value", "no-generation-floor", "removed-api"],
    providers=["aws", "auto-mode"],
)
def check(pool: NodePool, context: Context) -> Findings:
    for item in labels.asked(pool):
        if item.key not in (keys.FAMILY, keys.INSTANCE_TYPE) or item.operator != "In":
            continue
        xen, known = context.catalog.having_value(keys.HYPERVISOR, "xen"), context.catalog.values(item.key)
        old = [value for value in item.values if value.text in known and not known[str(value.text)] - xen]
        if old:
            names = ", ".join(f"`{value.text}`" for value in old[:4]) + (
                f" and {len(old) - 4} more" if old[4:] else ""
            )
            run = f"{names} runs on Xen" if len(old) == 1 else f"{names} run on Xen"
            slower = "slower for its price than its" if len(old) == 1 else "slower for their price than their"
            yield Finding(
                at=fixes.seen(old[0].node),
                message=messages.first_fitting(f"{run}: {slower} successors", run),
                covers=[value.node for value in old],
                help="take families of generation 5 and newer (`t3` and newer)",
            )
