"""Which nodes Karpenter removes together, for at most one new node: `multinodeconsolidation.go` of core.

Candidates are sorted and limited by budgets. A binary search finds the largest number of leading candidates that can
be removed. Among equal candidates the order changes in each loop of Karpenter: nodelint tries several orders, and a
result that differs between them is not known. Source: core pkg/controllers/disruption/multinodeconsolidation.go at
v1.0.0, v1.6.0, v1.13.0 and v1.14.1.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, groupby, permutations, product
from math import factorial

from nodelint.base.budget import RUN
from nodelint.base.tuples import NamedTuple
from nodelint.drift.plain_values import length, mapping
from nodelint.model.messages import counted, list_first
from nodelint.why.answer import NodeCause
from nodelint.why.balanced import disruption_cost
from nodelint.why.consolidation import Consolidation
from nodelint.why.moves import NewNode
from nodelint.why.prices import Comparison, compare
from nodelint.why.releases import EMPTY_BY_COST
from nodelint.why.state import NodeState

_MOST_CANDIDATES = 100
_MANY = 25
"""The number of orders of equal nodes from which only `_ORDERS` of them are tried."""
_ORDERS = 4
_MOST_PODS = 20_000
"""The number of placed pods after which no further order is tried."""


class Command(NamedTuple):
    """Nodes that are removed together, and the `new` node that replaces them, if any. `unknown`: its
    unknown facts.
    """

    states: Sequence[NodeState]
    new: NewNode | None
    prices: Comparison | None
    unknown: tuple[str, ...] = ()


class MultiNode:
    """The removal of several nodes, computed once for all candidates.

    `budget` returns how many of a pool may be removed.
    """

    def __init__(
        self, consolidation: Consolidation, candidates: Sequence[NodeState], budget: Callable[[str], int]
    ) -> None:
        self.consolidation = consolidation
        self.release = consolidation.rules.release
        self._budget = budget
        self._keys: dict[int, float] = {}
        self._unknown: dict[str, None] = {}
        self._alike: dict[float, set[object]] = {}
        for state in candidates:
            key = self._keys[id(state)] = self._sort_key(state)
            self._alike.setdefault(key, set()).add(_signature(state))
        self._tried: dict[frozenset[int], Command | None] = {}
        self._placed = 0
        self._depends_on_order = False
        self._orders = 0
        self._commands: dict[int, list[Command]] = {}
        self._interchangeable: set[int] = set()
        for order in self._list_orders(candidates):
            if self._orders and (not self._depends_on_order or self._placed > _MOST_PODS):
                break
            if self._orders and RUN.is_over():
                self._unknown[f"what other orders come to: {RUN.late_reason}"] = None
                break
            self._try_order(order)

    def explain(self, state: NodeState) -> NodeCause | None:
        """Return a cause if the node is removed, or may be removed, together with others.

        None if no order removes it.
        """
        commands = self._commands.get(id(state))
        if commands is None:
            return None
        command = commands[0]
        unknown = [*command.unknown, *self._unknown]
        if len(commands) < self._orders or id(state) in self._interchangeable:
            unknown.append("which of nodes that are equal to it in the order of candidates Karpenter takes first")
        cause = _explain_command(command, state)
        if not unknown:
            return cause
        return cause._replace(known=False, text=f"{cause.text}; not known: {'; '.join(dict.fromkeys(unknown))}")

    def _sort_key(self, state: NodeState) -> float:
        """Return the sort key of a candidate, smallest first; record if it depends on an unknown price or age."""
        if self.release >= EMPTY_BY_COST:
            price = self.consolidation.price_of(state)
            if price is None:
                self._unknown["what spot nodes cost, by which candidates are sorted"] = None
                price = self.consolidation.prices.on_demand(state) or 0.0
            return -price / disruption_cost(state.pods)
        after = length(mapping(state.claim, "spec").get("expireAfter"))
        remaining = 1.0
        if after and state.created is None:
            self._unknown["how old nodes are, by which candidates are sorted"] = None
        elif after and state.created is not None:
            age = (self.consolidation.rules.now - state.created).total_seconds()
            remaining = min(max(1.0 - age / after.total_seconds(), 0.0), 1.0)
        return sum(pod.eviction_cost for pod in state.pods) * remaining

    def _list_orders(self, candidates: Sequence[NodeState]) -> Iterator[list[NodeState]]:
        """Yield orders of the candidates that Karpenter's sorting allows: all orders, or a few if there are many."""
        by_name = sorted(candidates, key=lambda state: state.name)
        groups = [list(group) for _, group in groupby(sorted(by_name, key=self._key), key=self._key)]
        number = 1
        for group in groups:
            number = min(number * factorial(min(len(group), _MANY)), _MANY)
        if number < _MANY:
            for parts in product(*(permutations(group) for group in groups)):
                yield list(chain.from_iterable(parts))
            return
        yield sorted(by_name, key=self._key)
        by_name.reverse()
        yield sorted(by_name, key=self._key)
        chance = random.Random(1)  # the same in each run
        for _ in range(_ORDERS - 2):
            chance.shuffle(by_name)
            yield sorted(by_name, key=self._key)

    def _key(self, state: NodeState) -> float:
        return self._keys[id(state)]

    def _try_order(self, order: Sequence[NodeState]) -> None:
        """Record which nodes are removed with this order of candidates."""
        self._orders += 1
        candidates = self._within_budgets(order)
        command = self._search(candidates)
        if command is None:
            return
        last = self._key(command.states[-1])
        removed = {id(state) for state in command.states}
        equal = [state for state in order if self._key(state) == last]
        left = {_signature(state) for state in equal if id(state) not in removed}
        both = left & {_signature(state) for state in equal if id(state) in removed}
        instead = [state for state in equal if _signature(state) in both]
        self._interchangeable.update(id(state) for state in instead)
        for state in {id(state): state for state in (*command.states, *instead)}.values():
            self._commands.setdefault(id(state), []).append(command)

    def _within_budgets(self, order: Sequence[NodeState]) -> list[NodeState]:
        """Return the candidates that the budgets allow, in order."""
        left: dict[str, int] = {}
        last: dict[str, float] = {}
        found = []
        for state in order:
            more = left.setdefault(state.pool, self._budget(state.pool))
            if more > 0:
                left[state.pool] = more - 1
                last[state.pool] = self._key(state)
                found.append(state)
            elif last.get(state.pool) == self._key(state):
                self._depends_on_order = True
        return found

    def _search(self, candidates: Sequence[NodeState]) -> Command | None:
        """Return the last command that the binary search over the number of candidates finds; None if there
        is none.
        """
        low, high = 1, min(len(candidates) - 1, _MOST_CANDIDATES)
        last = None
        while low <= high:
            middle = (low + high) // 2
            key = self._key(candidates[middle])
            if middle + 1 < len(candidates) and key == self._key(candidates[middle + 1]):
                self._depends_on_order |= len(self._alike[key]) > 1
            command = self._command(candidates[: middle + 1])
            last = command or last
            low, high = (middle + 1, high) if command is not None else (low, middle - 1)
        return last

    def _command(self, states: Sequence[NodeState]) -> Command | None:
        """Return the command that removes these nodes together. None if they cannot be removed together."""
        key = frozenset(id(state) for state in states)
        if key not in self._tried:
            self._placed += sum(len(state.pods) for state in states)
            self._tried[key] = self._work_out(states)
        return self._tried[key]

    def _work_out(self, states: Sequence[NodeState]) -> Command | None:
        placed = self.consolidation.simulate(states, is_brief=True)
        if isinstance(placed, NodeCause) or placed.blocking or placed.on_uninitialized or len(placed.new) > 1:
            return None
        unknown = list(placed.unknown)
        if not placed.new:
            command = Command(states, None, None)
        else:
            new = placed.new[0]
            found = compare(states, new, self.consolidation.prices, self.consolidation.facts.spot_to_spot is True)
            if found.code and found.known:
                return None
            if not found.known:
                unknown.append("prices that decide, such as those of spot")
            command = Command(states, new, found)
        enough = self._is_enough(command)
        if enough is None:
            unknown.append("prices by which the policy Balanced weighs the saving")
        return None if enough is False else command._replace(unknown=tuple(unknown))

    def _is_enough(self, command: Command) -> bool | None:
        """Return whether each pool with the policy Balanced accepts the saving. None if a price is not known."""
        by_pool: dict[str, list[NodeState]] = {}
        for state in command.states:
            by_pool.setdefault(state.pool, []).append(state)
        pools = self.consolidation.rules.cluster.pools
        scored = [name for name in by_pool if self.consolidation.is_balanced(pools.get(name, {}))]
        if not scored:
            return True
        prices = {id(state): self.consolidation.price_of(state) for state in command.states}
        cheapest = command.prices.cheapest if command.prices is not None else (0.0, "")
        if None in prices.values() or cheapest is None:
            return None
        total = sum(price for price in prices.values() if price is not None)
        for name in scored:
            share = sum(prices[id(state)] or 0.0 for state in by_pool[name]) / total if total else 1.0
            score = self.consolidation.score(name, by_pool[name], (total - cheapest[0]) * share)
            if score is None:
                return None
            if not score.is_enough:
                return False
        return True


