r"""A NodePool allows only families that are three or more generations older than the newest of their kind.

Newer families of the same category and architecture have the same sizes and do more for each CPU. Some cost less:
`m6a.large` is 10 % cheaper than `m5.large`. More families also give spot more capacity to choose from. Many tutorials
use `m5` and `c5`, and so do old lists. The rule does not compare GPU and accelerator types. Burstable types have no
newer generation on amd64. If no newer type costs less, only `--select` or `--extend-select` shows the finding. The
prices are on-demand prices in us-east-1.

```yaml bad frame=pool
spec.template.spec.requirements:
  - {key: karpenter.k8s.aws/instance-family, operator: In, values: [c5, m5]}
```

```yaml good frame=bad
spec.template.spec.requirements:
  - {key: karpenter.k8s.aws/instance-family, operator: In, values: [c6a, c6i, m6a, m6i, m7i]}
```
"""

from nodelint.api import (
    Context,
    Finding,
    Findings,
    NodePool,
    TypeSet,
    catalog,
    fixes,
    keys,
    labels,
    messages,
    pool_requirements,
    resolve,
    rule,
    type_set,
)

EQUAL = 0.005
"""The part of a price up to which two types cost the same."""


@rule(
    on=NodePool,
    group="practice",
    severity="info",
    gives_way_to=["no-instance-type", "unmatchable-value", "old-generations", "removed-api"],
    providers=["aws", "auto-mode"],
    options={"generations": "a family is reported if it is this many generations older than the newest"},
    subject="instance types",
    source="https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instance-types.html",
)
def check(pool: NodePool, context: Context, *, generations: int = 3) -> Findings:
    telling = [
        item
        for item in pool_requirements.requirements_of(pool)
        if (item.key in (keys.FAMILY, keys.INSTANCE_TYPE) and item.operator == "In")
        or (item.key == keys.GENERATION and item.operator in ("In", "Lt", "Lte"))
    ]
    if pool.partial or not telling:
        return
    resolution = context.resolution(pool)
    types = resolution.catalog
    left = resolution.candidates - resolve.special(types) - types.having_value(keys.CATEGORY, "t")
    newer = types.remembered(f"newer by {generations}", lambda: _newer(types, generations))
    if not left or any(not newer.get(family) for family in resolution.families(left)):
        return
    if left & types.having_value(keys.HYPERVISOR, "xen") == left:
        return  # old-generations says so
    others = type_set.union(newer[family] for family in resolution.families(left))
    yield Finding(
        at=fixes.visible_node(telling[0].key_node),
        on_request=not _is_dearer(left, others, resolution),
        message=_message(left, others, resolution, generations),
        help=_examples(left, newer, resolution),
    )


def _newer(types: catalog.Catalog, least: int) -> dict[str, TypeSet]:
    """Return for each family that is so far behind the newer types of its category and architecture."""
    found: dict[str, TypeSet] = {}
    generations = {value: of for value, of in types.values(keys.GENERATION).items() if value.isdigit()}
    plain = types.all_types - resolve.special(types) - labels.flex_types(types)
    for family, of_family in types.values(keys.FAMILY).items():
        mine = max((int(value) for value, of in generations.items() if of & of_family), default=None)
        if mine is None:
            continue
        disks = types.having(keys.LOCAL_NVME)
        kin = plain & disks if of_family & disks else plain
        for key in (keys.CATEGORY, keys.ARCH):
            kin &= type_set.union(of for of in types.values(key).values() if of & of_family)
        ahead = {int(value): of & kin for value, of in generations.items() if int(value) > mine and of & kin}
        if ahead and max(ahead) - mine >= least:
            found[family] = type_set.union(ahead.values())
    return found


def _alike(left: TypeSet, others: TypeSet, types: catalog.Catalog) -> tuple[TypeSet, TypeSet]:
    """What of both sets can be compared: bare metal with its like alone, and disks with disks."""
    metal = types.having_value(keys.SIZE, *(size for size in types.values(keys.SIZE) if size.startswith("metal")))
    disks = types.having(keys.LOCAL_NVME)
    for special in (metal, disks):
        ordinary = left - special
        left, others = (ordinary, others - special) if ordinary else (left, others & special)
    return left, others


def _examples(left: TypeSet, newer: dict[str, TypeSet], resolution: resolve.Resolution) -> str:
    """Return the newest families that cost no more, if possible without disks or more network.

    If every newer family costs more, return those of the generation before the newest, which most regions have.
    """
    types = resolution.catalog
    cheap: list[str] = []
    others: list[str] = []
    for family in resolution.families(left):
        own = left & types.having_value(keys.FAMILY, family)
        generations = sorted(types.distinct(keys.GENERATION, newer[family]), key=int, reverse=True)
        for place, generation in enumerate(generations):
            of_it = newer[family] & types.having_value(keys.GENERATION, generation)
            names = resolution.families(of_it)
            for name in [name for name in names if name.partition(generation)[2] in ("", "a", "g", "i")] or names[:2]:
                twin = resolve.find_cheaper_pair(own, types.having_value(keys.FAMILY, name), types)
                cheap += [name] if twin is not None and twin.saved >= 0 else []
                others += [name] if place == min(1, len(generations) - 1) else []
    named = ", ".join(f"`{name}`" for name in list(dict.fromkeys(cheap or others))[:6])
    if cheap:
        return f"add newer families of the same sizes that cost no more: {named}"
    return f"add newer families of the same sizes, which do more per CPU but cost more: {named}"


def _is_dearer(left: TypeSet, others: TypeSet, resolution: resolve.Resolution) -> bool:
    """Whether a newer type of the same CPUs and memory costs less."""
    twin = resolve.find_cheaper_pair(*_alike(left, others, resolution.catalog), resolution.catalog)
    return twin is not None and twin.saved > EQUAL


def _message(left: TypeSet, others: TypeSet, resolution: resolve.Resolution, behind: int) -> str:
    families = resolution.families(left)
    listed = messages.short(", ".join(f"`{family}`" for family in families), 30)
    old = f"{listed} {'is' if len(families) == 1 else 'are'} {behind} or more generations old"
    twin = resolve.find_cheaper_pair(*_alike(left, others, resolution.catalog), resolution.catalog)
    if twin is None:
        return old
    if twin.saved <= EQUAL:
        return messages.first_fitting(f"{old}: `{twin.other}` has the same CPUs and memory as `{twin.own}`", old)
    return messages.first_fitting(f"{old}: `{twin.other}` costs {twin.saved:.0%} less than `{twin.own}`", old)
