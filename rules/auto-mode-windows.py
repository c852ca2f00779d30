r"""A NodePool of EKS Auto Mode requires Windows, but Auto Mode launches Linux nodes only.

If the pool allows no other operating system, it never launches a node. That is an error. If the pool lists `windows`
together with `linux`, the value has no effect. A requirement on `node.kubernetes.io/windows-build` that Linux nodes
meet has no effect either. Run Windows pods on a managed node group or on a self-managed Karpenter.

```yaml bad frame=pool
spec.template.spec.nodeClassRef: {group: eks.amazonaws.com, kind: NodeClass, name: default}
spec.template.spec.requirements:
  - {key: kubernetes.io/os, operator: In, values: [linux, windows]}
  - {key: kubernetes.io/arch, operator: In, values: [amd64]}
```
"""

from nodelint.api import (
    Context,
    Finding,
    Findings,
    NodePool,
    RequirementLine,
    edits,
    fixes,
    keys,
    pool_requirements,
    rule,
)


@rule(
    on=NodePool,
    group="correctness",
    severity="warning",
    fix="unsafe",
    gives_way_to=["unknown-value", "invalid-field"],
    providers=["auto-mode"],
    subject="instance types",
    source="https://docs.aws.amazon.com/eks/latest/userguide/auto-reference.html",
    cel=(
        "object.spec.template.spec.requirements.all(r, r.key != 'kubernetes.io/os' && r.key != "
        "'beta.kubernetes.io/os' && r.key != 'node.kubernetes.io/windows-build' || (r.key == "
        "'node.kubernetes.io/windows-build' ? r.operator in ['NotIn', 'DoesNotExist'] : !(r.operator == "
        "'NotIn' && 'linux' in r.values) && !(r.operator == 'In' && 'windows' in r.values)))"
    ),
)
def check(pool: NodePool, context: Context) -> Findings:
    for item in pool_requirements.requirements_of(pool):
        if item.key not in (keys.OS, keys.WINDOWS_BUILD) or not item.known:
            continue
        builds = item.key == keys.WINDOWS_BUILD and item.operator not in ("NotIn", "DoesNotExist")
        without = item.operator == "NotIn" and "linux" in item.texts
        listed = item.operator == "In" and "windows" in item.texts
        if builds or (item.key == keys.OS and (without or (listed and "linux" not in item.texts))):
            yield Finding(
                at=item.key_node,
                message="EKS Auto Mode launches Linux nodes only: this NodePool never launches one",
                severity="error",
                help="run Windows pods on a managed node group, or on nodes of a self-managed Karpenter",
            )
        elif item.key == keys.OS and listed:
            value = next(value for value in item.values if value.text == "windows")
            yield Finding(
                at=fixes.visible_node(value.node),
                message="`windows` has no effect: EKS Auto Mode launches Linux nodes only",
                edits=edits.if_editable(fixes.drop, item.at, value) if isinstance(item.at, RequirementLine) else [],
            )
