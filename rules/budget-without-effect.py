r"""A budget has no effect, because another budget that is active at the same times allows as few nodes or fewer.

For each reason, the smallest active budget counts. A budget with a schedule does not replace a budget without one. If
`nodes: "0"` applies at all hours, then `nodes: "30%"` for two hours of the night allows nothing at night. To allow
more at certain hours, give the smaller budget a `schedule` for all the other hours.

The rule compares budgets for pools of any size. For example, `1` is never more than `10%`, because Karpenter rounds a
percentage up. If a budget says the same as another one, or allows more, you can remove it. If it was meant to allow
more, only its author knows which of the two to change.

```yaml bad frame=pool
spec.disruption:
  consolidationPolicy: WhenEmptyOrUnderutilized
  consolidateAfter: 5m
  budgets:
    - nodes: "1"
    - nodes: "50%"
      schedule: "0 2 * * *"
      duration: 2h
```

```yaml good frame=bad
spec.disruption.budgets:
  - nodes: "1"
    schedule: "0 4 * * *"
    duration: 22h
  - nodes: "50%"
    schedule: "0 2 * * *"
    duration: 2h
```

```yaml bad frame=pool
spec.disruption:
  consolidationPolicy: WhenEmptyOrUnderutilized
  consolidateAfter: 5m
  budgets:
    - nodes: "1"
    - nodes: "1"
      schedule: "0 9 * * mon-fri"
      duration: 8h
```

The rule also reports a budget for reasons that never apply to the NodePool: `Underutilized` if the policy is
`WhenEmpty`, and both reasons of consolidation if `consolidateAfter` is `Never` or the pool is static.

```yaml bad frame=pool
spec.disruption:
  consolidationPolicy: WhenEmpty
  consolidateAfter: 5m
  budgets:
    - nodes: "20%"
    - {nodes: "0", reasons: [Underutilized]}
```

```yaml good frame=bad
spec.disruption.budgets:
  - nodes: "20%"
  - {nodes: "0", reasons: [Empty]}
```
"""

from nodelint.api import (
    EVERY_PROVIDER,
    Also,
    Context,
    Finding,
    Findings,
    NodePool,
    RuleCheck,
    budgets,
    edits,
    fixes,
    rule,
    run_checks,
)


@rule(
    on=NodePool,
    group="hazard",
    fix="safe",
    gives_way_to=["invalid-field", "controller-check", "refused-combination", "blocking-budget"],
    providers=EVERY_PROVIDER,
    mentions=["budgets"],
    subject="disruption",
    source=[
        "core:pkg/apis/v1/nodepool.go@v1.14.0:355",
        "core:pkg/controllers/disruption/consolidation.go@v1.14.0:102",
        "core:pkg/controllers/disruption/emptiness.go@v1.14.0:43",
    ],
)
def check(pool: NodePool, context: Context) -> Findings:
    yield from run_checks(pool, context, RuleCheck(_check_reasons, severity="info"), RuleCheck(_check_smaller))


CONSOLIDATION: tuple[str, ...] = ("Empty", "Underutilized")


def _check_reasons(pool: NodePool, context: Context) -> Findings:
    """Yield a finding for each budget whose reasons never come up."""
    disruption = pool.node.find("spec", "disruption")
    field = disruption.get("budgets") if disruption is not None else None
    if disruption is None or field is None or field.kind != "sequence" or pool.partial:
        return
    after, policy = disruption.get("consolidateAfter"), disruption.get("consolidationPolicy")
    if pool.static:
        never, why = CONSOLIDATION, "nodes of a static NodePool are not consolidated"
    elif after is not None and after.value == "Never":
        never, why = CONSOLIDATION, "`consolidateAfter` is `Never`"
    elif policy is not None and policy.value == "WhenEmpty":
        never, why = ("Underutilized",), "`consolidationPolicy` is `WhenEmpty`"
    else:
        return
    for budget in field.items:
        reasons = budget.get("reasons")
        if reasons is None or reasons.kind != "sequence" or not reasons.items:
            continue
        if all(item.value in never for item in reasons.items):
            named = " and ".join(f"`{item.value}`" for item in reasons.items)
            yield Finding(
                at=reasons,
                message=f"this budget is for {named}, which never happens in this NodePool: {why}",
                covers=[budget],
                help="remove the budget, or name other reasons",
            )


def _check_smaller(pool: NodePool, context: Context) -> Findings:
    node = pool.budgets_node
    if node is None or node.kind != "sequence" or len(node.items) < 2:
        return
    perhaps = fixes.conditional_items(pool, "spec", "disruption", "budgets")
    for idle in budgets.without_effect(node, perhaps, context.karpenter):
        entry, by = idle.entry, idle.smaller
        written = entry.get("nodes") or entry
        other = by.get("nodes") or by
        shown, limit = (budget.nodes for budget in (idle.budget, idle.counts))
        always = idle.counts.schedule is None
        when = "always applies" if always else "applies whenever this one does"
        more = idle.allows_more and not (always and idle.budget.schedule is None)
        what = "never allows more" if idle.allows_more else "has no effect"
        yield Finding(
            at=written,
            message=f"the budget of `{limit}` {when}, and Karpenter uses the smallest budget: this budget of "
            f"`{shown}` {what}",
            severity=None if more else "info",
            edits=[] if more else edits.if_editable(edits.remove, entry),
            also=[Also(other, "only this budget counts")],
            covers=[entry],
            help=_widen_advice(limit, always) if more else None,
        )


def _widen_advice(limit: str, always: bool) -> str:
    """Return how to allow more nodes than the smaller budget does."""
    way = "give" if always else "restrict"
    end = "a `schedule` for the other hours" if always else "to other hours"
    return f"to allow more, {way} the budget of `{limit}` {end}"
