"""Which instance types a NodePool can launch within its `spec.limits`.

The scheduler skips each type whose capacity is more than the rest of a limit, resource by resource
(`filterByRemainingResources` of Karpenter core, 1.0.0 to 1.14.1). An empty pool has used nothing of its limits.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter

from nodelint.base.tuples import NamedTuple
from nodelint.data import table
from nodelint.ec2.catalog import Catalog
from nodelint.ec2.type_set import NONE, TypeSet, union
from nodelint.karpenter.resolve.capacity import OF_CLASS
from nodelint.karpenter.resolve.effects import MinValues
from nodelint.karpenter.resolve.resolution import Resolution
from nodelint.model import quantities
from nodelint.model.keys import CPU, MEMORY
from nodelint.model.manifest import NodePool
from nodelint.model.manifest_terms import Label, labels
from nodelint.model.quantities import ONE

_MIB = 1024**2 * ONE


class Limit(NamedTuple):
    """An entry of `spec.limits`: the resource, and its amount in billionths (None if it is not known)."""

    at: Label
    resource: str
    amount: int | None


def limits(pool: NodePool) -> Sequence[Limit]:
    """Return the limits of a pool in the order of the file, without those whose resource is a placeholder."""
    return pool.once("limits", (), lambda: tuple(_read_limits(pool)))


def _read_limits(pool: NodePool) -> Iterator[Limit]:
    for entry in labels(pool.find_field("spec", "limits")):
        if isinstance(entry.key, str):
            yield Limit(entry, entry.key, quantities.quantity_of(entry.node))


def beyond(limit: Limit, resolution: Resolution) -> TypeSet:
    """Return the candidates whose capacity exceeds a limit. Candidates of unknown capacity are not included."""
    amount, catalog, types = limit.amount, resolution.catalog, resolution.candidates
    if amount is None:
        return NONE
    if limit.resource == "cpu":
        return types & _larger(catalog, CPU, amount // ONE)
    if limit.resource == "memory":
        types &= _larger(catalog, MEMORY, amount // _MIB)
    elif limit.resource not in OF_CLASS and amount >= 0:
        types &= catalog.resources.having(limit.resource)  # the other types have none of the resource
    capacity = resolution.capacity

    def exceeds(name: str) -> bool:
        has = capacity.amount(limit.resource, name)
        return has is not None and has > amount

    return catalog.types_of(name for name in catalog.names_in(types) if exceeds(name)) if types else NONE


def some_fits(limits: Iterable[Limit], resolution: Resolution) -> bool:
    """Return whether some candidate may be within all limits. A candidate of unknown capacity may be. Fast if one of
    the first candidates is.
    """
    catalog, capacity = resolution.catalog, resolution.capacity
    wanted = [(limit.resource, limit.amount) for limit in _counting(limits, catalog) if limit.amount is not None]

    def fits(name: str) -> bool:
        has = [(capacity.amount(resource, name), amount) for resource, amount in wanted]
        return all(own is None or own <= amount for own, amount in has)

    return any(map(fits, catalog.iterate_names(resolution.candidates)))


def _counting(limits: Iterable[Limit], catalog: Catalog) -> list[Limit]:
    """Return the limits that may exclude a type. A limit of a resource that no type has excludes none, unless it is
    negative.
    """
    of_types = {"cpu", "memory", *OF_CLASS, *catalog.resources.names}
    return [
        limit for limit in limits if limit.resource in of_types or (limit.amount is not None and limit.amount < 0)
    ]


def switched_off(limits: Iterable[Limit], resolution: Resolution) -> bool:
    """Return whether a limit of 0 excludes every type: people disable a pool in this way."""
    return any(
        limit.amount == 0 and (limit.resource in _IN_EVERY_NODE or beyond(limit, resolution) == resolution.candidates)
        for limit in limits
    )


_IN_EVERY_NODE = ("cpu", "memory", "pods", "ephemeral-storage", "nodes")


def _larger(catalog: Catalog, key: str, most: int) -> TypeSet:
    """Return the types whose number for a label is larger than `most`."""

    def make() -> tuple[list[int], list[TypeSet]]:
        sizes = sorted(((int(value), types) for value, types in catalog.values(key).items()), key=itemgetter(0))
        return [size for size, _ in sizes], [union(types for _, types in sizes[n:]) for n in range(len(sizes) + 1)]

    sizes, larger = catalog.remembered(("larger", key), make)
    return larger[bisect_right(sizes, most)]


def known_resource(name: str) -> bool:
    """Return whether nodes can have a resource. With a domain, any device plugin may add it, unless the name is a
    misspelled known one.
    """
    facts = table("resources")
    if name in facts["known"] or name.startswith(tuple(facts["families"])):
        return True
    return "/" in name and meant_resource(name) is None


def meant_resource(name: str) -> str | None:
    """Return the resource that was probably meant by a wrong name, such as `cores` or `nvidia.com/gpus`. None if
    there is none.
    """
    plain = name.lower()
    found = table("resources")["synonyms"].get(plain)
    return plain if found is None and plain != name and known_resource(plain) else found


def smallest(resource: str, types: TypeSet, resolution: Resolution) -> tuple[str, str]:
    """Return the type with the smallest amount of a resource, and the amount: `4`, `16Gi`."""
    return min(_sized(resource, types, resolution))[1:]


def within(resolution: Resolution) -> TypeSet:
    """Return the candidates that an empty pool may launch within its limits. Candidates of unknown capacity are
    included.
    """

    def work() -> TypeSet:
        left = resolution.candidates
        for limit in _counting(limits(resolution.pool), resolution.catalog):
            left -= beyond(limit, resolution)
        return left

    return resolution.pool.once("within", (resolution,), work)


def unmet_within(resolution: Resolution) -> list[tuple[MinValues, int]]:
    """Return each minValues that the candidates meet, but not those within the limits, with the number of values that
    are left.

    Karpenter first skips the types beyond the limits, and then counts the values. Empty if no type is left.
    """
    left = within(resolution)
    least = [least for least in resolution.min_values if least.met and not resolution.meets(least, left)]
    if not left or resolution.pool.static:
        return []
    return [(min_values, len(resolution.distinct(min_values.key, left) or ())) for min_values in least]


def largest(resource: str, types: TypeSet, resolution: Resolution) -> tuple[str, str]:
    """Return the type with the largest amount of a resource, and the amount."""
    return max(_sized(resource, types, resolution))[1:]


def _sized(resource: str, types: TypeSet, resolution: Resolution) -> list[tuple[int, str, str]]:
    capacity = resolution.capacity
    return [
        (capacity.amount(resource, name) or 0, name, capacity.format_amount(resource, name))
        for name in resolution.catalog.names_in(types)
    ]


def most_for_cpu(amount: int, types: TypeSet, catalog: Catalog) -> tuple[float, str] | None:
    """Return the highest price, in USD per hour, of nodes of one type within a limit of CPUs (in billionths), and the
    type.

    None if no type with a known price is within the limit.
    """
    found = []
    for name, price, (cpus, _) in zip(
        catalog.names_in(types), types.select(catalog.prices.column()), types.select(_sizes(catalog)), strict=True
    ):
        if price is not None and cpus and amount >= cpus * ONE:
            found.append((amount // (cpus * ONE) * price, name))
    return max(found, default=None)


def _sizes(catalog: Catalog) -> list[tuple[int, int]]:
    """Return the CPUs and the MiB of memory of each type, in the order of names. 0 for an unknown number."""

    def make() -> list[tuple[int, int]]:
        columns = ([int(value or "0") for value in catalog.column(key)] for key in (CPU, MEMORY))
        return list(zip(*columns, strict=True))

    return catalog.remembered("cpus-and-memory", make)


class Shapes(NamedTuple):
    """The sizes (CPUs, MiB) of a set of types. `first` and `last` are the first and the last name with each size.

    `ratios` are the GiB per CPU of each type, in ascending order; None if a size is not known. `extremes` are the
    fewest and the most CPUs, and the least and the most MiB, each with its type.
    """

    first: dict[tuple[int, int], str]
    last: dict[tuple[int, int], str]
    ratios: list[float] | None
    extremes: tuple[tuple[tuple[int, str], tuple[int, str]], ...]


def _shapes(catalog: Catalog, types: TypeSet) -> Shapes:
    """Return the sizes of a set of types, computed once for all pools with this set."""

    def make() -> Shapes:
        names, sizes = catalog.names_in(types), types.select(_sizes(catalog))
        first, last = dict(zip(sizes[::-1], names[::-1], strict=True)), dict(zip(sizes, names, strict=True))
        known = not any(0 in size for size in first)
        ratios = sorted(memory / 1024 / cpus for cpus, memory in sizes) if known else None
        extremes = [
            (
                min((size[at], name) for size, name in first.items()),
                max((size[at], name) for size, name in last.items()),
            )
            for at in (0, 1)
            if first
        ]
        return Shapes(first, last, ratios, tuple(extremes))

    return catalog.remembered(("shapes", types), make)


def memory_for_cpu(amount: int, types: TypeSet, catalog: Catalog) -> tuple[tuple[int, str], tuple[int, str]] | None:
    """Return the least and the most memory, in GiB, of nodes of one type within a limit of CPUs (in billionths), each
    with the type.

    None if no type is within the limit.
    """
    shapes = _shapes(catalog, types)
    found = [
        (amount * mebibytes // (cpus * ONE * 1024), (cpus, mebibytes))
        for cpus, mebibytes in shapes.first
        if cpus and amount >= cpus * ONE
    ]
    if not found:
        return None
    least = min((gibs, shapes.first[size]) for gibs, size in found)
    return least, max((gibs, shapes.last[size]) for gibs, size in found)


class Reach(NamedTuple):
    """The number of nodes of a type that a limit allows, the type's amount of the resource, and the price of all
    these nodes in USD per hour.
    """

    limit: Limit
    nodes: int
    type: str
    amount: str
    cost: float | None


class Growth(NamedTuple):
    """Bounds on a pool's size under its limits of CPUs and memory.

    `most` is the number of nodes if all are of the smallest type, `fewest` if all are of the largest type. `cpus` are
    the most CPUs if the memory limit is reached, `gibs` the most GiB of memory if the CPU limit is reached. `least`,
    `middle` and `greatest` are the GiB per CPU of its types, and `types` is their number.
    """

    most: Reach
    fewest: Reach
    cpus: float
    gibs: float
    least: float
    middle: float
    greatest: float
    types: int


_COUNTED = 0.9
"""The smallest fraction of a type's memory that Karpenter counts for a node."""


