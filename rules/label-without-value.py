"""A custom label is required without a value, so nodes can get a random number as its value.

Karpenter gives each node a label for every key of its NodePool's requirements. Where the requirement leaves the
value open (`Exists`, `NotIn`, a bound), the value comes from the pods that the node is for. Pods that do not ask for
the label get a node whose value is a random number, such as `team: "4087213369024157122"`. Dashboards, cost reports
and selectors that go by the label then show or miss it.

To leave the value to the pods is a documented way to part workloads. It works where every pod that can run in the
pool asks for a value; a taint of the same key, which only such pods tolerate, makes sure of that, and the rule is
silent then. Where the pool is for one value, write it: `operator: In` with the value.

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
            message=f"pods that select no `{messages.short(key)}` get nodes with a random number as its value",
            help="set the values with `In`, or add a taint with the same key",
        )
