"""Budgets of one's own replace the default of 10 %, and leave times or reasons without any limit.

Without `budgets` a NodePool lets 10 % of its nodes be disrupted at once. A list of one's own takes the place of that
default. Where none of its entries is active, nothing is limited: after a change of the NodePool or a new image
Karpenter replaces all nodes of the pool as fast as new ones come up.

- `budgets: []` reads like "none may go" and means the opposite: no limit.
- Where every entry has a `schedule` (in UTC), there is no limit outside of the schedules.
- Where every entry has `reasons`, there is no limit for a reason that none of them names.

A base without schedule and reasons closes the gap; the smallest of the active budgets counts. The fix adds one of 10
%.

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
      - nodes: "0"
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
      - nodes: "0"
        schedule: "0 9 * * mon-fri"
        duration: 8h
      - nodes: "10%"
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
    budgets: []
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
      - nodes: 10%
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: kubernetes.io/arch, operator: In, values: [amd64]}
```
"""

from nodelint.api import EVERY_PROVIDER, Context, Finding, Findings, NodePool, Skip, budgets, edits, rule

REASONS = {"Drifted": "drift", "Underutilized": "consolidation"}
HOURS = 24 * 7
BASE = {"nodes": "10%"}


@rule(
    on=NodePool,
    group="hazard",
    fix="safe",
    gives_way_to=["invalid-field", "controller-check", "blocking-budget"],
    providers=EVERY_PROVIDER,
)
def check(pool: NodePool, context: Context) -> Findings:
    node = pool.node.at("spec", "disruption", "budgets")
    if node is None or node.kind != "sequence":
        return
    if not node.items:
        base = edits.if_editable(edits.add_item, node, BASE)
        message = "an empty list of budgets sets no limit: all nodes may be replaced at once"
        yield Finding(at=node, message=message, edits=base, note="without the field, the limit is 10 % of the nodes")
        return
    if any((each.get("schedule") is None) != (each.get("duration") is None) for each in node.items):
        return  # refused as it is; what the budgets leave open is known once the entry is whole
    for reason, what in REASONS.items():
        week = budgets.typical(pool, reason)
        if week is None:
            yield Skip(node, "a budget holds a placeholder")
            return
        free = sum((s.end - s.start).total_seconds() for s in week if not s.budgets) / 3600
        if free:
            often = "no budget ever" if free == HOURS else f"for {free:.0f} of {HOURS} hours a week no budget"
            yield Finding(
                at=node,
                message=f"{often} limits {what}: all nodes may be replaced at once",
                edits=edits.if_editable(edits.add_item, node, BASE),
                note=f"the week as written: {budgets.in_words(week)}" if free < HOURS else None,
                help=None if free < HOURS else "add a budget without `reasons`",
            )
            return
