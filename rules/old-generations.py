r"""A NodePool lists or allows instance types of old generations on the Xen hypervisor.

`instance-category In [c, m, r]` allows `m1`, `c3` and `r4` as well as the newest types. Old types are slower for
their price, have other disks and networks (no NVMe, older drivers), and some lack ENA. AWS retires them. Karpenter
compares only prices, and on spot the old types are often the cheapest.

Many examples use `instance-generation Gt 2`. It excludes the first and second generations, but not `c3`, `c4`, `m3`,
`m4`, `r3` and `r4`, so the rule reports it as information, and only if `--select` or `--extend-select` asks for it.
Every type of generation 5 and newer runs on Nitro. If less than 3 % of the types that a NodePool without such a
requirement allows run on Xen, the rule reports nothing.

If the pool also allows bare-metal types, the finding says so and names a requirement that excludes both.

EKS Auto Mode supports `c4`, `i3`, `m4`, `r4` and `t2` of the types on Xen, so its pools need a generation as well.

```yaml bad frame=pool
spec.template.spec.requirements:
  - key: karpenter.k8s.aws/instance-category
    operator: In
    values: ["c", "m", "r"]
```

```yaml good frame=bad
spec.template.spec.requirements:
  - key: karpenter.k8s.aws/instance-category
    operator: In
    values: ["c", "m", "r"]
  - key: karpenter.k8s.aws/instance-generation
    operator: Gt
    values: ["4"]
```

```yaml bad frame=pool
spec.template.spec.requirements:
  - {key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m, r]}
  - {key: karpenter.k8s.aws/instance-generation, operator: Gt, values: ["2"]}
```

```yaml good frame=bad
spec.template.spec.requirements:
  - {key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m, r]}
  - {key: karpenter.k8s.aws/instance-generation, operator: Gt, values: ["4"]}
```

The rule also reports a list that names types or families on the Xen hypervisor.

`t2`, `m4`, `c4` and `r4` cost more than their successors and do less. They have no NVMe disks, use older drivers and
run fewer pods, and some lack ENA. AWS retires them region by region. `t3a`, `m7i` or `m7g` do the same for less.

```yaml bad frame=pool
spec.template.spec.requirements:
  - {key: kubernetes.io/arch, operator: In, values: [amd64]}
  - {key: karpenter.k8s.aws/instance-family, operator: In, values: [t2, t3, t3a]}
```

```yaml good frame=bad
spec.template.spec.requirements:
  - {key: kubernetes.io/arch, operator: In, values: [amd64]}
  - {key: karpenter.k8s.aws/instance-family, operator: In, values: [t3, t3a]}
```
"""

from functools import partial

from nodelint.api import (
    Context,
    Finding,
    Findings,
    NodePool,
    RuleCheck,
    fixes,
    keys,
    messages,
    pool_requirements,
    resolve,
    rule,
    run_checks,
)


@rule(
    on=NodePool,
    group="practice",
    gives_way_to=["no-instance-type", "removed-api", "unmatchable-value"],
    providers=["aws", "auto-mode"],
    options={"percent": "the share of types on Xen, in percent, from which on a pool is reported"},
    renamed=("no-generation-floor", "old-type"),
    subject="instance types",
    source=[
        "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instance-types.html",
        "https://karpenter.sh/docs/concepts/nodepools/",
    ],
)
def check(pool: NodePool, context: Context, *, percent: int = 3) -> Findings:
    yield from run_checks(
        pool,
        context,
        RuleCheck(partial(_check_floor, percent=percent)),
        RuleCheck(_check_listed, severity="info"),
    )


def _check_floor(pool: NodePool, context: Context, percent: int) -> Findings:
    if not pool.of_values and (pool.partial or pool.class_ref is None):
        return
    requirements = [
        item
        for item in pool_requirements.requirements_of(pool)
        if item.key in (keys.FAMILY, keys.INSTANCE_TYPE, keys.GENERATION)
    ]
    named = [item for item in requirements if item.operator != "NotIn"]
    if any(item.key != keys.GENERATION for item in named):
        return
    resolution = context.resolution(pool)
    old = resolution.candidates & resolution.catalog.having_value(keys.HYPERVISOR, "xen")
    if not old or fixes.doubts(resolution):
        return
    families = messages.short(", ".join(resolution.families(old)), 48)
    counts = f"{len(old):,} of {len(resolution.candidates):,} instance types"
    category = pool_requirements.find_last_requirement(pool, keys.CATEGORY)
    place = fixes.visible_node(category.key_node) if category is not None else fixes.place(pool)
    note = _describe_metal(pool, resolution)
    both = "require `instance-hypervisor In [nitro]`, which excludes both" if note is not None else None
    if named:
        last = named[-1]
        floor = f"`instance-generation {last.operator} {', '.join(last.texts)}`"
        yield Finding(
            at=fixes.visible_node(pool_requirements.values_at(last)),
            message=f"{floor} still allows {counts} on Xen: {families}",
            once=True,
            severity="info",
            covers=[place],
            on_request=True,
            note=note,
            help=both or "`instance-generation Gt 4` excludes all of them",
        )
        return
    if (pool.of_values and category is None) or 100 * len(old) < percent * len(resolution.candidates):
        return
    yield Finding(
        at=place,
        message=f"the NodePool allows {counts} on Xen: {families}",
        once=True,
        severity="info" if pool.of_values else None,
        note=note,
        help=both or "require `instance-generation Gt 4`, which excludes all of them, or `Gt 2`, which excludes most",
    )


def _describe_metal(pool: NodePool, resolution: resolve.Resolution) -> str | None:
    """Return a note on the bare-metal types that the pool allows, with their highest price.

    None if the pool allows none, or only bare-metal types.
    """
    types = resolve.within(resolution) if pool.limits_node is not None else resolution.candidates
    metal = types & resolution.catalog.having_value(keys.HYPERVISOR, "")
    if not metal or metal == types:
        return None
    found = resolve.dearest(resolution.catalog, metal)
    cost = f", up to ${found[0]:,.2f} an hour" if found else ""
    return f"{messages.counted(len(metal), 'bare-metal type')} allowed as well; they boot slowly{cost}"


def _check_listed(pool: NodePool, context: Context) -> Findings:
    for item in pool_requirements.requirements_of(pool):
        if item.key not in (keys.FAMILY, keys.INSTANCE_TYPE) or item.operator != "In":
            continue
        xen, known = context.catalog.having_value(keys.HYPERVISOR, "xen"), context.catalog.values(item.key)
        old = [value for value in item.values if value.text in known and not known[str(value.text)] - xen]
        if old:
            names = messages.list_first([f"`{value.text}`" for value in old], 4)
            run = f"{names} runs on Xen" if len(old) == 1 else f"{names} run on Xen"
            slower = "slower for its price than its" if len(old) == 1 else "slower for their price than their"
            yield Finding(
                at=fixes.visible_node(old[0].node),
                message=messages.first_fitting(f"{run}: {slower} successors", run),
                covers=[value.node for value in old],
                help="use families of generation 5 and newer, or `t3`, `t3a` and `t4g`",
            )
