r"""Instance types that are larger than a limit of the pool: Karpenter never launches them.

A listed value whose instance types are all larger than a limit of the pool: none of them is ever launched.

Before it launches a node, Karpenter passes over each type that has more of a resource than the limits leave. A type
with more CPUs than `limits.cpu` does not fit the emptiest pool. Where all types of a value are such, the value is
there for nothing, and pods that need so large a node stay Pending. Where families and sizes are listed, a type that
the two lists name and a limit keeps out is mentioned.

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

A limit that keeps out half or more of the instance types which the requirements allow, or a listed one.

A type that has more of a resource than the limit can never be launched, however empty the pool is. That may be meant;
then a requirement says it better, for it shows in events and in `nodelint explain`. Where it is not meant, larger
pods stay Pending. Karpenter also reckons with the largest type that still fits when it plans several nodes at once,
so that a limit of about that size lets it start nodes one by one.

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
    """Families and sizes that are listed, and whose types a limit keeps out here and there."""
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
        help="raise the limit, or take the size out",
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
    """Two names, and how many more there are."""
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
        message=f"the {limit.resource} limit `{limit.at.node.value}` excludes {len(out):,} of "
        f"{len(all):,} instance types: `{name}` has {amount}",
        help=f"raise the limit, or restrict the instance types by {key}",
    )


def _lists_types_by_name(pool: NodePool) -> bool:
    """Whether the pool lists its instance types by their names, or by families and sizes."""
    lists = {item.key for item in pool_requirements.requirements_of(pool) if item.operator == "In"}
    return keys.INSTANCE_TYPE in lists or {keys.FAMILY, keys.SIZE} <= lists
