"""A NodePool has two requirements on the same key, and one of them adds nothing.

Karpenter launches types that meet every requirement. A requirement that says the same as another one, or less, has no
effect. It misleads whoever changes the other one.

```yaml bad frame=pool
spec.template.spec.requirements:
  - {key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m, r]}
  - {key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m, r]}
  - {key: kubernetes.io/arch, operator: In, values: [amd64]}
```
"""

from nodelint.api import Also, Context, Finding, Findings, NodePool, RequirementLine, edits, labels, requirement, rule


@rule(
    on=NodePool,
    group="practice",
    severity="info",
    fix="safe",
    gives_way_to=["no-instance-type", "refused-combination", "invalid-field", "removed-api"],
    providers=["aws", "auto-mode"],
    subject="requirements",
    source="core:pkg/scheduling/requirement.go@v1.14.0:181",
)
def check(pool: NodePool, context: Context) -> Findings:
    known = [line for line in pool.requirements if isinstance(line.key, str) and line.known]
    for index, line in enumerate(known):
        twin = next((other for other in known[:index] if _are_equal(other, line)), None)
        if twin is not None:
            yield Finding(
                at=line.key_node,
                message=f"this requirement on {labels.name_of(str(line.key))} adds nothing to another requirement",
                also=[Also(twin.key_node, "this requirement already covers it")],
                edits=edits.if_editable(edits.remove, line.node),
                help="remove this requirement: the pool launches the same nodes",
            )


def _are_equal(line: RequirementLine, other: RequirementLine) -> bool:
    """Return whether two requirements are the same: the same key, operator, values and minValues."""
    return (
        requirement.normalize(str(line.key)) == requirement.normalize(str(other.key))
        and line.operator == other.operator
        and set(line.texts) == set(other.texts)
        and _least(line) == _least(other)
    )


def _least(line: RequirementLine) -> object:
    node = line.node.get("minValues")
    return node.value if node is not None else None
