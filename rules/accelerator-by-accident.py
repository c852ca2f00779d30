r"""A NodePool for general workloads allows instance types with GPUs, accelerators, FPGAs or video transcoders.

Karpenter launches types with GPUs or Neuron devices only if no other type fits or is available. Such a type costs
many times as much. If spot capacity runs out for a day, Karpenter can launch it for every pending pod. Karpenter
counts no device for some types and treats them like any other type: `g6f` and `gr6f`, which have a fraction of a GPU,
FPGA types (`f`) and video transcoders (`vt`).

The rule reports nothing if the NodePool names such a type or has a taint for one: then the pool is meant for them.
The fix excludes the categories. It is unsafe because Karpenter replaces running nodes of these types.

```yaml bad frame=pool
spec.template.spec.requirements:
  - key: karpenter.k8s.aws/instance-generation
    operator: Gt
    values: ["3"]
```

```yaml bad frame=pool
spec.template.spec.requirements:
  - {key: karpenter.k8s.aws/instance-category, operator: NotIn, values: [t, g, p]}
```
"""

from nodelint.api import (
    Context,
    Edit,
    Finding,
    Findings,
    NodePool,
    TypeSet,
    edits,
    fixes,
    keys,
    pool_requirements,
    resolve,
    rule,
)


@rule(
    on=NodePool,
    group="practice",
    fix="unsafe",
    gives_way_to=["no-instance-type", "removed-api", "custom-image-gpus"],
    providers=["aws", "auto-mode"],
    subject="GPUs",
    source=[
        "provider:pkg/providers/instancetype/types.go@v1.14.1:163",
        "https://karpenter.sh/docs/concepts/nodepools/",
    ],
)
def check(pool: NodePool, context: Context) -> Findings:
    resolution = context.resolution(pool)
    special = resolve.special(resolution.catalog)
    if pool.partial or pool.find_field("spec", "template") is None or not resolution.candidates & special:
        return
    types = resolve.within(resolution)
    stray = types & special
    if not stray or stray == types or _names_accelerators(pool, resolution, special):
        return
    if fixes.doubts(resolution):
        return
    categories = sorted(resolution.catalog.distinct(keys.CATEGORY, stray))
    found = resolve.dearest(resolution.catalog, stray)
    cost = f", up to ${found[0]:,.2f} an hour" if found else ""
    changes: list[Edit] = []
    if resolution.varied_enough(types - stray):
        changes = edits.if_editable(fixes.keep_out, pool, keys.CATEGORY, categories)
    yield Finding(
        at=fixes.place(pool),
        message=f"{len(stray):,} of {len(types):,} allowed instance types have GPUs or other accelerators{cost}",
        edits=changes,
        note="Karpenter launches such a node if a pod fits no other type",
        help=f"exclude the instance categories {', '.join(categories)}",
    )


def _names_accelerators(pool: NodePool, resolution: resolve.Resolution, special: TypeSet) -> bool:
    """Return whether a requirement, taint or label of the pool names GPUs, accelerators or bare metal."""
    for item in pool_requirements.requirements_of(pool):
        if item.operator != "In" or item.key not in resolution.catalog.keys:
            continue
        known = resolution.catalog.values(item.key)
        if any(text in known and not known[text] - special for text in item.texts):
            return True
    return fixes.names_device(pool)
