"""Nodes are replaced more often than most workloads want: consolidated within a minute, or expired within days.

`consolidateAfter` is how long a node has to be without a change of its pods before Karpenter may consolidate it.
With `WhenEmptyOrUnderutilized` and `0s`, which is what a NodePool without a `disruption` block gets, each pod that
comes or goes can move others to another node. Jobs, deployments and autoscalers do that all day. Each move restarts
pods, pulls images again and, with on-demand nodes, buys a minute of a new node at least. A few minutes save nearly
as much.

Jobs do not survive that at all. Karpenter moves the pods of an underutilized node, running or not, and a CI job, a
batch job or a training run starts over. Where the pool is named for such work (`runners`, `batch`), or all its nodes
have GPUs or accelerators, anything under a quarter of an hour is a finding: `WhenEmpty` moves no pod, and a pod with
the annotation `karpenter.sh/do-not-disrupt: "true"` keeps its node.

An `expireAfter` of three days or less restarts every pod of the pool that often. From Karpenter 1.0 on, expiry asks
no budget: a window in which nothing may be disrupted does not hold it back.

All of this is common and can be meant, in a development cluster for instance. `WhenEmpty` is left alone.

```yaml bad frame=pool
spec.disruption:
  consolidationPolicy: WhenEmptyOrUnderutilized
  consolidateAfter: 30s
```

```yaml bad frame=pool
```

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

from collections.abc import Iterator

from nodelint.api import (
    EVERY_PROVIDER,
    Also,
    Context,
    Edit,
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
    resolve,
    rule,
)

HOUR = 3600
DAY = 24 * HOUR
RUN = 15 * 60
"""What is consolidated sooner moves work that runs for long."""

CALM = "5m"


@rule(
    on=NodePool,
    group="hazard",
    severity="info",
    fix="safe",
    providers=EVERY_PROVIDER,
    options={
        "days": "the longest `expireAfter`, in days, that counts as short",
        "seconds": "the longest `consolidateAfter`, in seconds, that counts as short for any work",
    },
    subject="disruption",
    source=[
        "core:pkg/controllers/nodeclaim/disruption/consolidation.go@v1.14.0:40",
        "core:pkg/controllers/nodeclaim/expiration/controller.go@v1.14.0:57",
    ],
)
def check(pool: NodePool, context: Context, *, days: int = 3, seconds: int = 60) -> Findings:
    spec = pool.node.get("spec")
    if spec is None:
        return
    if context.strict and not pool.static and not _is_held_back(pool):
        for finding in _consolidated(pool, spec, context, seconds):
            yield finding._replace(strict=True)
    node = pool.find_field("spec", "template", "spec", "expireAfter")
    length = _seconds(node)
    if node is None or length is None or not 0 < length <= days * DAY or context.is_dropped(pool, node):
        return
    written = pool.node.find("spec", "disruption", "budgets")
    yield Finding(
        at=node,
        message=f"every node expires within `{node.value}`, whatever the budgets allow",
        severity="warning" if length < HOUR else None,
        strict=length >= HOUR,
        once=length >= HOUR,
        also=[Also(written, "does not hold expiry back")] if written is not None and written.items else (),
        note="a new value changes the hash of the template, so that nodes are replaced once more",
        help="the default is 720h",
    )


def _is_held_back(pool: NodePool) -> bool:
    """Whether the budgets let no underutilized node go at any time."""
    if pool.node.find("spec", "disruption", "budgets") is None:
        return False
    week = budgets.typical_week(pool, "Underutilized")
    return week is not None and bool(week) and all(stretch.closed for stretch in week)


def _consolidated(pool: NodePool, spec: Node, context: Context, soon: int) -> Iterator[Finding]:
    block = pool.find_field("spec", "disruption")
    if block is None or (block.value is None and block.kind == "scalar"):
        if not pool.partial:
            yield Finding(
                at=pool.name_node,
                once=True,
                message="without a `disruption` block, nodes are consolidated as soon as their pods change (0s)",
                edits=edits.if_editable(_block, spec, block) if pool.version == "v1" else (),
            )
        return
    node, after = block.get("consolidationPolicy"), block.get("consolidateAfter")
    policy = manifest.text(node)
    if policy not in ("WhenEmptyOrUnderutilized", "WhenUnderutilized", None) or (policy is None and pool.partial):
        return
    old = pool.version != "v1" and after is None and not pool.partial
    length = 0 if old else _seconds(after)
    at = node or block if old else after
    if at is None or length is None or length >= RUN:
        return
    written = "0s" if after is None else str(after.value)
    work = _long_work(pool, context)
    if work is not None:
        yield _lost(at, written, work, node)
    elif length <= soon:
        yield Finding(
            at=at,
            message=f"underutilized nodes are consolidated only `{written}` after their pods change",
            once=True,
            edits=edits.if_editable(edits.set_value, after, CALM) if after is not None and not old else (),
            help="v1 takes `consolidateAfter` with this policy: 5m, for example" if old else None,
        )


def _lost(at: Node, written: str, work: str, policy: Node | None) -> Finding:
    """What is lost where pods that run for long are moved."""
    way = edits.if_editable(edits.set_value, policy, "WhenEmpty") if policy is not None else []
    return Finding(
        at=at,
        message=f"underutilized nodes are consolidated after `{written}`: {work}",
        help='use `WhenEmpty`, or annotate the pods with `karpenter.sh/do-not-disrupt: "true"`',
        suggestions=[Suggestion("consolidate empty nodes only", way)] if way else (),
    )


def _long_work(pool: NodePool, context: Context) -> str | None:
    """What happens to pods that run for long and cannot be moved, where a pool is for such."""
    word = fixes.names_jobs(pool)
    if word is not None:
        return f"jobs of this pool (`{word}`) are evicted while they run"
    names = fixes.names_device(pool)
    if not names and not pool.foreign:
        resolution = context.resolution(pool)
        left = resolution.candidates
        names = bool(left) and not left - resolve.accelerated(resolution.catalog) and not fixes.doubts(resolution)
    return "pods on GPUs or accelerators are evicted while they run" if names else None


def _block(spec: Node, block: Node | None) -> list[Edit]:
    value = {"consolidationPolicy": "WhenEmptyOrUnderutilized", "consolidateAfter": CALM}
    return edits.add_key(spec, "disruption", value) if block is None else edits.replace(block, value)


def _seconds(node: Node | None) -> float | None:
    """The length of a duration; None for Never, a placeholder and what the schema refuses."""
    written = manifest.text(node)
    return controller.seconds(written) if isinstance(written, str) else None
