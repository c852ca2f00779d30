"""The instance types and images that a pool can launch before and after a change."""

from __future__ import annotations

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.karpenter.resolve.readiness import launched

if TYPE_CHECKING:
    from nodelint.ec2.catalog import Catalog
    from nodelint.ec2.type_set import TypeSet
    from nodelint.karpenter.resolve import Resolution


class Price(NamedTuple):
    """The cheapest type that a pool can launch on demand, and its price in USD per hour."""

    type: str
    price: float


class Launch(NamedTuple):
    """The number of launchable types on both sides (0 without such a side), and the types and images that only one
    side has.

    If a side is not known in full, a placeholder may exclude types, and another type may be the cheapest.
    """

    before: int
    after: int
    gained: tuple[str, ...]
    lost: tuple[str, ...]
    images_gained: tuple[str, ...]
    images_lost: tuple[str, ...]
    cheapest_before: Price | None
    cheapest_after: Price | None
    before_known: bool = True
    after_known: bool = True

    def show_counts(self) -> tuple[str, str]:
        """Return the number of launchable types on both sides, as text."""
        sides = ((self.before, self.before_known), (self.after, self.after_known))
        before, after = (f"{count:,}" if known or not count else f"at most {count:,}" for count, known in sides)
        return before, after

    @property
    def cheapest_known(self) -> bool:
        """Return whether the cheapest type of both sides is known."""
        return self.before_known and self.after_known


def launch(before: Resolution | None, after: Resolution | None, region: str) -> Launch:
    """Return the number of types that two resolutions of a pool can launch, and the types that only one of them can
    launch. Prices are on-demand prices in `region`.
    """
    if before is not None and before is after:
        count, cheapest = len(launched(before)), _cheapest(before, region)
        known = before.complete
        return Launch(count, count, (), (), (), (), cheapest, cheapest, known, known)
    gained, lost = _only(after, before), _only(before, after)
    was, now = _images(before), _images(after)
    if any(side is not None and side.node_class is None for side in (before, after)):
        was = now = []  # without the class its images are not known
    return Launch(
        before=len(launched(before)) if before is not None else 0,
        after=len(launched(after)) if after is not None else 0,
        gained=gained,
        lost=lost,
        images_gained=tuple(image for image in now if image not in was),
        images_lost=tuple(image for image in was if image not in now),
        cheapest_before=_cheapest(before, region),
        cheapest_after=_cheapest(after, region),
        before_known=before is None or before.complete,
        after_known=after is None or after.complete,
    )


def _only(resolution: Resolution | None, other: Resolution | None) -> tuple[str, ...]:
    """Return the launchable types that `resolution` has and `other` lacks, sorted."""
    if resolution is None or resolution is other:
        return ()
    if other is not None and other.catalog.names == resolution.catalog.names:
        return tuple(resolution.catalog.iterate_names(launched(resolution) - launched(other)))
    names = resolution.catalog.names_in(launched(resolution))
    if other is None:
        return tuple(sorted(names))
    return tuple(sorted(set(names).difference(other.catalog.names_in(launched(other)))))


def _images(resolution: Resolution | None) -> list[str]:
    """Return the images of a class by their id, or by the text that selects them."""
    if resolution is None:
        return []
    found = []
    for image in resolution.images.images:
        name = image.id or image.label
        if name and name not in found:
            found.append(name)
    return found


def _cheapest(resolution: Resolution | None, region: str) -> Price | None:
    if resolution is None or "on-demand" not in resolution.capacity_types:
        return None
    catalog, types = resolution.catalog, launched(resolution)
    return catalog.remembered(("cheapest", region, types), lambda: _find_cheapest(catalog, types, region))


def _find_cheapest(catalog: Catalog, types: TypeSet, region: str) -> Price | None:
    prices = zip(types.select(catalog.prices.column(region)), catalog.names_in(types), strict=True)
    found = min(((price, name) for price, name in prices if price is not None), default=None)
    return None if found is None else Price(found[1], found[0])
