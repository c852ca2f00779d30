r"""The limits do not fit the instance types: one is never reached, or they allow one node or hundreds.

Karpenter adds up the CPUs and the memory of a pool's nodes and launches no node beyond a limit. The instance types
decide how many nodes that is:

- With `cpu: 1000` and `memory: 500Gi`, a pool of types with 4 GiB per CPU stops at 125 CPUs. It never reaches the cpu
  limit, which looks as if the pool could grow eight times as large.
- If only one node fits, a failure of this node stops all pods of the pool until another node runs.
- If all types have two CPUs, `cpu: 4` allows two nodes. With `memory: 16Gi`, one `r7i.large` uses the whole limit,
  and no second node starts.
- A limit of 2000 CPUs allows 1000 nodes if the types have two CPUs each. It stops a runaway deployment late.

Karpenter's own examples have `cpu: 1000` and `memory: 1000Gi`, which stand for "no limit that matters". Only
`--select` and `--extend-select` show what is out of proportion with these values.

The rule computes with the type that fits best. So if a limit is never reached, this is true for every mix of the
allowed types.

```yaml bad frame=pool
spec.template.spec.requirements:
  - {key: karpenter.k8s.aws/instance-family, operator: In, values: [m7i, m7a, m6i]}
spec.limits:
  cpu: 1000
  memory: 500Gi
```

```yaml good frame=bad
spec.limits.memory: 4000Gi
```

```yaml bad frame=pool
spec.template.spec.requirements:
  - {key: node.kubernetes.io/instance-type, operator: In, values: [t3.medium, t3a.medium]}
spec.limits.cpu: 2000
```

```yaml good frame=bad
spec.limits.cpu: 40
```
"""

from collections.abc import Iterator

from nodelint.api import Also, Context, Finding, Findings, NodePool, fixes, messages, quantities, resolve, rule

EXAMPLES = {"cpu": "1000", "memory": "1000Gi"}
"""The limits of Karpenter's own examples."""

FEW = 1
NARROW = 12
QUARTER = 0.25
OUT_OF_BALANCE = 0.35
"""If one limit lets the nodes reach at most this part of the other limit, the other limit has no effect."""


@rule(
    on=NodePool,
    group="practice",
    severity="info",
    gives_way_to=["limit-too-small", "types-beyond-limit", "no-instance-type", "unknown-limit", "removed-api"],
    providers=["aws", "auto-mode"],
    renamed=("odd-limit",),
    options={"nodes": "how many nodes a limit has to allow to be more than a pool needs"},
    subject="pools",
    source=[
        "core:pkg/apis/v1/nodepool.go@v1.14.0:190",
        "https://karpenter.sh/docs/concepts/nodepools/",
    ],
)
def check(pool: NodePool, context: Context, *, nodes: int = 300) -> Findings:
    limits = {limit.resource: limit for limit in resolve.limits(pool)}
    counted = [limits[name] for name in ("cpu", "memory") if name in limits]
    devices = [limit for name, limit in limits.items() if name.endswith(_DEVICES)]
    if not (counted or devices) or any(not limit.amount for limit in limits.values()) or pool.static or pool.partial:
        return
    resolution = context.resolution(pool)
    if not resolution.candidates or fixes.doubts(resolution):
        return
    for limit in devices:
        yield from _few_devices(limit, resolution)
    size = resolve.growth(counted, resolution) if counted else None
    if size is None:
        return
    unlike = list(_balance(counted[0], counted[1], size)) if len(counted) == 2 else []
    usual = all(_quote_limit(limit) == EXAMPLES[limit.resource] for limit in counted)
    yield from (finding._replace(on_request=usual) for finding in unlike)
    if unlike or "nodes" in limits:
        return
    if size.most.nodes <= FEW:
        yield _few(size.most)
        return
    if len(counted) == 2:
        yield from _crowded(counted[0], counted[1], resolution)
    if size.fewest.nodes >= nodes:
        yield _many(size.fewest)._replace(on_request=usual)


