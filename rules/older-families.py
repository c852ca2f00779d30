r"""A NodePool allows only families that are three or more generations older than the newest of their kind.

Newer families of the same category and architecture have the same sizes and do more for each CPU. Some cost less:
`m6a.large` is 10 % cheaper than `m5.large`. More families also give spot more capacity to choose from. Many tutorials
use `m5` and `c5`, and so do old lists. The rule does not compare GPU and accelerator types. Burstable types have no
newer generation on amd64. If no newer type costs 5 % less, the rule reports nothing. The prices are on-demand
prices in us-east-1.

```yaml bad frame=pool
spec.template.spec.requirements:
  - {key: karpenter.k8s.aws/instance-family, operator: In, values: [c5, m5]}
```

```yaml good frame=bad
spec.template.spec.requirements:
  - {key: karpenter.k8s.aws/instance-family, operator: In, values: [c6a, c6i, m6a, m6i, m7i]}
```
"""

from collections.abc import Sequence

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


@rule(
    on=NodePool,
    group="practice",
    severity="info",
    gives_way_to=["no-instance-type", "unmatchable-value", "old-generations", "removed-api"],
    providers=["aws", "auto-mode"],
    options={
        "generations": "a family is reported if it is this many generations older than the newest",
        "saved": "the part of the price that a newer type must save",
    },
    subject="instance types",
    source="https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instance-types.html",
)
def check(pool: NodePool, context: Context, *, generations: int = 3, saved: float = 0.05) -> Findings:
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
    twin = resolve.find_cheaper_pair(*_alike(left, others, types), types)
    if twin is None or twin.saved < saved:
        return
    yield Finding(
        at=fixes.visible_node(telling[0].key_node),
        message=_message(resolution.families(left), twin, generations),
        help=_examples(left, newer, resolution),
    )


def _newer(types: catalog.Catalog, least: int) -> dict[str, TypeSet]:
    """Return, for each old family, the newer instance types with the same category and architecture.

    A family is old if its generation is at least `least` behind the newest of these.
    """
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
    """Return the instance types of both sets that can be compared: bare metal only with bare metal, and types with
    local disks only with such types.
    """
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


def _message(families: Sequence[str], twin: resolve.CheaperEquivalent, behind: int) -> str:
    listed = messages.short(", ".join(f"`{family}`" for family in families), 30)
    old = f"{listed} {'is' if len(families) == 1 else 'are'} at least {behind} generations behind the newest"
    return messages.first_fitting(f"{old}: `{twin.other}` costs {twin.saved:.0%} less than `{twin.own}`", old)