def growth(counted: Sequence[Limit], resolution: Resolution) -> Growth | None:
    """Return the sizes to which limits of `cpu` and `memory` let a pool grow.

    None if no type is within the limits, or if the size of one is not known.
    """
    catalog, types = resolution.catalog, resolution.candidates
    for limit in counted:
        types -= beyond(limit, resolution)
    shapes = _shapes(catalog, types)
    ratios = shapes.ratios
    if not ratios:
        return None
    most: list[Reach] = []
    fewest: list[Reach] = []
    for limit in counted:
        at, unit = (0, ONE) if limit.resource == "cpu" else (1, _MIB)
        total = (limit.amount or 0) / unit
        small, large = shapes.extremes[at]
        share = _COUNTED if at else 1
        for found, (size, name), part in ((most, small, share), (fewest, large, 1)):
            price, nodes = catalog.prices.on_demand(name), int(total / (size * part))
            cost = None if price is None else price * nodes
            found.append(Reach(limit, nodes, name, f"{size / 1024:g}Gi" if at else str(size), cost))
    amounts = {limit.resource: limit.amount or 0 for limit in counted}
    return Growth(
        min(most, key=lambda reach: reach.nodes),
        min(fewest, key=lambda reach: reach.nodes),
        amounts.get("memory", 0) / _MIB / 1024 / ratios[0],
        amounts.get("cpu", 0) / ONE * ratios[-1],
        ratios[0],
        ratios[len(ratios) // 2],
        ratios[-1],
        len(ratios),
    )


def crowding(cpu: Limit, memory: Limit, resolution: Resolution) -> tuple[Reach, int] | None:
    """Return the type with the most memory, of which a few nodes use up the memory limit, and the number of nodes
    that the CPU limit allows.

    None if the types have different numbers of CPUs, so that the CPU limit is no number of nodes. None if the CPU
    limit allows less than twice as many nodes as the memory limit.
    """
    catalog, total = resolution.catalog, (memory.amount or 0) / _MIB
    types = resolution.candidates - beyond(cpu, resolution) - beyond(memory, resolution)
    sizes = {name: int(catalog.label(name, MEMORY) or "0") * _COUNTED for name in catalog.names_in(types)}
    cpus = catalog.distinct(CPU, types)
    if len(cpus) != 1 or not all(sizes.values()):
        return None
    name = max(
        sizes, key=lambda resource: (sizes[resource], -(catalog.prices.on_demand(resource) or float("inf")), resource)
    )
    nodes = int(total / sizes[name])
    allowed = int((cpu.amount or 0) / (int(*cpus) * ONE))
    if nodes * 2 > allowed or total - nodes * sizes[name] >= min(sizes.values()):
        return None
    return Reach(memory, nodes, name, f"{sizes[name] / _COUNTED / 1024:g}Gi", None), allowed
