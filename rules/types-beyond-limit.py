r"""A limit of the pool excludes listed or allowed instance types, because they are larger than the limit.

Before a launch, Karpenter skips each type that has more of a resource than the limits allow. A type with more CPUs
than `limits.cpu` does not fit even an empty pool. If all types of a listed value are too large, the value has no
effect, and pods that need such a large node stay Pending. If families and sizes are listed, the finding mentions a
type of both lists that a limit excludes.

```yaml bad frame=pool
spec.limits:
  cpu: 20
  memory: 100Gi
spec.template.spec.requirements:
  - {key: karpenter.k8s.aws/instance-family, operator: In, values: [m7i, c7i]}
  - {key: karpenter.k8s.aws/instance-size, operator: In, values: [large, xlarge, 8xlarge]}
  - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
```

```yaml good frame=bad
spec.template.spec.requirements:
  - {key: karpenter.k8s.aws/instance-family, operator: In, values: [m7i, c7i]}
  - {key: karpenter.k8s.aws/instance-size, operator: In, values: [large, xlarge]}
  - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
```

With `--select` or `--extend-select`, the rule also reports a limit that excludes half or more of the allowed instance
types. The strict profile shows it if the pool names its types, or its families and sizes.

If you want that, a requirement is clearer, because events and `nodelint explain` show it. If you do not want it,
larger pods stay Pending. Karpenter also computes with the largest type that fits when it plans several nodes at once,
so a limit of about that size makes it start nodes one by one.

```yaml bad frame=pool
spec.template.spec.requirements:
  - key: karpenter.k8s.aws/instance-category
    operator: In
    values: ["c", "m", "r"]
spec.limits.cpu: 16
```

```yaml good frame=bad
spec.template.spec.requirements:
  - key: karpenter.k8s.aws/instance-category
    operator: In
    values: ["c", "m", "r"]
  - key: karpenter.k8s.aws/instance-cpu
    operator: Lt
    values: ["17"]
```
"""

from nodelint.api import (
    Also,
    Context,
    Finding,
    Findings,
    NodePool,
    RequirementLine,
    RuleCheck,
    TypeSet,
    fixes,
    keys,
    labels,
    manifest,
    messages,
    pool_requirements,
    requirement,
    resolve,
    rule,
    run_checks,
)


@rule(
    on=NodePool,
    group="hazard",
    gives_way_to=["limit-too-small", "unknown-limit", "no-instance-type", "unmatchable-value", "removed-api"],
    providers=["aws", "auto-mode"],
    renamed=("value-beyond-limit", "limit-below-largest"),
    subject="pools",
    source="core:pkg/controllers/provisioning/scheduling/scheduler.go@v1.14.0:1069",
    mentions=["limits"],
)
def check(pool: NodePool, context: Context) -> Findings:
    yield from run_checks(
        pool, context, RuleCheck(_check_listed), RuleCheck(_check_largest, severity="info", strict=True)
    )


def _check_listed(pool: NodePool, context: Context) -> Findings:
    if pool.partial or not any(line.operator == "In" and len(line.values) > 1 for line in pool.requirements):
        return
    limits = [limit for limit in resolve.limits(pool) if limit.amount]
    if not limits:
        return
    resolution = context.resolution(pool)
    fit = resolve.within(resolution)
    if fit == resolution.candidates or not fit or fixes.doubts(resolution):
        return
    out = [(limit, resolve.beyond(limit, resolution)) for limit in limits]
    for line in resolution.lines:
        if line.operator != "In" or not line.known or not isinstance(line.at, RequirementLine):
            continue
        dead = []
        for value in line.at.values:
            types = resolution.candidates & resolution.catalog.having_value(line.key, str(value.text))
            if types and not types & fit:
                dead.append((value, types))
        if dead and requirement.normalize(line.key) in resolution.catalog.keys:
            yield _finding(line.at, dead, out, resolution)
            return
    yield from _of_families(out, resolution)


