r"""A budget that never counts, because another that is always in force with it allows as few nodes or fewer.

Of the budgets that are in force and concern a reason the smallest counts; a schedule does not take the place of a
budget without one. `nodes: "0"` for all hours and `nodes: "30%"` for two hours of the night allow nothing at night
either. To allow more at certain hours, give the smaller budget a `schedule` for all the other hours.

The rule compares what holds for a pool of any size: `1` is never more than `10%`, for a percentage is rounded up. A
budget that says the same as another, or more loosely, can go; where it was meant to allow more, only its author knows
which of the two to change.

```yaml bad
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: default
spec:
  disruption:
    consolidationPolicy: WhenEmptyOrUnderutilized
    consolidateAfter: 5m
    budgets:
      - nodes: "1"
      - nodes: "50%"
        schedule: "0 2 * * *"
        duration: 2h
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: kubernetes.io/arch, operator: In, values: [amd64]}
```

```yaml good
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: default
spec:
  disruption:
    consolidationPolicy: WhenEmptyOrUnderutilized
    consolidateAfter: 5m
    budgets:
      - nodes: "1"
        schedule: "0 4 * * *"
        duration: 22h
      - nodes: "50%"
        schedule: "0 2 * * *"
        duration: 2h
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: kubernetes.io/arch, operator: In, values: [amd64]}
```

```yaml bad
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: default
spec:
  disruption:
    consolidationPolicy: WhenEmptyOrUnderutilized
    consolidateAfter: 5m
    budgets:
      - nodes: "1"
      - nodes: "1"
        schedule: "0 9 * * mon-fri"
        duration: 8h
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: kubernetes.io/arch, operator: In, values: [amd64]}
```

```yaml good
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: default
spec:
  disruption:
    consolidationPolicy: WhenEmptyOrUnderutilized
    consolidateAfter: 5m
    budgets:
      - nodes: "1"
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: kubernetes.io/arch, operator: In, values: [amd64]}
```
"""

from nodelint.api import EVERY_PROVIDER, Also, Context, Finding, Findings, NodePool, budgets, edits, fixes, rule


@rule(
    on=NodePool,
    group="hazard",
    fix="safe",
    gives_way_to=["invalid-field", "controller-check", "refused-combination", "blocking-budget"],
    providers=EVERY_PROVIDER,
    subject="disruption",
    source="core:pkg/apis/v1/nodepool.go@v1.14.0:355",
)
def check(pool: NodePool, context: Context) -> Findings:
    node = pool.node.at("spec", "disruption", "budgets")
    if node is None or node.kind != "sequence" or len(node.items) < 2:
        return
    perhaps = fixes.conditional_items(pool, "spec", "disruption", "budgets")
    for idle in budgets.without_effect(node, perhaps, context.karpenter):
        entry, by = idle.entry, idle.smaller
        written = entry.get("nodes") or entry
        other = by.get("nodes") or by
        shown, limit = (each.nodes for each in (idle.budget, idle.counts))
        always = idle.counts.schedule is None
        when = "applies at all times" if always else "applies whenever it does"
        more = idle.allows_more and not (always and idle.budget.schedule is None)
        what = "allows nothing more" if idle.allows_more else "changes nothing"
        yield Finding(
            at=written,
            message=f"this budget of `{shown}` {what}: the one of `{limit}` {when}, and the smallest counts",
            severity=None if more else "info",
            edits=[] if more else edits.if_editable(edits.remove, entry),
            also=[Also(other, "the budget that counts")],
            covers=[entry],
            help=_more(limit, always) if more else None,
        )


def _more(limit: str, always: bool) -> str:
    """What to do where the budget was meant to allow more than the one that counts."""
    way = "give" if always else "restrict"
    end = "a `schedule` for the other hours" if always else "to other hours"
    return f"to allow more, {way} the budget of `{limit}` {end}"
