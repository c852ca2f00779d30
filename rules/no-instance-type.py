r"""No instance type meets all requirements of the NodePool, so it never launches a node.

Each requirement can be right by itself. The finding names the two requirements that exclude each other, or the
smallest set that excludes every type. Labels of `spec.template.metadata.labels` count as requirements. If a single
wrong value or a pattern is the cause, another rule reports it.

```yaml bad frame=pool
spec.template.spec.requirements:
  - key: kubernetes.io/arch
    operator: In
    values: ["amd64"]
  - key: karpenter.k8s.aws/instance-family
    operator: In
    values: ["c7g", "m7g"]
```

```yaml good frame=bad
spec.template.spec.requirements:
  - key: kubernetes.io/arch
    operator: In
    values: ["arm64"]
  - key: karpenter.k8s.aws/instance-family
    operator: In
    values: ["c7g", "m7g"]
```

```yaml bad frame=pool
spec.template.spec.requirements:
  - {key: node.kubernetes.io/instance-type, operator: In, values: [m5.xlarge]}
  - {key: karpenter.k8s.aws/instance-cpu, operator: In, values: ["2"]}
```

```yaml bad frame=pool
spec.template.spec.requirements:
  - key: karpenter.k8s.aws/instance-memory
    operator: Lt
    values: ["64"]
```

```yaml good frame=bad
spec.template.spec.requirements:
  - key: karpenter.k8s.aws/instance-memory
    operator: Lt
    values: ["65536"]
```

The rule also reports NodePools of one cluster that require zones of different regions.

A cluster is in one region, and so are its subnets. A pool with zones of another region finds no subnet, and its pods
stay Pending. The rule compares pools of one folder whose classes select their subnets by the same terms.

```yaml bad frame=pool+pool+class
metadata.name: amd64
spec.template.spec.requirements:
  - {key: kubernetes.io/arch, operator: In, values: [amd64]}
  - {key: topology.kubernetes.io/zone, operator: In, values: [ap-southeast-1a, ap-southeast-1b]}
---
metadata.name: arm64
spec.template.spec.requirements:
  - {key: kubernetes.io/arch, operator: In, values: [arm64]}
  - {key: topology.kubernetes.io/zone, operator: In, values: [ap-northeast-1a, ap-northeast-1c]}
```

```yaml good frame=bad
spec.template.spec.requirements:
  - {key: kubernetes.io/arch, operator: In, values: [amd64]}
  - {key: topology.kubernetes.io/zone, operator: In, values: [ap-northeast-1a, ap-northeast-1c]}
```
"""

from collections.abc import Sequence

from nodelint.api import (
    EVERY_PROVIDER,
    Also,
    Context,
    Edit,
    Finding,
    Findings,
    Node,
    NodePool,
    RuleCheck,
    Skip,
    cluster_regions,
    controller,
    edits,
    keys,
    labels,
    manifest,
    messages,
    pool_requirements,
    pool_suggestions,
    requirement,
    resolve,
    rule,
    run_checks,
    selectors,
)

_NAMES = frozenset((keys.CATEGORY, keys.FAMILY, keys.GENERATION, keys.INSTANCE_TYPE, keys.SIZE))


@rule(
    on=NodePool,
    group="correctness",
    fix="unsafe",
    gives_way_to=[
        "wildcard-value",
        "unknown-value",
        "value-of-another-key",
        "zone-without-subnet",
        "not-offered",
        "unknown-field",
        "invalid-field",
        "refused-combination",
        "removed-api",
    ],
    providers=EVERY_PROVIDER,
    renamed=("pools-of-two-regions",),
    subject="requirements",
    source=[
        "core:pkg/controllers/provisioning/scheduling/nodeclaim.go@v1.14.0:541",
        "provider:pkg/providers/instancetype/compatibility/compatibility.go@v1.14.1:39",
    ],
)
def check(pool: NodePool, context: Context) -> Findings:
    yield from run_checks(pool, context, RuleCheck(_check_pool), RuleCheck(_check_regions, severity="warning"))


def _check_pool(pool: NodePool, context: Context) -> Findings:
    if not pool.requirements and not pool.template_labels:
        return
    if not pool.has_ec2_types:
        yield from _clash(pool, context)
        return
    resolution = context.resolution(pool)
    elsewhere = list(_elsewhere(resolution))
    if elsewhere or resolution.candidates:
        yield from elsewhere
        return
    if pool.partial and not pool.of_values:  # a chart only adds to what values have
        yield Skip(pool.name_node, "the NodePool is only a fragment: its requirements are known after rendering")
        return
    if _class_has_none(resolution):
        return
    newer = resolution.perhaps_newer
    if newer is not None:
        yield Skip(newer.at, newer.reason)
        return
    lines = [line for line in resolution.lines if line.requirement is not None]
    dead = [line for line in lines if not line.kept & resolution.alive]
    # A newer type may meet a requirement on names, and does not change what the others exclude.
    dead = [line for line in dead if requirement.normalize(line.key) not in _NAMES] or dead
    for line in dead:
        yield _alone(line, resolution)
    if not dead:
        core = _core(lines, resolution)
        if core:
            yield _together(core, resolution)