def _of_families(out: list[tuple[resolve.Limit, TypeSet]], resolution: resolve.Resolution) -> Findings:
    """Yield a finding for listed families and sizes if a limit excludes the largest types of some families."""
    lists = {requirement.normalize(line.key): line for line in resolution.lines if line.operator == "In"}
    sizes = lists.get(keys.SIZE)
    limit, types = max(out, key=lambda exceeded: len(exceeded[1]))
    if sizes is None or keys.FAMILY not in lists or not types or len(types) * 2 > len(resolution.candidates):
        return
    if not isinstance(sizes.at, RequirementLine):
        return
    largest = {resolution.catalog.label(name, keys.SIZE) for name in resolution.catalog.names_in(types)}
    value = next((value for value in sizes.at.values if value.text in largest), None)
    if value is None:
        return
    names = [f"`{name}`" for name in resolution.catalog.names_in(types)]
    yield Finding(
        at=fixes.visible_node(value.node),
        message=f"no {_listed(names)} fits the {limit.resource} limit `{limit.at.node.value}`",
        severity="info",
        covers=[limit.at.node],
        also=[Also(limit.at.node, f"`{resolve.largest(limit.resource, types, resolution)[0]}` has more")],
        help="raise the limit, or remove the size",
    )


def _finding(
    line: RequirementLine,
    dead: list[tuple[manifest.Value, TypeSet]],
    out: list[tuple[resolve.Limit, TypeSet]],
    resolution: resolve.Resolution,
) -> Finding:
    value, types = dead[0]
    alone = next((limit for limit, beyond in out if not types - beyond), None)
    limit = alone or out[0][0]
    named = _listed([f"`{messages.short(str(value.text), 20)}`" for value, _ in dead])
    name, amount = resolve.largest(limit.resource, types, resolution)
    which = f"the {limit.resource} limit `{limit.at.node.value}`" if alone else "the limits"
    return Finding(
        at=fixes.visible_node(value.node),
        message=f"no node of {labels.name_of(str(line.key))} {named} fits {which}",
        covers=[limit.at.node],
        also=[Also(limit.at.node, f"`{name}` has {amount}")],
        help="raise the limit, or remove the value",
    )


def _listed(names: list[str]) -> str:
    """Return a text with the first two names and the number of further names."""
    more = len(names) - 2
    return f"{', '.join(names[:2])} or {more} more" if more > 0 else " or ".join(names)


def _check_largest(pool: NodePool, context: Context) -> Findings:
    limits = [limit for limit in resolve.limits(pool) if limit.resource in ("cpu", "memory") and limit.amount]
    if not limits or pool.partial:
        return
    resolution = context.resolution(pool)
    if fixes.doubts(resolution):
        return
    all = resolution.candidates
    limit, out = max(
        ((limit, resolve.beyond(limit, resolution)) for limit in limits), key=lambda exceeded: len(exceeded[1])
    )
    # The largest types of a broad pool are out of most limits, and nobody means them unless they are named.
    if out == all or not out or (len(out) * 2 < len(all) and not _lists_types_by_name(pool)):
        return
    name, amount = resolve.largest(limit.resource, all, resolution)
    key = labels.name_of(keys.CPU if limit.resource == "cpu" else keys.MEMORY)
    yield Finding(
        at=fixes.visible_node(limit.at.node),
        on_request=not _lists_types_by_name(pool),
        message=f"the {limit.resource} limit `{limit.at.node.value}` excludes {len(out):,} of "
        f"{len(all):,} instance types: `{name}` has {amount}",
        help=f"raise the limit, or restrict the instance types by {key}",
    )


def _lists_types_by_name(pool: NodePool) -> bool:
    """Return whether the pool lists instance types by name, or by families and sizes."""
    lists = {item.key for item in pool_requirements.requirements_of(pool) if item.operator == "In"}
    return keys.INSTANCE_TYPE in lists or {keys.FAMILY, keys.SIZE} <= lists
