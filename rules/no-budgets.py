r"""A NodePool without budgets: Karpenter may replace a tenth of its nodes at once, at any hour.

Without `spec.disruption.budgets` a pool has the default, one budget of 10 % without schedule, rounded up: of up to
ten nodes one, of a hundred nodes ten. It holds for drift and for consolidation, in working hours as at night. A new
image or a change of the NodePool replaces nodes right when it arrives. That suits many stateless workloads; a careful
team decides once for how many nodes, and when, pods may be moved.

The suggestion keeps the 10 % and allows nothing from Monday to Friday, 9 to 17 o'clock in UTC.

```yaml bad frame=pool
spec.disruption:
  consolidationPolicy: WhenEmptyOrUnderutilized
  consolidateAfter: 5m
```

```yaml good frame=bad
spec.disruption.budgets:
  - nodes: 10%
  - nodes: "0"
    schedule: 0 9 * * mon-fri
    duration: 8h
```
"""

from nodelint.api import EVERY_PROVIDER, Context, Finding, Findings, NodePool, Suggestion, edits, fixes, rule

QUIET = [{"nodes": "10%"}, {"nodes": "0", "schedule": "0 9 * * mon-fri", "duration": "8h"}]


@rule(
    on=NodePool,
    group="practice",
    severity="info",
    providers=EVERY_PROVIDER,
    subject="disruption",
    source=[
        "core:pkg/apis/v1/nodepool.go@v1.14.0:109",
        "https://karpenter.sh/docs/concepts/disruption/",
    ],
)
def check(pool: NodePool, context: Context) -> Findings:
    spec, written = pool.node.get("spec"), pool.find_field("spec", "disruption", "budgets")
    if spec is None or not (written is None or (written.kind == "scalar" and written.value is None)):
        return
    block = spec.get("disruption")
    if block is None and pool.find_field("spec", "disruption") is not None:
        return  # it stands where the API server refuses it
    if not pool.shows_all(spec if block is None or block.kind != "mapping" else block):
        return
    shown = block is not None and block.kind == "mapping" and written is None
    way = edits.if_editable(edits.add_key, block, "budgets", QUIET) if block is not None and shown else []
    yield Finding(
        at=pool.name_node if block is None else fixes.key_of(block),
        message="without budgets, 10 % of the nodes may be replaced at once, at any hour of the week",
        help='add `budgets`: one for all hours, and `nodes: "0"` with `schedule` (UTC) and `duration` for quiet ones',
        once=True,
        suggestions=[Suggestion("nothing in working hours (Mon-Fri 9-17 UTC)", way)] if way else (),
    )
