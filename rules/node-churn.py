"""Karpenter replaces nodes too often for their pods: it evicts running jobs, or nodes expire within days.

`consolidateAfter` is the time without a change of a node's pods after which Karpenter may consolidate the node.
Karpenter moves the pods of an underutilized node even while they run, so a CI job, a batch job or a training run
starts again. If the name of the pool suggests such work (`runners`, `batch`), or if all its nodes have GPUs or
accelerators, the rule reports anything under 15 minutes. `WhenEmpty` moves no pod. A pod with the annotation
`karpenter.sh/do-not-disrupt: "true"` keeps its node.

An `expireAfter` of three days or less restarts every pod of the pool that often. `0s` ends each node at once. From
Karpenter 1.0 on, budgets do not delay expiry.

These settings are common and can be right, for example in a development cluster. The rule does not report
`WhenEmpty`.

```yaml bad frame=pool
metadata.name: ci-runners
spec.disruption:
  consolidationPolicy: WhenEmptyOrUnderutilized
  consolidateAfter: 5m
```

```yaml good frame=bad
spec.disruption.consolidationPolicy: WhenEmpty
```

```yaml bad frame=pool
spec.disruption: {consolidationPolicy: WhenEmpty, consolidateAfter: 10m}
spec.template.spec.expireAfter: 24h
```

```yaml good frame=bad
spec.template.spec.expireAfter: 168h
```
"""

from nodelint.api import (
    EVERY_PROVIDER,
    Also,
    Context,
    Finding,
    Findings,
    Node,
    NodePool,
    Suggestion,
    budgets,
    controller,
    edits,
    fixes,
    manifest,
    rule,
)

HOUR = 3600
DAY = 24 * HOUR


@rule(
    on=NodePool,
    group="hazard",
    severity="info",
    providers=EVERY_PROVIDER,
    options={
        "days": "the longest `expireAfter`, in days, that counts as short",
        "minutes": "the shortest `consolidateAfter`, in minutes, that leaves jobs and pods on GPUs alone",
    },
    subject="disruption",
    source=[
        "core:pkg/controllers/nodeclaim/disruption/consolidation.go@v1.14.0:40",
        "core:pkg/controllers/nodeclaim/expiration/controller.go@v1.14.0:57",
    ],
)
def check(pool: NodePool, context: Context, *, days: int = 3, minutes: int = 15) -> Findings:
    if pool.node.get("spec") is None:
        return
    if context.strict and not pool.static and not budgets.always_closed(pool, "Underutilized"):
        yield from _consolidated(pool, context, minutes * 60)
    node = pool.find_field("spec", "template", "spec", "expireAfter")
    length = _seconds(node)
    if node is None or length is None or not 0 <= length <= days * DAY or context.is_dropped(pool, node):
        return
    written = pool.budgets_node
    yield Finding(
        at=node,
        message=f"every node expires within `{node.value}`, whatever the budgets allow"
        if length
        else f"every node expires as soon as it starts (`{node.value}`), and so does its replacement",
        severity="warning" if length < HOUR else None,
        strict=length >= HOUR,
        once=length >= HOUR,
        also=[Also(written, "does not hold expiry back")] if written is not None and written.items else (),
        note="if you change the value, Karpenter replaces the nodes once more, because the hash of the template "
        "changes",
        help="use a longer time; the default is 720h"
        if length
        else "if nodes must not expire, write `Never`; the default is 720h",
    )


def _consolidated(pool: NodePool, context: Context, calm: int) -> Findings:
    block = pool.find_field("spec", "disruption")
    if block is None or (block.value is None and block.kind == "scalar"):
        return  # `default-disruption` says it
    node, after = block.get("consolidationPolicy"), block.get("consolidateAfter")
    policy = manifest.text(node)
    if policy not in ("WhenEmptyOrUnderutilized", "WhenUnderutilized", None) or (policy is None and pool.partial):
        return
    old = pool.version != "v1" and after is None and not pool.partial
    length = 0 if old else _seconds(after)
    at = node or block if old else after
    if at is None or length is None or length >= calm:
        return
    work = fixes.describe_long_work(pool, context.resolution)
    if work is not None:
        yield _lost(at, "0s" if after is None else str(after.value), work, node)


def _lost(at: Node, written: str, work: str, policy: Node | None) -> Finding:
    """Return the finding for a NodePool whose consolidation moves pods that run for a long time."""
    way = edits.if_editable(edits.set_value, policy, "WhenEmpty") if policy is not None else []
    return Finding(
        at=at,
        message=f"Karpenter consolidates underutilized nodes after `{written}`: {work}",
        help='use `WhenEmpty`, or annotate the pods with `karpenter.sh/do-not-disrupt: "true"`',
        suggestions=[Suggestion("consolidate empty nodes only", way)] if way else (),
        strict=True,
        once=True,
    )


def _seconds(node: Node | None) -> float | None:
    """Return the duration of a node in seconds. None for `Never`, a placeholder and an invalid duration."""
    written = manifest.text(node)
    return controller.seconds(written) if isinstance(written, str) else None
