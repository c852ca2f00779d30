"""Nodes are replaced too often for their pods: jobs are evicted while they run, or nodes expire within days.

`consolidateAfter` is how long a node has to be without a change of its pods before Karpenter may consolidate it.
Karpenter moves the pods of an underutilized node, running or not, and a CI job, a batch job or a training run starts
over. Where the pool is named for such work (`runners`, `batch`), or all its nodes have GPUs or accelerators, anything
under a quarter of an hour is a finding: `WhenEmpty` moves no pod, and a pod with the annotation
`karpenter.sh/do-not-disrupt: "true"` keeps its node.

An `expireAfter` of three days or less restarts every pod of the pool that often; `0s` ends each node at once. From
Karpenter 1.0 on, expiry asks no budget: a window in which nothing may be disrupted does not hold it back.

All of this is common and can be meant, in a development cluster for instance. `WhenEmpty` is left alone.

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
        else f"every node expires as soon as it is there (`{node.value}`), and the next one as well",
        severity="warning" if length < HOUR else None,
        strict=length >= HOUR,
        once=length >= HOUR,
        also=[Also(written, "does not hold expiry back")] if written is not None and written.items else (),
        note="a new value changes the hash of the template, so that nodes are replaced once more",
        help="the default is 720h" if length else "write `Never` if nodes are not to expire; the default is 720h",
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
    """What is lost where pods that run for long are moved."""
    way = edits.if_editable(edits.set_value, policy, "WhenEmpty") if policy is not None else []
    return Finding(
        at=at,
        message=f"underutilized nodes are consolidated after `{written}`: {work}",
        help='use `WhenEmpty`, or annotate the pods with `karpenter.sh/do-not-disrupt: "true"`',
        suggestions=[Suggestion("consolidate empty nodes only", way)] if way else (),
        strict=True,
    )


def _seconds(node: Node | None) -> float | None:
    """The length of a duration; None for Never, a placeholder and what the schema refuses."""
    written = manifest.text(node)
    return controller.seconds(written) if isinstance(written, str) else None
