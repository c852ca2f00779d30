"""The budgets replace the default of 10 %, but leave some times or reasons without any limit.

If a NodePool has no `budgets`, Karpenter disrupts at most 10 % of its nodes at once. Your own list replaces that
default. If none of its entries is active, there is no limit: after a change of the NodePool or a new image, Karpenter
replaces all nodes of the pool as fast as new nodes start.

- `budgets: []` looks as if no node may be disrupted. It means the opposite: there is no limit.
- If every entry has a `schedule` (in UTC), there is no limit outside of the schedules.
- If every entry has `reasons`, there is no limit for reasons that no entry names.

To close the gap, add a budget without a schedule. The fix adds a budget of 10 % for the reasons without a limit. The
smallest active budget counts. So the fix is unsafe if the new budget also reduces what another budget allows.

```yaml bad frame=pool
spec.disruption:
  consolidationPolicy: WhenEmptyOrUnderutilized
  consolidateAfter: 5m
  budgets:
    - nodes: "0"
      schedule: "0 9 * * mon-fri"
      duration: 8h
```

```yaml bad frame=pool
spec.disruption:
  consolidationPolicy: WhenEmptyOrUnderutilized
  consolidateAfter: 5m
  budgets: []
```
"""

from nodelint.api import EVERY_PROVIDER, Context, Finding, Findings, Node, NodePool, Skip, budgets, edits, rule

REASONS = {"Empty": "consolidation", "Drifted": "drift", "Underutilized": "consolidation"}
HOURS = 24 * 7
BASE = {"nodes": "10%"}


@rule(
    on=NodePool,
    group="hazard",
    fix="safe",
    gives_way_to=["invalid-field", "controller-check", "blocking-budget"],
    providers=EVERY_PROVIDER,
    mentions=["budgets"],
    subject="disruption",
    source=[
        "core:pkg/apis/v1/nodepool.go@v1.14.0:355",
        "core:pkg/apis/v1/nodepool.go@v1.14.0:119",
    ],
)
def check(pool: NodePool, context: Context) -> Findings:
    node = pool.budgets_node
    if node is None or node.kind != "sequence":
        return
    if not node.items:
        base = edits.if_editable(edits.add_item, node, BASE)
        message = "an empty list of budgets sets no limit: Karpenter may replace all nodes at once"
        yield Finding(
            at=node, message=message, edits=base, note="if you remove the field, the limit is 10 % of the nodes"
        )
        return
    if any((item.get("schedule") is None) != (item.get("duration") is None) for item in node.items):
        return  # refused as it is; what the budgets leave open is known once the entry is whole
    open_hours = {reason: _open(pool, reason) for reason in REASONS}
    if None in open_hours.values():
        yield Skip(node, "a budget holds a placeholder")
        return
    without = [reason for reason, hours in open_hours.items() if hours]
    reason = next((reason for reason in ("Drifted", "Underutilized") if reason in without), None)
    if reason is None:
        return
    hours, week = open_hours[reason] or 0, budgets.describe_budget(budgets.typical_week(pool, reason) or ())
    added = BASE if len(without) == len(REASONS) else {**BASE, "reasons": without}
    often = "no budget ever" if hours == HOURS else f"for {hours:.0f} of {HOURS} hours a week no budget"
    what = "disruption" if len(without) == len(REASONS) else REASONS[reason]
    is_open = any(_allows(item, without) for item in node.items)
    yield Finding(
        at=node,
        message=f"{often} limits {what}: Karpenter may replace all nodes at once",
        edits=edits.if_editable(edits.add_item, node, added),
        safety="unsafe" if is_open else None,
        worse=hours == HOURS,
        covers=[entry.value for item in node.items for entry in item.entries],
        note=_describe_windows(node, week, is_open) if hours < HOURS else None,
        help=_HELP if is_open else None,
    )


_HELP = (
    "the smallest active budget counts, so a budget without a schedule also limits the others; to allow "
    "disruption only in a window"
    ', write a budget of `nodes: "0"` for all other times'
)


def _describe_windows(budgets_node: Node, week: str, is_open: bool) -> str:
    """Return a sentence with the number of nodes that the budgets allow over a week.

    If each budget has a schedule, the sentence says that they restrict only within their windows.
    """
    allowed = "" if "times more" in week else f"; a week of these budgets: {week}"
    if is_open and all(item.get("schedule") is not None for item in budgets_node.items):
        return f"a budget with a schedule restricts only while its window is open{allowed}"
    return f"a week of these budgets: {week}"


def _open(pool: NodePool, reason: str) -> float | None:
    """Return the hours of a week in which no budget is active for a reason; None if the budgets are not known."""
    week = budgets.typical_week(pool, reason)
    if week is None:
        return None
    return sum((interval.end - interval.start).total_seconds() for interval in week if not interval.budgets) / 3600


def _allows(budget: Node, reasons: list[str]) -> bool:
    """Return whether a budget allows the disruption of nodes for one of the reasons."""
    own, nodes = budget.get("reasons"), budget.get("nodes")
    acts = own is None or any(item.value in reasons for item in own.items)
    return acts and nodes is not None and str(nodes.value) not in ("0", "0%")
