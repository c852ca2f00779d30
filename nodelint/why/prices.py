"""Prices of nodes, and whether a replacement costs less: `computeConsolidation` of core, after the simulation.

Spot prices are in no dump. The spot price is never above the on-demand price, which is used as its upper bound.
Source: core pkg/controllers/disruption/consolidation.go@v1.14.1:137-330.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from nodelint.base.tuples import NamedTuple
from nodelint.ec2.type_set import NONE, TypeSet, union
from nodelint.karpenter.resolve import Resolution
from nodelint.model.keys import CAPACITY_TYPE
from nodelint.why.fleet import LaunchPool
from nodelint.why.moves import NewNode
from nodelint.why.state import NodeState

SPOT, ON_DEMAND = "spot", "on-demand"
FLEXIBLE = 15
"""The fewest cheaper instance types for which Karpenter replaces a spot node by a cheaper one."""


class PriceList(NamedTuple):
    """The instance types of a region, sorted by on-demand price in USD per hour.

    `below[i]` are the `i` cheapest types.
    """

    prices: list[float]
    names: list[str]
    below: list[TypeSet]
    priced: TypeSet
    types_named: dict[str, TypeSet]

    def of_family(self, family: str) -> TypeSet:
        """Return the types of an instance family whose price is known."""
        return union(types for name, types in self.types_named.items() if name.partition(".")[0] == family)


class Prices:
    """On-demand prices, looked up once for each pool and region."""

    def __init__(self, pools: Sequence[LaunchPool]) -> None:
        self._pools = {pool.name: pool for pool in pools}
        self._lists: dict[tuple[int, str], PriceList] = {}

    def pool_of(self, state: NodeState) -> LaunchPool | None:
        """Return the pool whose catalogue has the node's price: the node's own pool, else any pool; None without
        pools.
        """
        return self._pools.get(state.pool) or next(iter(self._pools.values()), None)

    def list_prices(self, resolution: Resolution, region: str) -> PriceList:
        """Return the prices of a region for a pool, changed by its NodeOverlays."""
        key = id(resolution), region
        found = self._lists.get(key)
        if found is None:
            named = ((resolution.prices.in_region(name, region), name) for name in resolution.catalog.names)
            known = sorted((price, name) for price, name in named if price is not None)
            below, so_far = [NONE], NONE
            types_named = {name: resolution.catalog.only(name) for _, name in known}
            for _, name in known:
                so_far |= types_named[name]
                below.append(so_far)
            found = PriceList([p for p, _ in known], [n for _, n in known], below, so_far, types_named)
            self._lists[key] = found
        return found

    def of_node(self, state: NodeState) -> float | None:
        """Return the price of an on-demand node in USD per hour. None if it is not known, and for spot nodes."""
        return self.on_demand(state) if state.capacity_type == ON_DEMAND else None

    def on_demand(self, state: NodeState) -> float | None:
        """Return the on-demand price of the node's type in USD per hour, whatever its capacity type.

        None if it is not known.
        """
        pool = self.pool_of(state)
        if pool is None or not state.region:
            return None
        return pool.pool.resolution.prices.in_region(state.instance_type, state.region)


class Comparison(NamedTuple):
    """The result of a price comparison. `code` is a cause of `answer`, or empty if a cheaper node accepts the pods.

    `known` is False if the result depends on spot prices, unknown types or unknown prices.
    """

    code: str
    known: bool
    price: float | None
    cheapest: tuple[float, str] | None
    cheaper: int
    bound: bool = False
    key: str = ""


def compare(states: Sequence[NodeState], new: NewNode, prices: Prices, spot_to_spot: bool) -> Comparison:
    """Return whether one new node for the pods costs less than the nodes together, by the rules of consolidation."""
    compared = _compare(states, new, prices, spot_to_spot)
    if not compared.known or compared.price is None or compared.code.startswith("spot-"):
        return compared
    catalog = new.pool.pool.resolution.catalog
    if all(catalog.prices.region_for(state.region) == state.region for state in states):
        return compared
    # Prices of another region: those of one family are to each other as they are there, those of others need not be.
    found = prices.list_prices(new.pool.pool.resolution, states[0].region)
    families = {state.instance_type.partition(".")[0] for state in states}
    is_alike = len(families) == 1 and not new.types - found.of_family(next(iter(families)))
    return compared if is_alike else compared._replace(known=False)


def _compare(states: Sequence[NodeState], new: NewNode, prices: Prices, spot_to_spot: bool) -> Comparison:
    found = prices.list_prices(new.pool.pool.resolution, states[0].region)
    kinds = _kinds(new)
    cheapest = _cheapest(found, new.types)
    own_prices = [prices.on_demand(state) for state in states]
    own = None if None in own_prices else sum(price for price in own_prices if price is not None)
    of_kinds = {state.capacity_type for state in states}
    if of_kinds == {SPOT} and SPOT in kinds:
        if not spot_to_spot:
            return Comparison("spot-to-spot", True, own, cheapest, len(new.types), True)
        is_sure = len(states) == 1 and len(new.types) < FLEXIBLE  # several nodes need not 15 cheaper types
        return Comparison("spot-flexibility", is_sure, own, cheapest, len(new.types), True)
    if own is None or not of_kinds <= {SPOT, ON_DEMAND}:
        return Comparison("no-cheaper-type", False, None, cheapest, 0)
    cheaper = new.types & found.below[bisect_left(found.prices, own)]
    if len(states) > 1:
        cheaper = _less_than_kept(cheaper, states, own_prices, found)
    unpriced = new.types - found.priced
    has_spot = SPOT in of_kinds
    if cheaper:
        if has_spot:  # cheaper than its bound: perhaps not than what spot costs
            return Comparison("no-cheaper-type", False, own, cheapest, len(cheaper), True)
        key = new.pool.pool.unmet_among(cheaper)
        if key is not None:
            known = SPOT not in kinds and not unpriced
            return Comparison("min-values", known, own, cheapest, len(cheaper), key=key)
        return Comparison("", new.pool.pool.exact, own, _cheapest(found, cheaper), len(cheaper))
    certain = (SPOT not in kinds or of_kinds == {SPOT}) and "reserved" not in kinds and not unpriced
    return Comparison("no-cheaper-type", certain, own, cheapest, 0, has_spot)


def _less_than_kept(
    types: TypeSet, states: Sequence[NodeState], own_prices: Sequence[float | None], found: PriceList
) -> TypeSet:
    """Return the types that are cheaper than each node whose own type is among them, because Karpenter would
    otherwise launch the same type again. Source: `filterOutSameInstanceType` of multinodeconsolidation.go.
    """
    named = {state.instance_type: price for state, price in zip(states, own_prices, strict=True) if price is not None}
    among = [price for name, price in named.items() if name in found.types_named and types & found.types_named[name]]
    return types & found.below[bisect_left(found.prices, min(among))] if among else types


def _kinds(new: NewNode) -> frozenset[str]:
    """Return the capacity types that a new node can have for its pods."""
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
    """Return price and name of the cheapest type. None if no price of the types is known."""
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
