"""What a NodePool's `spec.limits` leave of its instance types.

The scheduler passes over each type whose capacity is more than what is left of a limit, resource by resource
(`filterByRemainingResources` of Karpenter core, 1.0.0 to 1.14.1); an empty pool has all of its limits left.
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
from nodelint.karpenter.resolve.resolution import Resolution
from nodelint.model import quantities
from nodelint.model.keys import CPU, MEMORY
from nodelint.model.manifest import NodePool
from nodelint.model.manifest_terms import Label, labels
from nodelint.model.quantities import ONE

_MIB = 1024**2 * ONE


class Limit(NamedTuple):
    """An entry of `spec.limits`: the resource, and how much of it in billionths (None if that is not known)."""

    at: Label
    resource: str
    amount: int | None


def limits(pool: NodePool) -> Sequence[Limit]:
    """Return the limits of a pool, in the order written, less those whose resource is a placeholder."""
    return pool.once("limits", (), lambda: tuple(_read_limits(pool)))


def _read_limits(pool: NodePool) -> Iterator[Limit]:
    for entry in labels(pool.find_field("spec", "limits")):
        if isinstance(entry.key, str):
            yield Limit(entry, entry.key, quantities.quantity_of(entry.node))


def beyond(limit: Limit, resolution: Resolution) -> TypeSet:
    """Return the candidates whose capacity exceeds a limit. A candidate of unknown capacity is not among them."""
    amount, catalog, types = limit.amount, resolution.catalog, resolution.candidates
    if amount is None:
        return NONE
    if limit.resource == "cpu":
        return types & _larger(catalog, CPU, amount // ONE)
    if limit.resource == "memory":
        types &= _larger(catalog, MEMORY, amount // _MIB)
    elif limit.resource not in OF_CLASS and amount >= 0:
        types &= catalog.resources.having(limit.resource)  # the others have none of it
    capacity = resolution.capacity

    def exceeds(name: str) -> bool:
        has = capacity.amount(limit.resource, name)
        return has is not None and has > amount

    return catalog.types_of(name for name in catalog.names_in(types) if exceeds(name)) if types else NONE


def some_fits(limits: Iterable[Limit], resolution: Resolution) -> bool:
    """Whether some candidate may be within all limits; quick where one of the first is."""
    catalog, capacity = resolution.catalog, resolution.capacity
    wanted = [(limit.resource, limit.amount) for limit in _counting(limits, catalog) if limit.amount is not None]

    def fits(name: str) -> bool:
        has = [(capacity.amount(resource, name), amount) for resource, amount in wanted]
        return all(own is None or own <= amount for own, amount in has)

    return any(map(fits, catalog.iterate_names(resolution.candidates)))


def _counting(limits: Iterable[Limit], catalog: Catalog) -> list[Limit]:
    """Return the limits that may keep a type out: a limit of a resource that no type has keeps none out."""
    of_types = {"cpu", "memory", *OF_CLASS, *catalog.resources.names}
    return [
        limit for limit in limits if limit.resource in of_types or (limit.amount is not None and limit.amount < 0)
    ]


def switched_off(limits: Iterable[Limit], resolution: Resolution) -> bool:
    """Whether a limit of 0 keeps every type out: how a pool is switched off on purpose."""
    return any(
        limit.amount == 0 and (limit.resource in _IN_EVERY_NODE or beyond(limit, resolution) == resolution.candidates)
        for limit in limits
    )


_IN_EVERY_NODE = ("cpu", "memory", "pods", "ephemeral-storage", "nodes")


def _larger(catalog: Catalog, key: str, most: int) -> TypeSet:
    """Return the types that have more of a label's number than `most`."""

    def make() -> tuple[list[int], list[TypeSet]]:
        sizes = sorted(((int(value), types) for value, types in catalog.values(key).items()), key=itemgetter(0))
        return [size for size, _ in sizes], [union(types for _, types in sizes[n:]) for n in range(len(sizes) + 1)]

    sizes, larger = catalog.remembered(("larger", key), make)
    return larger[bisect_right(sizes, most)]


def known_resource(name: str) -> bool:
    """Whether nodes can have a resource: with a domain any device plugin may bring one, unless it is a slip."""
    facts = table("resources")
    if name in facts["known"] or name.startswith(tuple(facts["families"])):
        return True
    return "/" in name and meant_resource(name) is None


