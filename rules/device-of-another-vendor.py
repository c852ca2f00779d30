r"""A NodePool for the devices of one vendor lists types with devices of another vendor.

An example is `g4ad`, which has AMD GPUs, in a pool with the taint `nvidia.com/gpu`. Karpenter counts devices by the
resource of the vendor: a `g4ad` has `amd.com/gpu`, an `inf2` has `aws.amazon.com/neuron`. Pods that request
`nvidia.com/gpu` never fit such a type. Only pods that tolerate the taint and request no device run there. The pool's
taints, its limits and the word `nvidia` in its name say which devices it is for. The rule also reports a pool if none
of its types has the device of its taint or of a limit.

The fix removes the values. It is unsafe because Karpenter replaces running nodes of these types.

```yaml bad frame=pool
spec.template.spec.taints:
  - {key: nvidia.com/gpu, effect: NoSchedule}
spec.template.spec.requirements:
  - {key: karpenter.k8s.aws/instance-family, operator: In, values: [g4ad, g4dn, g5]}
```
"""

from nodelint.api import (
    Context,
    Finding,
    Findings,
    Node,
    NodePool,
    RequirementLine,
    TypeSet,
    edits,
    fixes,
    keys,
    labels,
    manifest,
    messages,
    pool_requirements,
    resolve,
    rule,
    type_set,
)


@rule(
    on=NodePool,
    group="hazard",
    fix="unsafe",
    gives_way_to=[
        "no-instance-type",
        "unmatchable-value",
        "unknown-value",
        "value-of-another-key",
        "wrong-vendor-image",
        "fractional-gpu",
        "removed-api",
    ],
    providers=["aws", "auto-mode"],
    subject="GPUs",
    source=[
        "provider:pkg/providers/instancetype/types.go@v1.14.1:416",
        "provider:pkg/providers/instancetype/types.go@v1.14.1:428",
    ],
)
def check(pool: NodePool, context: Context) -> Findings:
    wanted = _wanted(pool)
    if not wanted:
        return
    resolution = context.resolution(pool)
    catalog, left = resolution.catalog, resolution.candidates
    meant = type_set.union(resolve.having_device(device, catalog) for device in wanted)
    if not left & meant:
        yield from _none(pool, resolution)
        return
    others = left & resolve.accelerated(catalog) - meant - catalog.having_value(keys.GPU_COUNT, "0")
    if others:
        yield from _listed(pool, others, resolution, next(iter(wanted)))


def _wanted(pool: NodePool) -> dict[str, Node]:
    """Return the devices for which the pool is meant, each with the node that names it."""
    found: dict[str, Node] = {}
    for taint in pool.taints:
        device = resolve.device_of(taint.key) if isinstance(taint.key, str) else None
        if device is not None:
            found.setdefault(device, taint.node)
    for limit in resolve.limits(pool):
        device = resolve.device_of(limit.resource)
        if device is not None and limit.amount != 0:
            found.setdefault(device, limit.at.key_node)
    if "nvidia" in labels.words_of(pool.name):
        found.setdefault("nvidia.com/gpu", pool.name_node)
    return found


def _none(pool: NodePool, resolution: resolve.Resolution) -> Findings:
    """Yield a finding for a taint that names a device which no allowed type has."""
    left = resolution.candidates
    keeping = [taint for taint in pool.taints if taint.effect != "PreferNoSchedule" and isinstance(taint.key, str)]
    named = next((taint for taint in keeping if resolve.device_of(str(taint.key)) is not None), None)
    fractions = left & resolution.catalog.having_value(keys.GPU_COUNT, "0")
    if not left or fractions or fixes.doubts(resolution):
        return
    if named is None:
        yield from _limits(pool)
        return
    yield Finding(
        at=named.node.get("key") or named.node,
        message=f"no allowed instance type has `{named.key}`: pods that ask for it never run here",
        help="allow types that have the device, or use a taint that fits the nodes",
    )


def _limits(pool: NodePool) -> Findings:
    """Yield a finding for each limit of a device that no allowed type has."""
    for limit in resolve.limits(pool):
        if resolve.device_of(limit.resource) is not None and limit.amount:
            yield Finding(
                at=limit.at.key_node,
                message=f"the limit of `{limit.resource}` has no effect: no allowed instance type has this device",
                severity="info",
                help="set a limit of the devices that the types have, or of cpu and memory",
            )


def _listed(pool: NodePool, others: TypeSet, resolution: resolve.Resolution, device: str) -> Findings:
    """Yield a finding for listed families or types that only have another vendor's device."""
    for item in pool_requirements.requirements_of(pool):
        if item.key not in (keys.FAMILY, keys.INSTANCE_TYPE) or item.operator != "In" or item.is_label:
            continue
        known = resolution.catalog.values(item.key)
        wrong = [
            value
            for value in item.values
            if isinstance(value.text, str)
            and (types := known.get(value.text)) is not None
            and types & resolution.candidates
            and not types & resolution.candidates - others
        ]
        if wrong:
            yield _finding(item, wrong, resolution, device)


def _finding(
    item: pool_requirements.PoolRequirement, wrong: list[manifest.Value], resolution: resolve.Resolution, device: str
) -> Finding:
    texts = [str(value.text) for value in wrong]
    types = resolution.catalog.having_value(item.key, *texts)
    has = " and ".join(f"`{device}`" for device in sorted(resolve.devices(types, resolution.catalog)))
    names = messages.list_first([f"`{text}`" for text in texts], 3)
    own = f" {'has' if len(texts) == 1 else 'have'} {has}:" if has else ":"
    return Finding(
        at=fixes.visible_node(wrong[0].node),
        message=f"{names}{own} pods that ask for `{device}` never run there",
        edits=edits.if_editable(fixes.take_out, item.at, texts) if isinstance(item.at, RequirementLine) else [],
        covers=[value.node for value in wrong],
        help=f"remove {'it' if len(texts) == 1 else 'them'}, or give such types a NodePool with a taint of their own",
    )
