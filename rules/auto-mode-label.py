"""A NodePool of EKS Auto Mode requires a label of self-managed Karpenter, or a label with a typo in its name.

Auto Mode names its labels `eks.amazonaws.com/instance-category` and so on. Self-managed Karpenter names them
`karpenter.k8s.aws/instance-category`. The documentation of Auto Mode lists only its own labels, so a requirement on
another label is not known to choose an instance type. The rule treats a name in Auto Mode's domain as a typo if it is
close to a documented label.

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
                f"not a label of EKS Auto Mode: use `{meant}`",
            ),
            edits=edits.if_editable(edits.set_value, line.key_node, meant) if meant not in keys_of_pool else [],
        )