def _clash(pool: NodePool, context: Context) -> Findings:
    """Yield a finding for the first two requirements that exclude each other on a label that every instance type has.

    This check needs no catalog, and works for each provider.
    """
    left: dict[str, tuple[requirement.Requirement, manifest.RequirementLine]] = {}
    for line in pool.requirements if pool.of_values or not pool.partial else ():
        read = _read_line(line, context)
        if read is None:
            continue
        before, other = left.get(read.key, (read, line))
        both = before.intersect(read)
        if before.length and read.length and not both.length:
            yield Finding(
                at=line.key_node,
                message=f"no instance type meets both `{_render_line(other)}` and `{_render_line(line)}`",
                also=[Also(other.key_node, f"`{_render_line(other)}`")],
            )
            return
        left[read.key] = both, line


def _elsewhere(resolution: resolve.Resolution) -> Findings:
    """Yield a finding for required zones that are in none of the required regions."""
    zones, regions = resolution.folded.get(keys.ZONE), resolution.folded.get(keys.REGION)
    if zones.complement or not zones.values or keys.REGION not in resolution.folded:
        return
    theirs = {selectors.region_of(zone) for zone in zones.values}
    if None in theirs or any(regions.admits(str(region)) for region in theirs):
        return
    lines = [line for line in resolution.lines if requirement.normalize(line.key) in (keys.ZONE, keys.REGION)]
    first = next(line for line in lines if requirement.normalize(line.key) != requirement.normalize(lines[-1].key))
    yield Finding(
        at=_key(lines[-1]),
        message=f"`{_render(first, 40)}` and `{_render(lines[-1], 40)}` exclude each other: no zone is in the region",
        also=[Also(_key(first), f"`{_render(first, 60)}`")],
        covers=[line.at.node for line in lines],
        help="use zones of the cluster's region",
    )


def _read_line(line: manifest.RequirementLine, context: Context) -> requirement.Requirement | None:
    """Return the requirement of a line if every instance type has its label.

    None for other labels, unknown values and invalid operators.
    """
    if not line.known or not isinstance(line.key, str) or not isinstance(line.operator, str):
        return None
    key = requirement.normalize(line.key)
    everywhere = (keys.ARCH, keys.CAPACITY_TYPE, keys.INSTANCE_TYPE, keys.OS, keys.ZONE)
    if key not in everywhere and not controller.every_type_has(key):
        return None
    if line.operator not in requirement.OPERATORS or not (line.values or line.operator in ("Exists", "DoesNotExist")):
        return None
    return requirement.Requirement.parse(key, line.operator, line.texts, release=context.karpenter)


def _render_line(line: manifest.RequirementLine) -> str:
    return messages.short(f"{labels.name_of(str(line.key))} {line.operator} {', '.join(line.texts)}".strip(), 31)


def _class_has_none(resolution: resolve.Resolution) -> bool:
    """Return whether the EC2NodeClass leaves no resources for pods on any instance type.

    The rule no-room-for-pods reports this.
    """
    if resolution.alive or resolution.node_class is None:
        return False
    family, every = resolution.images.ami_family, resolution.catalog.all_types
    lacks = resolve.lacking(resolution.node_class, family, resolution.catalog, resolution.pool.static)
    return any(lack.types == every for lack in lacks)


def _alone(line: resolve.LineEffect, resolution: resolve.Resolution) -> Finding:
    unit = labels.unit_of(line.key)
    runs = resolution.images.os
    hint = line.note
    if line.kept:
        hint = "; ".join(reason for types, reason in resolution.class_removed if types & line.kept)
    elif requirement.normalize(line.key) == keys.OS and runs is not None:
        hint = f"the images of the class run {runs}"
    company = " in EKS Auto Mode" if resolution.pool.provider == "auto-mode" else " with this class"
    under = company if hint else ""
    excluded = resolution.class_exclusion
    field = excluded.at if excluded is not None else None
    unlisted = bool(line.kept) and hint == resolve.not_listed()  # AWS may have added the family since
    if hint is None and unit is not None:
        hint = f"{labels.name_of(line.key)} is in {unit}"
    return Finding(
        at=_key(line),
        message=f"`{_render(line, 60)}` excludes every instance type{under}",
        severity="warning" if unlisted else None,
        also=[Also(field, "by this field of the class")] if field is not None else [],
        covers=[line.at.node, *pool_suggestions.list_value_nodes(line)],
        help=hint,
        suggestions=pool_suggestions.suggest_other_unit(line, unit),
    )


