r"""A bound excludes nothing, because another requirement already excludes the same types.

For example, `instance-memory Gt 1500` excludes no type if `instance-cpu In 4, 8` is also required. Such a bound does
no harm, but it reads as if it decided something. Often it holds a wrong number or unit: memory is in MiB. The rule
does not report a lower bound on the generation, because it also excludes older families that somebody may add later.

```yaml bad frame=pool
spec.template.spec.requirements:
  - {key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m, r]}
  - {key: karpenter.k8s.aws/instance-generation, operator: Gt, values: ["4"]}
  - {key: karpenter.k8s.aws/instance-cpu, operator: In, values: ["4", "8"]}
  - {key: karpenter.k8s.aws/instance-memory, operator: Gt, values: ["1500"]}
```

```yaml good frame=bad
spec.template.spec.requirements:
  - {key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m, r]}
  - {key: karpenter.k8s.aws/instance-generation, operator: Gt, values: ["4"]}
  - {key: karpenter.k8s.aws/instance-cpu, operator: In, values: ["4", "8"]}
```
"""

from nodelint.api import (
    Also,
    Context,
    Finding,
    Findings,
    NodePool,
    fixes,
    keys,
    labels,
    messages,
    requirement,
    resolve,
    rule,
)

BOUNDS = ("Gt", "Lt", "Gte", "Lte")


@rule(
    on=NodePool,
    group="practice",
    severity="info",
    gives_way_to=["no-instance-type", "repeated-requirement", "old-generations", "removed-api"],
    providers=["aws", "auto-mode"],
    subject="requirements",
    source="core:pkg/scheduling/requirement.go@v1.14.0:181",
)
def check(pool: NodePool, context: Context) -> Findings:
    if pool.partial or not any(line.operator in BOUNDS for line in pool.requirements):
        return
    resolution = context.resolution(pool)
    if not resolution.candidates or fixes.doubts(resolution):
        return
    perhaps = fixes.conditional(pool)
    sure = [line for line in resolution.lines if line.known and id(line.node) not in perhaps]
    idle = [line for line in sure if line.operator in BOUNDS and line.without == line.final]
    for line in idle:
        reason = _reason(line, sure, resolution)
        if reason is not None and line.min_values is None and resolution.alive - line.kept:
            yield _finding(line, reason)


def _reason(
    line: resolve.LineEffect, lines: list[resolve.LineEffect], resolution: resolve.Resolution
) -> resolve.LineEffect | None:
    """Return the single other requirement that already excludes the bound's types; None if there is none.

    None for a bound of the generation: `old-generations` asks for such a floor, whatever it excludes today.
    """
    if requirement.normalize(line.key) == keys.GENERATION:
        return None
    excluded = resolution.alive - line.kept
    return next((other for other in lines if other is not line and not other.kept & excluded), None)


def _finding(line: resolve.LineEffect, reason: resolve.LineEffect) -> Finding:
    bound = f"`{labels.name_of(line.key)} {line.operator} {line.values[0]}`"
    shown = f"{labels.name_of(reason.key)} {reason.operator} {', '.join(reason.values)}".strip()
    unit = labels.unit_of(line.key)
    return Finding(
        at=line.at.key_node,
        message=messages.first_fitting(
            f"{bound} excludes nothing that `{messages.short(shown, 40)}` allows",
            f"{bound} excludes nothing that another requirement allows",
        ),
        also=[Also(reason.at.key_node, "already excludes the types that the bound excludes")],
        help=f"remove this requirement, or correct the number{f' ({unit})' if unit is not None else ''}",
    )
