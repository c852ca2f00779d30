"""Instance types in `nodelint explain`: prices, allocatable resources, and their number of different values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from nodelint.ec2.catalog import Catalog
from nodelint.ec2.type_set import TypeSet
from nodelint.karpenter.resolve.node_size import NodeSizes, sizes_of
from nodelint.karpenter.resolve.readiness import find_launched_types, unmet_by_cheapest
from nodelint.karpenter.resolve.resolution import Resolution
from nodelint.model.keys import CPU, MEMORY
from nodelint.model.messages import list_first
from nodelint.report.json_text import JsonLine
from nodelint.report.style import wrap

_SHOWN = ("cpu", "memory", "ephemeral-storage", "pods")
"""The columns of the table: the resources of an instance type that pods can use."""


class TypeRows:
    """JSON rows of instance types, shared by pools: the text of a row is then made once.

    Pools whose classes give nodes different sizes, and pools to which overlays apply, have rows of their own.
    """

    def __init__(self) -> None:
        self._rows: dict[tuple[int, int], tuple[Catalog, NodeSizes, dict[tuple[object, ...], JsonLine]]] = {}
        self._launched: dict[tuple[float, str], JsonLine] = {}

    def list_types(self, resolution: Resolution) -> list[JsonLine]:
        """Return a row for each type that a pool can launch, sorted by name."""
        catalog = resolution.catalog
        arch = {name: key for key, types in resolution.arches.items() for name in catalog.names_in(types)}
        launched = frozenset(catalog.names_in(find_launched_types(resolution)))
        sizes = sizes_of(resolution.node_class, resolution.images, catalog)
        rows: dict[tuple[object, ...], JsonLine] = {}
        if not resolution.price_changes and not resolution.overlay_capacity:
            # Both are held, so that their ids are given to nothing else.
            rows = self._rows.setdefault((id(catalog), id(sizes)), (catalog, sizes, rows))[2]
        found = []
        for name, image in sorted(resolution.image_of.items()):
            if name not in launched:
                continue
            key = name, arch[name], image
            if key not in rows:
                named = {"name": name, "arch": arch[name], "image": image}
                rows[key] = JsonLine({**named, **_type_json(resolution, name)})
            found.append(rows[key])
        return found

    def launch_order(self, resolution: Resolution) -> list[JsonLine] | None:
        """Return the types and prices in the order in which an on-demand launch tries them.

        None if the pool does not allow on-demand. GPU, accelerator and bare metal types come in only if there are no
        others. The number of types is limited. Spot prices are not known.
        """
        if "on-demand" not in resolution.capacity_types:
            return None
        catalog = resolution.catalog
        left = find_launched_types(resolution)
        if not any(requirement.min_values is not None for requirement in resolution.folded):
            left = left - rare_types(catalog) or left
        priced = [(price, name) for price, name in resolution.prices.list_prices(left) if price is not None]
        chosen = sorted(priced)[: resolution.most_launched]
        for price, name in chosen:
            if (price, name) not in self._launched:
                self._launched[price, name] = JsonLine({"name": name, "pricePerHour": price})
        return [self._launched[row] for row in chosen]


def _type_json(resolution: Resolution, name: str) -> dict[str, Any]:
    """Return price, size and allocatable resources of a type. `ready` is True, for readers of older versions."""
    catalog = resolution.catalog
    return {
        "pricePerHour": resolution.prices.in_region(name, resolution.prices.region),
        "vcpu": _number(catalog.label(name, CPU)),
        "memoryMiB": _number(catalog.label(name, MEMORY)),
        "allocatable": _allocatable(resolution, name),
        "ready": True,
    }


def _allocatable(resolution: Resolution, name: str) -> dict[str, str | None] | None:
    """Return the allocatable resources of a type; an unknown amount is None. None if the class leaves all unknown."""
    sizes = sizes_of(resolution.node_class, resolution.images, resolution.catalog)
    if not sizes.exact:
        return None
    return {**sizes.written_allocatable(name), **resolution.overlay_capacity.get(name, {})}


_RARE = (
    "nvidia.com/gpu",
    "amd.com/gpu",
    "aws.amazon.com/neuron",
    "aws.amazon.com/neuroncore",
    "habana.ai/gaudi",
)
"""Karpenter avoids instance types with these resources while there are others (its ExoticInstanceTypeFilter)."""


def rare_types(catalog: Catalog) -> TypeSet:
    """Return the types with GPUs or accelerators and bare metal types: Karpenter tries them only if there are no
    others.
    """

    def find() -> TypeSet:
        metal = [n for n, name in enumerate(catalog.names) if "metal" in name.partition(".")[2]]
        found = TypeSet.from_positions(metal)
        for resource in _RARE:
            found |= catalog.resources.having(resource)
        return found

    return catalog.remembered("rare types", find)


def type_table(resolution: Resolution, count: int | None, width: int) -> Iterator[str]:
    """Yield the launchable types, the cheapest first: `count` of them, or all with allocatable resources if `count`
    is None.
    """
    if not find_launched_types(resolution) or count == 0:
        return
    if resolution.capacity_types and "on-demand" not in resolution.capacity_types:
        only = " and ".join(resolution.capacity_types)
        yield from wrap(
            f"the pool launches only {only} capacity; these are the on-demand prices of its types",
            width,
            "  ",
        )
    listed = [*resolution.prices.list_prices(find_launched_types(resolution))]
    priced = [(price, name) for price, name in listed if price is not None]
    without = [name for price, name in listed if price is None]
    rows = [_row(resolution, price, name, count is None) for price, name in sorted(priced)[:count]]
    if count is None:
        heads = ("", "price", "vCPU", "memory", *(f"pods: {what}" for what in _SHOWN[:-1]), "pods", "image")
        rows.insert(0, heads)
        rows += [_row(resolution, None, name, True) for name in without]
    yield from _table(rows)
    if without and count is not None:
        yield from wrap(f"price not known: {list_first(without, 3)}", width, "  ")


def _row(resolution: Resolution, price: float | None, name: str, whole: bool) -> tuple[str, ...]:
    catalog = resolution.catalog
    image = resolution.images.images[resolution.image_of[name]]
    what = f"{image.arch} {'/'.join(image.variants)}".rstrip() if image.known else "?"
    left = _allocatable(resolution, name) or {}
    return (
        name,
        "?" if price is None else f"${price:,.4f}/h",
        f"{catalog.label(name, CPU)} vCPU",
        _memory(catalog.label(name, MEMORY)),
        *((left.get(resource) or "not known" for resource in _SHOWN) if whole else ()),
        f"{image.found.id} {what}" if image.found is not None else what,
    )


def _table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for name, *middle, image in rows:
        cells = "  ".join(f"{cell:>{room}}" for cell, room in zip(middle, widths[1:-1], strict=True))
        yield f"  {name:<{widths[0]}}  {cells}  {image}"


def min_value_lines(resolution: Resolution, width: int) -> Iterator[str]:
    """Yield for each minValues how many values are required, how many exist, and how many the cheapest types have."""
    few = {least.key: have for least, have in unmet_by_cheapest(resolution)}
    relaxed = "minValuesPolicy is BestEffort: types are launched anyway"
    unmet = relaxed if resolution.min_values_relaxed else "under the policy Strict nothing is launched"
    for least in resolution.min_values:
        if least.have is None:
            verdict = "how many there are is known to AWS only"
        elif not least.met:
            verdict = f"only {least.have:,} there ({unmet})"
        elif least.key in few:
            tried = f"{few[least.key]:,} among the cheapest {resolution.most_launched} that are tried"
            verdict = f"{least.have:,} there, {tried} ({unmet})"
        else:
            verdict = f"{least.have:,} there"
        yield from wrap(f"{least.key}: {least.wanted:,} wanted, {verdict}", width, "  ")


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdigit() else None


def _memory(mebibytes: str | None) -> str:
    if mebibytes is None or not mebibytes.isdigit():
        return "?"
    return f"{int(mebibytes) / 1024:,.4g} GiB" if int(mebibytes) < 1024 * 1000 else f"{int(mebibytes) // 1024:,} GiB"


def overlay_lines(resolution: Resolution, width: int) -> Iterator[str]:
    """Yield the NodeOverlays that change prices and capacity, and the resources that they add."""
    if not resolution.overlay_names:
        return
    names = ", ".join(resolution.overlay_names)
    words = f"{names}: applied to prices and capacity (the feature gate NodeOverlay is off by default)"
    yield from wrap(words, width, "  ")
    brought = Counter(
        (resource, amount)
        for name in resolution.catalog.names_in(find_launched_types(resolution))
        for resource, amount in resolution.overlay_capacity.get(name, {}).items()
    )
    for (resource, amount), count in sorted(brought.items()):
        yield from wrap(f"{resource}: {amount} on {count:,} of the types that can be launched", width, "  ")
