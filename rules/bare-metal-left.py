r"""A NodePool allows bare-metal types together with virtual ones, or excludes only some of the bare-metal sizes.

Karpenter compares the value of a requirement as a whole. Since the seventh generation most bare-metal sizes have a
number: `m7i` has `metal-24xl` and `metal-48xl`, while `c7g` has `metal`. So a `NotIn` that lists `metal` does not
exclude `metal-24xl`.

Karpenter launches bare metal only if nothing else fits. Such a node takes many minutes to start and costs several
dollars an hour. `instance-hypervisor In [nitro]` excludes all bare-metal types, and types on Xen as well. The fix
adds the missing sizes. It is unsafe because Karpenter replaces running nodes of these sizes.

```yaml bad frame=pool
spec.template.spec.requirements:
  - key: karpenter.k8s.aws/instance-family
    operator: In
    values: ["c7i", "c7g", "c8i"]
  - key: karpenter.k8s.aws/instance-size
    operator: NotIn
    values: ["nano", "micro", "small", "metal"]
```

```yaml bad frame=pool
spec.template.spec.requirements:
  - {key: karpenter.k8s.aws/instance-family, operator: In, values: [m7i, r7i]}
  - {key: karpenter.k8s.aws/instance-size, operator: NotIn, values: [metal]}
```

With `--select` or `--extend-select`, the rule also reports requirements that allow bare-metal types together with
virtual ones.

A bare-metal node is a whole server. It takes many minutes to boot and costs as much as the largest size of its
family. Karpenter launches it if a pod fits no smaller type, or if smaller types are out of capacity. If you want bare
metal, list its sizes. If not, require the hypervisor `nitro`, which bare metal does not have. The rule ignores types
that are larger than a limit of the pool, because Karpenter never launches them.

```yaml bad frame=pool
spec.template.spec.requirements:
  - {key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m, r]}
  - {key: karpenter.k8s.aws/instance-generation, operator: Gt, values: ["4"]}
```

```yaml good frame=bad
spec.template.spec.requirements:
  - {key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m, r]}
  - {key: karpenter.k8s.aws/instance-generation, operator: Gt, values: ["4"]}
  - {key: karpenter.k8s.aws/instance-hypervisor, operator: In, values: [nitro]}
```
"""

from nodelint.api import (
    Context,
    Edit,
    Finding,
    Findings,
    Node,
    NodePool,
    RuleCheck,
    TypeSet,
    edits,
    fixes,
    keys,
    labels,
    messages,
    pool_requirements,
    resolve,
    rule,
    run_checks,
)


@rule(
    on=NodePool,
    group="hazard",
    fix="unsafe",
    gives_way_to=["no-instance-type", "removed-api", "accelerator-by-accident", "old-generations"],
    renamed=("metal-sizes-left",),
    subject="instance types",
    source=[
        "provider:pkg/providers/instancetype/types.go@v1.14.1:163",
        "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instance-types.html",
    ],
)
def check(pool: NodePool, context: Context) -> Findings:
    yield from run_checks(
        pool, context, RuleCheck(_check_sizes), RuleCheck(_check_mixed, severity="info", on_request=True)
    )


METAL = "metal"


def _check_sizes(pool: NodePool, context: Context) -> Findings:
    for item in pool_requirements.requirements_of(pool):
        if item.key != keys.SIZE or item.operator != "NotIn":
            continue
        metal = next((value for value in item.values if value.text == METAL), None)
        if metal is None:
            continue
        resolution = context.resolution(pool)
        sizes = [size for size in resolution.catalog.values(keys.SIZE) if size.startswith(METAL)]
        left = resolution.catalog.having_value(keys.SIZE, *sizes) & resolution.candidates
        if left and not fixes.doubts(resolution):
            yield _finding(pool, fixes.visible_node(metal.node), left, resolution)
        return


def _finding(pool: NodePool, at: Node, left: TypeSet, resolution: resolve.Resolution) -> Finding:
    sizes = sorted(resolution.catalog.distinct(keys.SIZE, left), key=labels.natural)
    found = resolve.dearest(resolution.catalog, left)
    cost = f", up to ${found[0]:,.2f} an hour" if found else ""
    changes: list[Edit] = []
    if resolution.varied_enough(resolution.candidates - left):
        changes = edits.if_editable(fixes.keep_out, pool, keys.SIZE, sizes)
    types = messages.counted(len(left), "bare-metal type")
    return Finding(
        at=at,
        message=f"`{METAL}` does not exclude `{sizes[0]}`: {types} are still allowed{cost}",
        edits=changes,
        help=f"exclude each size ({', '.join(sizes)}), or require `instance-hypervisor In [nitro]`",
    )


NAMED = (keys.SIZE, keys.INSTANCE_TYPE, keys.HYPERVISOR)


def _check_mixed(pool: NodePool, context: Context) -> Findings:
    if pool.partial or pool.class_ref is None:
        return
    requirements = list(pool_requirements.requirements_of(pool))
    if any(item.key in NAMED and item.operator == "In" for item in requirements):
        return
    if any(item.key == keys.SIZE and "metal" in item.texts for item in requirements):
        return  # the other look says what this leaves
    resolution = context.resolution(pool)
    types = resolve.within(resolution) if pool.limits_node is not None else resolution.candidates
    metal = types & resolution.catalog.having_value(keys.HYPERVISOR, "")
    if not metal or metal == types or fixes.doubts(resolution):
        return
    found = resolve.dearest(resolution.catalog, metal)
    cost = f", up to ${found[0]:,.2f} an hour" if found else ""
    category = pool_requirements.find_last_requirement(pool, keys.CATEGORY)
    yield Finding(
        at=fixes.visible_node(category.key_node) if category is not None else fixes.place(pool),
        once=True,
        message=f"the {len(types):,} allowed types include {messages.counted(len(metal), 'bare-metal type')}{cost}",
        note="a bare-metal node takes many minutes to boot",
        help="require `instance-hypervisor In [nitro]`",
    )