def _signature(state: NodeState) -> object:
    """Return a key that is equal for interchangeable nodes."""
    pods = sorted(
        (pod.shape.number if pod.shape is not None else -1, pod.namespace, sorted(pod.labels.items()), pod.is_active)
        for pod in state.pods
    )
    return state.pool, state.instance_type, state.capacity_type, state.zone, state.taints, repr(pods)


def _explain_command(command: Command, state: NodeState) -> NodeCause:
    others = [other.name for other in command.states if other is not state]
    named = list_first(others, 3)
    facts: dict[str, object] = {"nodes": [other.name for other in command.states[:_MOST_CANDIDATES]]}
    if command.new is None:
        message = (
            f"the pods of {counted(len(command.states), 'node')} fit on the other nodes: Karpenter deletes it"
            f" together with {named}"
        )
        return NodeCause("multi-node-delete", message, facts=facts)
    pool, prices = command.new.pool.name, command.prices
    facts |= {"pool": pool, "price": prices.price if prices is not None else None}
    cheapest = prices.cheapest if prices is not None else None
    if cheapest is None or prices is None or prices.price is None:
        into = f"one new node of NodePool/{pool}"
    else:
        facts["cheapest"] = {"name": cheapest[1], "price": cheapest[0]}
        into = (
            f"one {cheapest[1]} (${cheapest[0]:.4f} an hour) of NodePool/{pool} instead of"
            f" {counted(len(command.states), 'node')} (${prices.price:.4f})"
        )
    return NodeCause("multi-node-replace", f"Karpenter replaces it together with {named} by {into}", facts=facts)
