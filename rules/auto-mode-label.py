"""A NodePool of EKS Auto Mode asks for a label of self-managed Karpenter, or for one with a typo in its name.

The labels of instance types are called `eks.amazonaws.com/instance-category` and so on in Auto Mode, and
`karpenter.k8s.aws/instance-category` where Karpenter is one's own. The documents of Auto Mode name only its own, so
that nothing says that a requirement on another picks an instance type. A name in Auto Mode's own domain counts as a
slip where one of the documented labels is close to it.

```yaml bad frame=pool
spec.template.spec.nodeClassRef: {group: eks.amazonaws.com, kind: NodeClass, name: default}
spec.template.spec.requirements:
  - {key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m]}
  - {key: eks.amazonaws.com/instance-generaton, operator: Gt, values: ["4"]}
```
"""

from nodelint.api import Context, Finding, Findings, NodePool, controller, edits, messages, rule


@rule(
    on=NodePool,
    group="hazard",
    fix="unsafe",
    gives_way_to=["invalid-field"],
    providers=["auto-mode"],
    subject="requirements",
    source="https://docs.aws.amazon.com/eks/latest/userguide/create-node-pool.html",
)
def check(pool: NodePool, context: Context) -> Findings:
    keys_of_pool = {line.key for line in pool.requirements}
    for line in pool.requirements:
        meant = controller.auto_mode_label(line.key) if isinstance(line.key, str) else None
        if not isinstance(line.key, str) or meant is None:
            continue
        yield Finding(
            at=line.key_node,
            message=messages.first_fitting(
                f"`{line.key}` is not a label of EKS Auto Mode, use `{meant}`",
                f"no label of EKS Auto Mode: use `{meant}`",
            ),
            edits=edits.if_editable(edits.set_value, line.key_node, meant) if meant not in keys_of_pool else [],
        )
