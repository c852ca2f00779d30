"""What a pool can launch before and after a change."""

from __future__ import annotations

from nodelint.karpenter.resolve import Resolution
from nodelint.tuples import NamedTuple


class Price(NamedTuple):
    """The cheapest type that can be launched on demand, and its price in USD per hour."""

    type: str
    price: float


class Launch(NamedTuple):
    """How many types are left on both sides (0 where there is no such side), and what one side alone has."""

    before: int
    after: int
    gained: tuple[str, ...]
    lost: tuple[str, ...]
    images_gained: tuple[str, ...]
    images_lost: tuple[str, ...]
    cheapest_before: Price | None
    cheapest_after: Price | None


def launch(before: Resolution | None, after: Resolution | None, region: str) -> Launch:
    """Compare what two resolutions of a pool let launch; prices are those of `region` on demand."""
    old = frozenset(before.catalog.names_in(before.launchable)) if before is not None else frozenset()
    new = frozenset(after.catalog.names_in(after.launchable)) if after is not None else frozenset()
    was, now = _images(before), _images(after)
    return Launch(
        before=len(old),
        after=len(new),
        gained=tuple(sorted(new - old)),
        lost=tuple(sorted(old - new)),
        images_gained=tuple(image for image in now if image not in was),
        images_lost=tuple(image for image in was if image not in now),
        cheapest_before=_cheapest(before, region),
        cheapest_after=_cheapest(after, region),
    )


def _images(resolution: Resolution | None) -> list[str]:
    """The images of a class by what names them: id, else what is written for them."""
    if resolution is None:
        return []
    found = []
    for image in resolution.images.images:
        name = image.id or image.label
        if name and name not in found:
            found.append(name)
    return found


def _cheapest(resolution: Resolution | None, region: str) -> Price | None:
    if resolution is None:
        return None
    catalog = resolution.catalog
    priced = ((catalog.price(name, region), name) for name in catalog.names_in(resolution.launchable))
    known = [(price, name) for price, name in priced if price is not None]
    if not known:
        return None
    price, name = min(known)
    return Price(name, price)
