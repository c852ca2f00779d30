r"""The schedule of a budget starts again before its duration is over, so the budget is active longer than it seems.

A budget is active for its `duration` from each match of its `schedule`. `0 9-17 * * mon-fri` with `duration: 8h`
matches nine times a day, so the budget is active from 09:00 until 01:00 instead of 17:00. A window needs one match,
at its start. `* * * * *` with any duration is always active, like a budget with neither field.

```yaml bad frame=pool
spec.disruption:
  consolidationPolicy: WhenEmptyOrUnderutilized
  consolidateAfter: 5m
  budgets:
    - nodes: "10%"
    - nodes: "0"
      schedule: "0 9-17 * * mon-fri"
      duration: 8h
```

```yaml good frame=bad
spec.disruption.budgets:
  - nodes: "10%"
  - nodes: "0"
    schedule: "0 9 * * mon-fri"
    duration: 8h
```
"""

from nodelint.api import EVERY_PROVIDER, Context, Finding, Findings, NodePool, budgets, fixes, messages, rule


@rule(
    on=NodePool,
    group="hazard",
    gives_way_to=["invalid-field", "controller-check", "blocking-budget"],
    providers=EVERY_PROVIDER,
    mentions=["budgets"],
    subject="disruption",
    source="core:pkg/apis/v1/nodepool.go@v1.14.0:412",
)
def check(pool: NodePool, context: Context) -> Findings:
    node = pool.budgets_node
    for entry in node.items if node is not None and node.kind == "sequence" else ():
        budget = budgets.of_entry(entry) if entry.get("schedule") is not None else None
        if budget is None or not budgets.starts_again(budget):
            continue
        week = budgets.typical_of(budget)
        always = all(stretch.budgets for stretch in week)
        when = "at all times" if always else budgets.describe_times(budget, week)
        schedule, duration = entry.get("schedule"), entry.get("duration")
        assert schedule is not None and duration is not None
        again = f"`{schedule.value}` starts again before its `{duration.value}` are over"
        message = messages.first_fitting(f"{again}: this budget is active {when}", again)
        yield Finding(
            at=fixes.visible_node(schedule),
            message=message,
            note=None if when in message else f"active {when}",
            help="remove `schedule` and `duration`"
            if always
            else "write a schedule that matches once, when the window begins",
        )
