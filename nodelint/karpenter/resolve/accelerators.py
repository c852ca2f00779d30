"""Which instance types have GPUs, accelerators or other devices, and what they cost.

Prices are on-demand prices in us-east-1, in USD per hour.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from math import log2

from nodelint.base.tuples import NamedTuple
from nodelint.data import table
from nodelint.ec2.catalog import Catalog
from nodelint.ec2.type_set import TypeSet, union
from nodelint.model.keys import ACCELERATOR_COUNT, ACCELERATOR_NAME, CATEGORY, CPU, GPU_COUNT, MEMORY


def accelerated(catalog: Catalog) -> TypeSet:
    """Return the types that Karpenter labels with a GPU or an accelerator."""
    return catalog.having(GPU_COUNT) | catalog.having(ACCELERATOR_COUNT)


def special(catalog: Catalog) -> TypeSet:
    """Return the accelerated types, and the types of categories whose devices Karpenter has no label for."""
    return catalog.remembered(
        "special", lambda: accelerated(catalog) | catalog.having_value(CATEGORY, *table("resources")["unlabelled"])
    )


def devices(types: TypeSet, catalog: Catalog) -> dict[str, int]:
    """Return the GPU and accelerator resources of a set of types, each with the number of types that have it. Empty
    if some type has none.

    Types with a fraction of a GPU, which Karpenter counts as no GPU, are ignored.
    """
    whole = having_any_device(catalog)
    if types - accelerated(catalog) - whole:
        return {}
    counts = {device: len(types & having_device(device, catalog)) for device in table("resources")["devices"]}
    return {device: count for device, count in counts.items() if count}


def device_of(key: str) -> str | None:
    """Return the GPU or accelerator resource that a key of a taint or limit means. None for any other key."""
    facts = table("resources")
    found = facts["same_device"].get(key, key)
    return str(found) if found in facts["devices"] else None


def having_any_device(catalog: Catalog) -> TypeSet:
    """Return the types for which Karpenter counts at least one GPU or accelerator."""
    return union(having_device(device, catalog) for device in table("resources")["devices"])


def having_device(device: str, catalog: Catalog) -> TypeSet:
    """Return the types that have at least one of a device resource, as Karpenter counts it."""
    return catalog.resources.having(device)


def first_neuron(catalog: Catalog) -> TypeSet:
    """Return the types whose Neuron devices run only models of the first compiler, `neuron-cc`."""
    return catalog.having_value(ACCELERATOR_NAME, *table("resources")["compilers"]["neuron-cc"])


def image_vendors() -> Mapping[str, tuple[str, str]]:
    """Return, for each image variant with drivers, the vendor of its devices and the label that names the vendor."""
    return {variant: (vendor, key) for variant, (vendor, key) in table("resources")["images"].items()}


def cheapest(catalog: Catalog, types: TypeSet) -> tuple[float, str] | None:
    """Return the lowest price among a set of types, and the type with this price. None if no price is known."""
    return catalog.remembered(("cheapest", types), lambda: min(_prices(catalog, types), default=None))


def dearest(catalog: Catalog, types: TypeSet) -> tuple[float, str] | None:
    """Return the highest price among a set of types, and the type with this price. None if no price is known."""
    return catalog.remembered(("dearest", types), lambda: max(_prices(catalog, types), default=None))


def _prices(catalog: Catalog, types: TypeSet) -> list[tuple[float, str]]:
    priced = zip(types.select(catalog.prices.column()), catalog.names_in(types), strict=True)
    return [(price, name) for price, name in priced if price is not None]


class CheaperEquivalent(NamedTuple):
    """Two types with the same CPUs and memory. `saved` is the fraction of the price of `own` that `other` saves."""

    own: str
    other: str
    saved: float


def find_cheaper_pair(own: TypeSet, others: TypeSet, catalog: Catalog) -> CheaperEquivalent | None:
    """Return a representative pair of types with the same CPUs and memory: the cheapest of each set, whose saving is
    the median of all such pairs.

    Of pairs that save about as much, the pair nearest to 4 CPUs and 16 GiB is returned. None if no CPUs and memory
    occur in both sets.
    """
    return catalog.remembered(("cheaper twin", own, others), lambda: _find_median_pair(own, others, catalog))


def _find_median_pair(own: TypeSet, others: TypeSet, catalog: Catalog) -> CheaperEquivalent | None:
    twins = []
    own_by_shape, others_by_shape = (
        catalog.remembered(("cheapest of shapes", types), partial(_by_shape, catalog, types))
        for types in (own, others)
    )
    for shape, (price, name) in own_by_shape.items():
        if shape in others_by_shape and price:
            other, twin = others_by_shape[shape]
            twins.append((CheaperEquivalent(name, twin, 1 - other / price), _distance_from_common(*shape)))
    twins.sort(key=lambda pair: (pair[0].saved, pair[0].own))
    if not twins:
        return None
    median = twins[len(twins) // 2][0].saved
    alike = [(distance, twin) for twin, distance in twins if abs(twin.saved - median) < _LIKE_MEDIAN]
    return min(alike, key=lambda pair: (pair[0], pair[1].own))[1]


_LIKE_MEDIAN = 0.005
_COMMON_SHAPE = (4, 16 * 1024)
"""The CPUs and the MiB of an `xlarge` of the m families, which most readers know."""


def _distance_from_common(cpus: str | None, memory: str | None) -> float:
    """Return the number of doublings between given CPUs and memory and `_COMMON_SHAPE`."""
    return sum(abs(log2(float(size or of) / of)) for size, of in zip((cpus, memory), _COMMON_SHAPE, strict=True))


def _by_shape(catalog: Catalog, types: TypeSet) -> dict[tuple[str | None, str | None], tuple[float, str]]:
    """Return the price and name of the cheapest type for each pair of CPUs and memory."""
    cheapest: dict[tuple[str | None, str | None], tuple[float, str]] = {}
    cpus, memory = catalog.column(CPU), catalog.column(MEMORY)
    shapes = catalog.remembered("shapes of types", lambda: list(zip(cpus, memory, strict=True)))
    columns = (catalog.prices.column(), catalog.names, shapes)
    for price, name, shape in zip(*(types.select(column) for column in columns), strict=True):
        if price is not None and (shape not in cheapest or (price, name) < cheapest[shape]):
            cheapest[shape] = price, name
    return cheapest