def _core(lines: list[resolve.LineEffect], resolution: resolve.Resolution) -> list[resolve.LineEffect]:
    """Return the fewest requirements that together exclude all instance types, in the order of the file.

    If two requirements clash, return these two.
    """

    def empty(effects: Sequence[resolve.LineEffect]) -> bool:
        return not resolution.left_without(*(line for line in lines if line not in effects))

    clash = resolution.clash
    if clash is not None and empty(clash):
        return list(clash)
    core = list(lines)
    for line in lines:
        without = [effect for effect in core if effect is not line]
        if empty(without):
            core = without
    return core


def _together(core: list[resolve.LineEffect], resolution: resolve.Resolution) -> Finding:
    *others, last = core
    if not others:
        return _alone(last, resolution)
    if len(others) == 1:
        message = f"`{_render(others[0], 40)}` and `{_render(last, 40)}` exclude each other"
    else:
        message = f"`{_render(last, 50)}` excludes the last types that {len(others)} other requirements allow"
    slip = pool_suggestions.find_slip(core, resolution)
    count = len(last.without)
    remain = f"{messages.counted(count, 'instance type')} {'remains' if count == 1 else 'remain'}"
    hint = f"without `{_render(last, 40)}`, {remain}" if count else None
    changes: list[Edit] = []
    if slip is not None:
        node, value = slip
        hint = f"with `{value}` in place of `{node.value}`, instance types remain"
        changes = edits.if_editable(edits.set_value, node, value)
    ways = [] if changes else pool_suggestions.list_ways(core, resolution)
    if any(way.name.startswith(pool_suggestions.TAKE_OUT) for way in ways):
        hint = None
    return Finding(
        at=_key(last),
        message=message,
        edits=changes,
        also=[Also(_key(line), f"`{_render(line, 60)}`") for line in others],
        covers=[line.at.node for line in core if any(map(labels.is_pattern, line.values))],
        help=hint,
        suggestions=ways,
    )


def _render(line: resolve.LineEffect, most: int) -> str:
    return pool_suggestions.render(line, most)


def _key(line: resolve.LineEffect) -> Node:
    return line.at.key_node


def _check_regions(pool: NodePool, context: Context) -> Findings:
    own_zones = selectors.region_of_zones(pool)
    if pool.foreign or pool.partial or own_zones is None:
        return
    region, zones = own_zones
    for other in context.cluster_pools(pool):
        of_other = None if other.partial else selectors.region_of_zones(other)
        # Told once, of the pool that comes first.
        if of_other is None or of_other[0] == region or not _is_first(pool, other, context):
            continue
        another, its_zones = of_other
        own, theirs = _subnets(pool, context), _subnets(other, context)
        if own is not None and own == theirs:
            if _is_one_stated({region: pool, another: other}, context):
                return  # `zone-of-another-region` reports the pool that is wrong
            yield Finding(
                at=pool_requirements.values_at(zones),
                message=f"this NodePool has zones in {region}, but NodePool `{other.name}` of the same cluster has "
                f"zones in {another}",
                also=[Also(pool_requirements.values_at(its_zones), f"zones in {another}")],
                note="a cluster is in one region: one of the pools finds no subnet and launches nothing",
                help="use zones of the cluster's region in both",
            )
            return


def _is_one_stated(pools: dict[str, NodePool], context: Context) -> bool:
    """Return whether the files state one of two regions for the cluster, and do not name the other."""
    stated = {region for region, _, _ in cluster_regions.find_regions(context.run_files)}
    others = [region for region in pools if region not in stated]
    return len(others) == 1 and not cluster_regions.names_region(
        set(others), pools[others[0]].source.path, context.run_files
    )


def _is_first(pool: NodePool, other: NodePool, context: Context) -> bool:
    return next((obj for obj in context.objects if obj is pool or obj is other), None) is pool


def _subnets(pool: NodePool, context: Context) -> object:
    """Return the plain value of the subnet selector terms of a pool's class.

    None if the class or its terms are not known.
    """
    node_class = context.node_class(pool)
    terms = node_class.subnet_terms_node if node_class is not None else None
    return terms.plain() if terms is not None else None
