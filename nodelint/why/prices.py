"""What nodes cost, and whether a replacement costs less: `computeConsolidation` of core, after placing pods.

Spot prices are in no file. EC2 never asks more for spot than on demand, so that the price on demand is their bound.
Source: core pkg/controllers/disruption/consolidation.go@v1.14.1:137-330.
"""

from __future__ import annotations

from bisect import bisect_left

from nodelint.base.tuples import NamedTuple
from nodelint.ec2.type_set import NONE, TypeSet
from nodelint.model.keys import CAPACITY_TYPE
from nodelint.why.fleet import LaunchPool
from nodelint.why.placing import NewNode
from nodelint.why.state import NodeState

TYPE_CHECKING = False

if TYPE_CHECKING:
    from nodelint.karpenter.resolve import Resolution

SPOT, ON_DEMAND = "spot", "on-demand"
FLEXIBLE = 15
"""How many cheaper instance types a spot node needs to be replaced by one of them."""


class PriceList(NamedTuple):
    """The instance types of a region by their price on demand: prices in order, names, and the types up to each."""

    prices: list[float]
    names: list[str]
    below: list[TypeSet]
    priced: TypeSet


class Prices:
    """Prices on demand, asked of the catalogue once for each pool and region."""

    def __init__(self) -> None:
        self._lists: dict[tuple[int, str], PriceList] = {}

    def list_prices(self, resolution: Resolution, region: str) -> PriceList:
        """Return the prices of a region as a pool has them, by its overlays."""
        key = id(resolution), region
        found = self._lists.get(key)
        if found is None:
            named = ((resolution.price_in(name, region), name) for name in resolution.catalog.names)
            known = sorted((price, name) for price, name in named if price is not None)
            below, so_far = [NONE], NONE
            for _, name in known:
                so_far |= resolution.catalog.only(name)
                below.append(so_far)
            found = PriceList([p for p, _ in known], [n for _, n in known], below, so_far)
            self._lists[key] = found
        return found

    def of_node(self, state: NodeState, pool: LaunchPool | None) -> float | None:
        """Return what a node costs an hour on demand in its region. None where it is not known, and for spot."""
        if pool is None or state.capacity_type != ON_DEMAND or not state.region:
            return None
        return self.on_demand(state, pool)

    def on_demand(self, state: NodeState, pool: LaunchPool) -> float | None:
        """Return what a node of this type costs an hour on demand, whatever its own capacity type."""
        return pool.pool.resolution.price_in(state.instance_type, state.region) if state.region else None


class Comparison(NamedTuple):
    """What came of comparing prices. `code` is a reason of `answer`, or empty where a cheaper node takes the pods.

    `known` is False where the answer rests on spot prices, on types that are not known, or on prices that are not.
    """

    code: str
    known: bool
    price: float | None
    cheapest: tuple[float, str] | None
    cheaper: int
    bound: bool = False
    key: str = ""


def compare(state: NodeState, new: NewNode, pool: LaunchPool, prices: Prices, spot_to_spot: bool) -> Comparison:
    """Return whether a new node with the pods of another one costs less, as consolidation compares them."""
    resolution = new.pool.pool.resolution
    found = prices.list_prices(resolution, state.region)
    kinds = _kinds(new)
    cheapest = _cheapest(found, new.types)
    own = prices.on_demand(state, pool)
    if state.capacity_type == SPOT and SPOT in kinds:
        if not spot_to_spot:
            return Comparison("spot-to-spot", True, own, cheapest, len(new.types), True)
        if len(new.types) < FLEXIBLE:
            return Comparison("spot-flexibility", True, own, cheapest, len(new.types), True)
        return Comparison("spot-flexibility", False, own, cheapest, len(new.types), True)
    if own is None or state.capacity_type not in (SPOT, ON_DEMAND):
        return Comparison("no-cheaper-type", False, None, cheapest, 0)
    cheaper = new.types & found.below[bisect_left(found.prices, own)]
    unpriced = new.types - found.priced
    if cheaper:
        if state.capacity_type == SPOT:  # cheaper than its bound: perhaps not than what spot costs
            return Comparison("no-cheaper-type", False, own, cheapest, len(cheaper), True)
        key = new.pool.pool.unmet_among(cheaper)
        if key is not None:
            known = SPOT not in kinds and not unpriced
            return Comparison("min-values", known, own, cheapest, len(cheaper), key=key)
        return Comparison("", new.pool.pool.exact, own, cheapest, len(cheaper))
    certain = (SPOT not in kinds or state.capacity_type == SPOT) and "reserved" not in kinds and not unpriced
    return Comparison("no-cheaper-type", certain, own, cheapest, 0, state.capacity_type == SPOT)


def _kinds(new: NewNode) -> frozenset[str]:
    """Return the capacity types as which a new node may be launched, as its pods want them."""
    kinds = frozenset(new.pool.pool.resolution.capacity_types)
    wanted = new.domains.get(CAPACITY_TYPE)
    kinds = kinds if wanted is None else kinds & wanted
    for expression in new.merged.selector if new.merged is not None else ():
        if expression.key == CAPACITY_TYPE and expression.operator == "In":
            kinds &= frozenset(expression.values)
        elif expression.key == CAPACITY_TYPE and expression.operator == "NotIn":
            kinds -= frozenset(expression.values)
    return kinds


def _cheapest(found: PriceList, types: TypeSet) -> tuple[float, str] | None:
    """Return the cheapest of some types. None where no price of them is known."""
    if found.priced.isdisjoint(types):
        return None
    low, high = 0, len(found.prices)
    while low < high:  # the first prefix that holds one of the types
        middle = (low + high) // 2
        if found.below[middle + 1].isdisjoint(types):
            low = middle + 1
        else:
            high = middle
    return found.prices[low], found.names[low]