def _balance(cpu: resolve.Limit, memory: resolve.Limit, size: resolve.Growth) -> Iterator[Finding]:
    """Yield a finding for the limit, of CPUs or of memory, that the nodes never reach, because they reach the other
    limit first.
    """
    cpus, gibs = ((limit.amount or 0) / quantities.ONE for limit in (cpu, memory))
    if size.cpus <= OUT_OF_BALANCE * cpus:
        unreached, other, end = cpu, memory, f"{size.cpus:,.0f} CPUs"
        why = f"the allowed types have {size.least:.3g} GiB per CPU or more"
    elif size.gibs <= OUT_OF_BALANCE * gibs / 1024**3:
        unreached, other, end = memory, cpu, f"{size.gibs:,.0f}Gi"
        why = f"the allowed types have {size.greatest:.3g} GiB per CPU or less"
    else:
        yield from _early(cpu, memory, cpus, size)
        return
    yield Finding(
        at=fixes.visible_node(unreached.at.node),
        message=f"the {unreached.resource} limit `{_quote_limit(unreached)}` is never reached:"
        f" the {other.resource} limit `{_quote_limit(other)}` stops the pool at about {end} or less",
        once=True,
        also=[Also(other.at.node, why)],
        help="set both limits to the size that the pool may grow to",
    )


def _early(cpu: resolve.Limit, memory: resolve.Limit, cpus: float, size: resolve.Growth) -> Iterator[Finding]:
    """Yield a finding for a memory limit that most of a few allowed instance types reach long before the
    cpu limit.
    """
    end = size.cpus * size.least / size.middle
    if size.types <= NARROW and end <= QUARTER * cpus:
        yield Finding(
            at=fixes.visible_node(cpu.at.node),
            message=f"the memory limit `{_quote_limit(memory)}` allows about {end:,.0f} CPUs with most allowed types:"
            f" the cpu limit is `{_quote_limit(cpu)}`",
            also=[Also(memory.at.node, f"most allowed types have {size.middle:.3g} GiB per CPU or more")],
            help="set both limits to the size that the pool may grow to",
        )


def _crowded(cpu: resolve.Limit, memory: resolve.Limit, resolution: resolve.Resolution) -> Iterator[Finding]:
    """Yield a finding for a memory limit that a single node uses up, while the cpu limit allows several nodes."""
    found = resolve.crowding(cpu, memory, resolution)
    if found is None or found[0].nodes > FEW:
        return
    reach, allowed = found
    uses = f"one `{reach.type}` uses" if reach.nodes == 1 else f"{reach.nodes} of `{reach.type}` use"
    yield Finding(
        at=fixes.visible_node(memory.at.node),
        message=f"{uses} up the memory limit `{_quote_limit(memory)}`: the cpu limit `{_quote_limit(cpu)}` allows"
        f" {messages.counted(allowed, 'node')}",
        also=[Also(cpu.at.node, f"`{reach.type}` has {reach.amount}: no second node starts")]
        if reach.nodes == 1
        else [],
        help="set the memory limit to the memory of that many nodes of the largest type",
    )


def _few(reach: resolve.Reach) -> Finding:
    limit = reach.limit
    return Finding(
        at=fixes.visible_node(limit.at.node),
        message=f"the {limit.resource} limit `{_quote_limit(limit)}` leaves room for"
        f" {messages.counted(reach.nodes, 'node')} at most: `{reach.type}` has {reach.amount}",
        note="when the node fails, all pods of the pool wait for another",
        help="allow one node more than the pool needs",
    )


_DEVICES = (".com/gpu", "aws.amazon.com/neuron", "habana.ai/gaudi")
"""The ends of the resource names of GPUs and accelerators."""


def _few_devices(limit: resolve.Limit, resolution: resolve.Resolution) -> Iterator[Finding]:
    """Yield a finding for a limit of GPUs or accelerators that allows only one node, even of the instance type with
    the fewest.
    """
    counts = resolution.candidates.select(resolution.catalog.resources.column(limit.resource))
    least = min((int(count) for count in counts if count is not None and count.isdigit()), default=0)
    if None in counts or least <= 0 or (limit.amount or 0) // quantities.ONE // least != 1:
        return
    yield Finding(
        at=fixes.visible_node(limit.at.node),
        message=f"the {limit.resource} limit `{_quote_limit(limit)}` leaves room for 1 node",
        note="when the node fails, all pods of the pool wait for another",
        help="allow one node more than the pool needs",
    )


def _many(reach: resolve.Reach) -> Finding:
    limit = reach.limit
    return Finding(
        at=fixes.visible_node(limit.at.node),
        message=f"the {limit.resource} limit `{_quote_limit(limit)}` allows {reach.nodes:,} nodes or more:"
        f" `{reach.type}`, the largest allowed type, has {reach.amount}",
        note=f"that costs ${reach.cost:,.0f} an hour on demand" if reach.cost else None,
        help="a limit stops runaway growth: set it to slightly more than the pool needs",
    )


def _quote_limit(limit: resolve.Limit) -> str:
    return messages.short(str(limit.at.node.value), 16)
