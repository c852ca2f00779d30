r"""A bound on a label of your own that leaves no whole number from 0 on: the controller stops when it picks a value.

Karpenter labels each node with a value for every requirement on a label that is not its own. Where no value is
given, it draws a number between the bounds; where there is none, as for `Lt 0`, the draw fails, and with it the
controller: it restarts, and comes back to the same pool. No validation refuses such a bound.

```yaml bad
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: default
spec:
  template:
    spec:
      nodeClassRef:
        group: karpenter.k8s.aws
        kind: EC2NodeClass
        name: default
      requirements:
        - key: example.com/priority
          operator: Lt
          values: ["0"]
```

```yaml good
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: default
spec:
  template:
    spec:
      nodeClassRef:
        group: karpenter.k8s.aws
        kind: EC2NodeClass
        name: default
      requirements:
        - key: example.com/priority
          operator: Lt
          values: ["10"]
```
"""

from nodelint.api import Context, Finding, Findings, NodePool, RequirementLine, messages, requirement, rule

HOSTNAME = "kubernetes.io/hostname"


@rule(
    on=NodePool,
    group="correctness",
    releases=">=1.9.0",
    gives_way_to=["invalid-field", "refused-combination", "controller-check", "unknown-label", "removed-api"],
)
def check(pool: NodePool, context: Context) -> Findings:
    if pool.partial or not any(line.operator in ("Gt", "Gte", "Lt", "Lte") for line in pool.requirements):
        return
    own = requirement.well_known(context.karpenter) | {HOSTNAME}
    folded = context.resolution(pool).folded
    for asked in folded:
        if asked.key not in own and asked.numbers_to_draw_from == 0:
            line = next(each for each in pool.requirements if _bounds(each, asked.key))
            shown, key = messages.short(f"{line.operator} {line.texts[0]}", 30), messages.short(asked.key, 30)
            yield Finding(
                at=line.values[0].node,
                message=f"`{shown}` of `{key}` allows no number: the controller panics",
                note="Karpenter labels each node with a random number from 0 on that the bounds allow",
            )


def _bounds(line: RequirementLine, key: str) -> bool:
    return (
        isinstance(line.key, str)
        and requirement.normalize(line.key) == key
        and line.operator in ("Gt", "Gte", "Lt", "Lte")
        and bool(line.texts)
    )
