r"""A budget whose schedule starts again before its duration is over, so that it is in force for longer than it says.

A budget is in force for its `duration` from each hit of its `schedule`. `0 9-17 * * mon-fri` with `duration: 8h` hits
nine times a day: what was meant as 9 to 17 o'clock lasts until one in the morning. A window needs one hit, at its
start. `* * * * *` with any duration is in force at all times, as is a budget with neither field.

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
        message = messages.first_fitting(f"{again}: this budget is in force {when}", again)
        yield Finding(
            at=fixes.visible_node(schedule),
            message=message,
            note=None if when in message else f"in force {when}",
            help="leave out `schedule` and `duration`"
            if always
            else "let the schedule match once, when the window begins",
        )
