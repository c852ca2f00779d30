r"""GPU or accelerator types of one vendor get the image that is made for another vendor.

An alias has one image for types with GPUs and one for types with other accelerators. Karpenter does not look at the
vendor. So `g4ad` (AMD) starts with the image with NVIDIA's driver, and `dl2q` (Qualcomm) starts with the image for
Neuron. The node joins, its devices stay unused, and you pay for them. `g4ad.xlarge` is among the cheapest types with
a GPU.

The rule reports NodePools for such types: those that name one, or allow no others. The fix excludes the families. It
is unsafe because Karpenter replaces running nodes of these families.

```yaml bad frame=pool+class
metadata.name: gpu
spec.template.spec.taints: [{key: nvidia.com/gpu, effect: NoSchedule}]
spec.template.spec.requirements:
  - {key: karpenter.k8s.aws/instance-category, operator: In, values: [g]}
```

```yaml bad frame=pool+class
metadata.name: gpu
spec.template.spec.taints: [{key: nvidia.com/gpu, effect: NoSchedule}]
spec.template.spec.requirements:
  - {key: karpenter.k8s.aws/instance-family, operator: In, values: [g4dn, g4ad]}
```
"""

from collections.abc import Sequence

from nodelint.api import (
    Also,
    Context,
    Edit,
    Finding,
    Findings,
    Node,
    NodePool,
    RequirementLine,
    TypeSet,
    edits,
    fixes,
    keys,
    pool_requirements,
    resolve,
    rule,
    type_set,
)


@rule(
    on=NodePool,
    group="hazard",
    fix="unsafe",
    gives_way_to=["no-instance-type", "gpu-image-gap", "removed-api"],
    subject="GPUs",
    source=[
        "provider:pkg/providers/amifamily/ami.go@v1.14.1:83",
        "provider:pkg/providers/amifamily/types.go@v1.14.1:67",
    ],
)
def check(pool: NodePool, context: Context) -> Findings:
    if pool.class_ref is None:
        return
    resolution = context.resolution(pool)
    if resolution.images.alias is None:
        return
    for variant, (vendor, key) in resolve.image_vendors().items():
        meant = resolution.catalog.having_value(key, vendor)
        served = type_set.union(
            types
            for image, types in zip(resolution.images.images, resolution.types_by_image, strict=True)
            if variant in image.variants and "standard" not in image.variants
        )
        wrong = served & resolution.catalog.having(key) - meant
        if wrong:
            yield from _finding(pool, resolution, wrong, vendor, key)


def _finding(pool: NodePool, resolution: resolve.Resolution, wrong: TypeSet, vendor: str, key: str) -> Findings:
    families = resolution.families(wrong)
    line, at = _find_named_types(pool, families, resolution.catalog.names_in(wrong))
    general = resolution.candidates - resolve.accelerated(resolution.catalog)
    others = resolution.candidates & resolution.catalog.having_value(key, vendor)
    if (line is None and general) or fixes.doubts(resolution):
        return
    alias = f"`{resolution.images.alias.family}`" if resolution.images.alias is not None else "the class"
    makers = sorted(resolution.catalog.distinct(key, wrong))
    names = ", ".join(f"`{family}`" for family in families)
    also = [Also(resolution.images.alias_node, "this alias")] if resolution.images.alias_node is not None else []
    yield Finding(
        at=at or fixes.place(pool),
        message=f"Karpenter starts {names} ({', '.join(makers)}) with the image of {alias} for devices of {vendor}",
        # Pods that ask for the vendor's resource never meet the others: only what asks for none is put there.
        severity="info" if others else None,
        edits=_remove_wrong_types(pool, resolution, wrong, line),
        also=also,
        help=f"exclude {names}, or use a separate NodePool and a class with the right image",
    )


def _find_named_types(
    pool: NodePool, families: Sequence[str], names: Sequence[str]
) -> tuple[RequirementLine | None, Node | None]:
    """Return the first line that lists one of these families or types, and the node of the value. (None, None) if
    none does.
    """
    for item in pool_requirements.requirements_of(pool):
        wanted = {keys.FAMILY: families, keys.INSTANCE_TYPE: names}.get(item.key, ())
        if item.operator == "In" and isinstance(item.at, RequirementLine):
            for value in item.values:
                if value.text in wanted:
                    return item.at, fixes.visible_node(value.node)
    return None, None


def _remove_wrong_types(
    pool: NodePool, resolution: resolve.Resolution, wrong: TypeSet, line: RequirementLine | None
) -> list[Edit]:
    left = resolution.candidates - wrong
    if not left or not resolution.varied_enough(left):
        return []
    families = resolution.families(wrong)
    if line is not None:
        return edits.if_editable(fixes.take_out, line, [*families, *resolution.catalog.names_in(wrong)])
    return edits.if_editable(fixes.keep_out, pool, keys.FAMILY, families)
