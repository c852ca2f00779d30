"""A requirement on a custom label has no value, so nodes can get a random number as its value.

Karpenter gives each node a label for every key of its NodePool's requirements. If the requirement does not set the
value (`Exists`, `NotIn`, a bound), the value comes from the pods for which Karpenter launches the node. If these pods
do not select the label, the node gets a random number, such as `team: "4087213369024157122"`. Dashboards, cost
reports and selectors that use the label then show or miss it.

Karpenter documents this way to separate workloads. It works if every pod that can run in the pool selects a value. A
taint with the same key, which only such pods tolerate, ensures that, and the rule then reports nothing. If the pool
is for one value, write `operator: In` with that value.

```yaml bad frame=pool
spec.template.spec.requirements:
  - key: kubernetes.io/arch
    operator: In
    values: [amd64]
  - key: example.com/team
    operator: Exists
```

```yaml good frame=bad
spec.template.spec.requirements:
  - key: kubernetes.io/arch
    operator: In
    values: [amd64]
  - key: example.com/team
    operator: In
    values: [payments]
```
"""

from nodelint.api import Context, Finding, Findings, NodePool, messages, pool_requirements, requirement, rule


@rule(
    on=NodePool,
    group="practice",
    severity="info",
    gives_way_to=["unknown-label", "refused-combination"],
    renamed=("made-up-label",),
    subject="requirements",
    source=[
        "core:pkg/scheduling/requirement.go@v1.14.0:256",
        "https://karpenter.sh/docs/concepts/scheduling/",
    ],
)
def check(pool: NodePool, context: Context) -> Findings:
    if pool.partial:
        return
    own: dict[str, list[pool_requirements.PoolRequirement]] = {}
    for item in pool_requirements.requirements_of(pool):
        if requirement.well_known_since(item.key) is None:
            own.setdefault(item.key, []).append(item)
    tainted = {taint.key for taint in pool.taints}
    for key, items in own.items():
        operators = {item.operator for item in items}
        if key in tainted or not operators <= {"Exists", "NotIn", "Gt", "Lt", "Gte", "Lte"}:
            continue  # one of the lines gives a value, or excludes the label
        yield Finding(
            at=items[0].node,
            message=f"pods that do not select `{messages.short(key)}` run on nodes where its value is a random"
            " number",
            help="set the values with `In`, or add a taint with the same key",
        )
