r"""A NodePool has no `limits`, or its limits do not count the resource that costs most.

Pods decide how many nodes there are. If a deployment scales without end, or a loop recreates pods, Karpenter buys
nodes until a quota of the AWS account stops it. For most pools a limit of `cpu` is enough. If every instance type has
GPUs or accelerators, limit the devices, because a limit of CPUs says little about the cost. A static NodePool
(`replicas`) accepts only a limit of `nodes`. While Karpenter replaces nodes, the pool has more nodes than `replicas`,
up to that limit.

```yaml bad frame=pool
spec.template.spec.requirements:
  - key: karpenter.k8s.aws/instance-category
    operator: In
    values: ["c", "m", "r"]
```

```yaml good frame=bad
spec.limits:
  cpu: 500
  memory: 2000Gi
```

```yaml bad frame=pool
spec.template.spec.taints: [{key: nvidia.com/gpu, effect: NoSchedule}]
spec.template.spec.requirements:
  - {key: karpenter.k8s.aws/instance-family, operator: In, values: [g6, p5]}
spec.limits: {cpu: 1000}
```

```yaml good frame=bad
spec.limits: {cpu: 1000, nvidia.com/gpu: 16}
```

```yaml bad frame=pool
spec.replicas: 3
```

```yaml good frame=bad
spec.limits: {nodes: 4}
```

The rule also reports a NodePool that limits CPUs but not memory, and that allows types with very different memory per
CPU.

A limit of CPUs limits the cost if all types have a similar shape. `c` types have 2 GiB per CPU, `r` types have 8, and
a CPU of `r` costs less than twice as much: the rule does not report that. `x` types have 16 to 32 GiB per CPU, and
their CPUs cost up to six times as much. Karpenter launches the shape that the pods request, so one team with large
memory requests can change the cost of the whole pool. Limit memory as well, or exclude such types.
For a pool that requires no category, family or type, only `--select` or `--extend-select` shows this.

```yaml bad frame=pool
spec.limits.cpu: 100
spec.template.spec.requirements:
  - {key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m, r, x]}
  - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
  - {key: karpenter.k8s.aws/instance-generation, operator: Gt, values: ["4"]}
```

```yaml good frame=bad
spec.limits.memory: 400Gi
```
"""

from functools import partial

from nodelint.api import (
    UNKNOWN,
    Context,
    Finding,
    Findings,
    NodePool,
    RuleCheck,
    Severity,
    fixes,
    keys,
    pool_requirements,
    quantities,
    resolve,
    rule,
    run_checks,
)

CHOOSING = (keys.CATEGORY, keys.FAMILY, keys.INSTANCE_TYPE)
_LITTLE = 5
"""US dollars an hour. If the most that the CPUs of a limit cost is less, the limit holds for GPUs as well."""
RICH = 16
"""GiB of memory per CPU from which an instance type costs much more than its CPUs suggest, such as the family `x`."""


@rule(
    on=NodePool,
    group="practice",
    gives_way_to=["no-instance-type", "unknown-limit", "limit-too-small", "unknown-field", "removed-api"],
    providers=["aws", "auto-mode"],
    renamed=("memory-not-limited",),
    options={"apart": "how many times as much memory for each CPU the type with most has, at least"},
    subject="pools",
    source=[
        "core:pkg/apis/v1/nodepool.go@v1.14.0:190",
        "https://karpenter.sh/docs/concepts/nodepools/",
    ],
)
def check(pool: NodePool, context: Context, *, apart: int = 5) -> Findings:
    memory = partial(_check_memory, apart=apart)
    yield from run_checks(pool, context, RuleCheck(_check_limits), RuleCheck(memory, severity="info"))


def _check_limits(pool: NodePool, context: Context) -> Findings:
    node, replicas = pool.find_field("spec", "limits"), pool.replicas_node
    if pool.of_values:  # the chart's own limits are not known; one of devices is in none but the user's
        if node is not None:
            yield from _devices(list(resolve.limits(pool)), context.resolution(pool), "info")
        return
    if pool.partial or (node is not None and node.value is UNKNOWN):
        return
    limits = list(resolve.limits(pool))
    if replicas is not None:
        if all(limit.resource != "nodes" for limit in limits):
            yield Finding(
                at=fixes.key_of(replicas),
                message="the static NodePool has no `limits.nodes`: nothing limits the nodes while Karpenter "
                "replaces some",
                help="add `limits: {nodes: <a few more than replicas>}` to spec",
            )
    elif node is None or not node.entries:
        yield Finding(
            at=pool.name_node if node is None else fixes.key_of(node),
            message=f"nothing limits what this NodePool costs{_dearest(context.resolution(pool))}",
            help="add `limits: {cpu: <n>}` to spec: Karpenter launches no node beyond it",
        )
    else:
        yield from _devices(limits, context.resolution(pool))


def _dearest(resolution: resolve.Resolution) -> str:
    if fixes.doubts(resolution) or resolution.pool.foreign:
        return ""  # Auto Mode offers a part of the types only
    found = resolve.dearest(resolution.catalog, resolution.candidates)
    return f": a node can be a `{found[1]}`, ${found[0]:,.2f} an hour" if found else ""


def _devices(
    limits: list[resolve.Limit], resolution: resolve.Resolution, severity: Severity | None = None
) -> Findings:
    """Yield a finding for a pool that limits CPUs or memory, if each allowed instance type has devices and no limit
    counts these.
    """
    counted = {resolve.device_of(limit.resource) or limit.resource for limit in limits}
    devices = resolve.devices(resolution.candidates, resolution.catalog)
    broad = (limit for limit in limits if limit.resource in ("cpu", "memory"))
    first = min(broad, key=lambda limit: limit.resource, default=None)
    if first is None or not devices or counted & devices.keys() or "nodes" in counted or not first.amount:
        return
    cost = None
    if first.resource == "cpu":
        cost = resolve.most_for_cpu(first.amount, resolution.candidates, resolution.catalog)
    if cost is not None and cost[0] < _LITTLE:
        return
    if cost is not None and cost[0] < _LITTLE:
        return
    shown = f": `{first.at.node.value}` CPUs of {cost[1]} cost ${cost[0]:,.0f} an hour" if cost else ""
    yield Finding(
        at=first.at.key_node,
        message=f"no limit covers {'GPUs' if 'nvidia.com/gpu' in devices else 'accelerators'}{shown}",
        severity=severity,
        help=f"add a limit of `{max(devices, key=lambda name: devices[name])}`",
    )


def _check_memory(pool: NodePool, context: Context, apart: int) -> Findings:
    limits = {limit.resource: limit for limit in resolve.limits(pool)}
    cpu = limits.get("cpu")
    if pool.partial or cpu is None or len(limits) > 1 or not cpu.amount:
        return
    resolution = context.resolution(pool)
    if fixes.doubts(resolution):
        return
    catalog = resolution.catalog
    types = resolution.candidates - resolve.special(catalog) - catalog.having_value(keys.HYPERVISOR, "xen")
    shapes = resolve.memory_for_cpu(cpu.amount, types, catalog)
    if shapes is None:
        return
    (least, lean), (most, rich) = shapes
    if most < apart * least or most < RICH * cpu.amount / quantities.ONE:
        return
    yield Finding(
        at=cpu.at.key_node,
        # Other rules report a pool that does not restrict its types.
        on_request=not any(item.key in CHOOSING for item in pool_requirements.requirements_of(pool)),
        message=f"no limit on memory: the cpu limit `{cpu.at.node.value}` allows {least:,}Gi on `{lean}`, but "
        f"{most:,}Gi on `{rich}`",
        once=True,
        help="add a limit of memory",
    )