def meant_resource(name: str) -> str | None:
    """Return the resource that another name was meant for: `cores`, `nvidia.com/gpus`."""
    plain = name.lower()
    found = table("resources")["synonyms"].get(plain)
    return plain if found is None and plain != name and known_resource(plain) else found


def smallest(resource: str, types: TypeSet, resolution: Resolution) -> tuple[str, str]:
    """Return the type of a set that has least of a resource, and how much: `4`, `16Gi`."""
    return min(_sized(resource, types, resolution))[1:]


def within(resolution: Resolution) -> TypeSet:
    """Return the candidates that the limits of the pool do not certainly keep out, however empty it is."""

    def work() -> TypeSet:
        left = resolution.candidates
        for limit in _counting(limits(resolution.pool), resolution.catalog):
            left -= beyond(limit, resolution)
        return left

    return resolution.pool.once("within", (resolution,), work)


def largest(resource: str, types: TypeSet, resolution: Resolution) -> tuple[str, str]:
    """Return the type of a set that has most of a resource, and how much."""
    return max(_sized(resource, types, resolution))[1:]


def _sized(resource: str, types: TypeSet, resolution: Resolution) -> list[tuple[int, str, str]]:
    capacity = resolution.capacity
    return [
        (capacity.amount(resource, name) or 0, name, capacity.format_amount(resource, name))
        for name in resolution.catalog.names_in(types)
    ]


def most_for_cpu(amount: int, types: TypeSet, catalog: Catalog) -> tuple[float, str] | None:
    """Return what a limit of CPUs (in billionths) costs at most, in USD per hour, and of which type."""
    found = []
    for name, price, (cpus, _) in zip(
        catalog.names_in(types), types.select(catalog.prices.column()), types.select(_sizes(catalog)), strict=True
    ):
        if price is not None and cpus and amount >= cpus * ONE:
            found.append((amount // (cpus * ONE) * price, name))
    return max(found, default=None)


def _sizes(catalog: Catalog) -> list[tuple[int, int]]:
    """Return the CPUs and the MiB of memory of each type, in the order of names; 0 for what is not known."""

    def make() -> list[tuple[int, int]]:
        columns = ([int(value or "0") for value in catalog.column(key)] for key in (CPU, MEMORY))
        return list(zip(*columns, strict=True))

    return catalog.remembered("cpus-and-memory", make)


class Shapes(NamedTuple):
    """The sizes of the types of a set: `first` and `last` are the names that each begins and ends with.

    `ratios` are the GiB per CPU of each type, in ascending order; None if a size is not known. `extremes` are the
    least and the most CPUs, and the least and the most MiB, each with its type.
    """

    first: dict[tuple[int, int], str]
    last: dict[tuple[int, int], str]
    ratios: list[float] | None
    extremes: tuple[tuple[tuple[int, str], tuple[int, str]], ...]


def _shapes(catalog: Catalog, types: TypeSet) -> Shapes:
    """Return the sizes of a set's types, worked out once: pools that keep the same types are many."""

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
    """Return the least and the most memory, in GiB, that comes with a limit of CPUs (in billionths), each with its
    type.
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
    """How many nodes of a type a limit allows; what the type has of its resource, and their price per hour."""

    limit: Limit
    nodes: int
    type: str
    amount: str
    cost: float | None


class Growth(NamedTuple):
    """Bounds on a pool's size under its limits of CPUs and memory.

    `most` is the number of nodes if all are of the smallest type, `fewest` if all are of the
    largest type. `cpus` are reached at most where
    memory ends it, `gibs` (GiB of memory) where CPUs do. `least`, `middle` and `greatest` are the GiB per CPU of its
    `types`.
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
"""The least part of its type's memory that Karpenter counts of a node."""


def growth(counted: Sequence[Limit], resolution: Resolution) -> Growth | None:
    """Return how far limits of `cpu` and `memory` let a pool grow; None if no type is within them."""
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
    """Return the cheapest type of most memory where few of it use up that limit; the nodes that the one of CPUs
    allows.

    None unless all types have the same number of CPUs, so that the limit of CPUs counts nodes, and unless it allows
    twice as many of them or more.
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
