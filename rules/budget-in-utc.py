r"""A budget has a schedule for certain hours of the day, and Karpenter reads the schedule in UTC.

The time zone of the cluster or the team does not matter. `0 9 * * mon-fri` for eight hours is 18:00 to 02:00 in Seoul
and 04:00 to 12:00 in New York. Karpenter may then replace nodes in the hours that should be quiet.

If the pool names its zones, the finding shows the local hours. The rule reports nothing if the window begins in the
local morning, or if a comment next to the budgets contains the word `UTC`.

```yaml bad frame=pool
spec.disruption:
  consolidationPolicy: WhenEmptyOrUnderutilized
  consolidateAfter: 5m
  budgets:
    - nodes: "10%"
    - nodes: "0"
      schedule: "0 9 * * mon-fri"
      duration: 8h
spec.template.spec.requirements:
  - {key: topology.kubernetes.io/zone, operator: In, values: [ap-northeast-2a, ap-northeast-2c]}
```

```yaml good frame=bad
spec.disruption.budgets:
  - nodes: "10%"
  - nodes: "0"
    schedule: "0 0 * * mon-fri"  # 09:00-17:00 in Seoul; the schedule is in UTC
    duration: 8h
```
"""

from nodelint.api import (
    EVERY_PROVIDER,
    Context,
    Finding,
    Findings,
    Node,
    NodePool,
    budgets,
    fixes,
    messages,
    rule,
    selectors,
)

MORNING = ("06", "07", "08", "09", "10")
"""Hours of UTC at which a budget window begins if its author probably meant local time."""


@rule(
    on=NodePool,
    group="practice",
    severity="info",
    gives_way_to=["invalid-field", "controller-check", "overlapping-budget-hits", "blocking-budget"],
    providers=EVERY_PROVIDER,
    mentions=["budgets"],
    subject="disruption",
    source=[
        "core:pkg/apis/v1/nodepool.go@v1.14.0:412",
        "core:pkg/apis/v1/nodepool.go@v1.14.0:119",
    ],
)
def check(pool: NodePool, context: Context) -> Findings:
    node = pool.budgets_node
    scheduled = [item for item in node.items if item.get("schedule")] if node is not None else []
    if node is None or not scheduled or _is_thought_of(node):
        return
    for entry in scheduled:
        budget = budgets.of_entry(entry)
        if budget is None or budget.schedule is None or len(budget.schedule.hours) == 24:
            continue
        zones = selectors.region_of_zones(pool)
        region = zones[0] if zones is not None else None
        local = budgets.local_hours(budget, region) if region is not None else None
        if local is not None and local[0][:2] in MORNING:
            continue
        schedule = entry.get("schedule")
        assert schedule is not None
        when = budgets.describe_times(budget, budgets.typical_of(budget))
        there = f"{when} is {local[0]} in {region}" if local is not None else f"active {when}"
        yield Finding(
            at=fixes.visible_node(schedule),
            message=messages.first_fitting(
                f"`{schedule.value}` is in UTC: {there}", f"this schedule is in UTC: {there}"
            ),
            note="an hour later in summer" if local is not None and local[1] else None,
            help="write the hours in UTC, and add a comment with the word UTC",
        )
        return


def _is_thought_of(node: Node) -> bool:
    """Return whether the lines of the budgets, or the five lines above, mention UTC."""
    text = node.source.text
    begin = node.start
    for _ in range(5):
        begin = max(text.rfind("\n", 0, begin), 0)
    end = text.find("\n", node.end)
    return "utc" in text[begin : end if end >= 0 else len(text)].lower()
