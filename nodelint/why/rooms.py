"""Find nodes with room for a pod, in order, with a tree of maximum free resources that skips full nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from nodelint.why.state import NodeState

_FAN_OUT = 16
"""The number of nodes, or groups of nodes, whose free resources are summarized together."""


class Rooms:
    """Nodes in the order in which the scheduler tries them. `work` is the number of examined groups and nodes."""

    def __init__(self, nodes: Sequence[NodeState]) -> None:
        self.nodes = nodes
        self.work = 0
        self._levels: list[list[dict[str, int]]] = [[node.free for node in nodes]]
        while len(self._levels[-1]) > 1:
            below = self._levels[-1]
            self._levels.append([_most(below[at : at + _FAN_OUT]) for at in range(0, len(below), _FAN_OUT)])

    def search(self, needed: Mapping[str, int], filled: FilledRooms) -> Iterator[NodeState]:
        """Yield the nodes with room for the requests, after the changes in `filled`."""
        top = len(self._levels) - 1
        yield from self._search(top, range(len(self._levels[top])), needed, filled)

    def _search(
        self, level: int, places: range, needed: Mapping[str, int], filled: FilledRooms
    ) -> Iterator[NodeState]:
        free = self._levels[level]
        for place in places:
            self.work += 1
            if level == 0:
                node = self.nodes[place]
                if has_room(filled.free.get(id(node)) or free[place], needed):
                    yield node
                continue
            if not has_room(filled.most.get((id(self), level, place)) or free[place], needed):
                continue
            below = range(place * _FAN_OUT, min((place + 1) * _FAN_OUT, len(self._levels[level - 1])))
            found = False
            for node in self._search(level - 1, below, needed, filled):
                found = True
                yield node
            if not found:
                self._narrow(level, place, below, filled)

    def _narrow(self, level: int, place: int, below: range, filled: FilledRooms) -> None:
        """Record the maximum free resources of a group without a result: moved pods may have filled its nodes."""
        if not filled.free:
            return
        if level == 1:
            nodes = [self.nodes[at] for at in below]
            if not any(id(node) in filled.free for node in nodes):
                return
            parts = [filled.free.get(id(node)) or node.free for node in nodes]
        else:
            keys = [(id(self), level - 1, at) for at in below]
            if not any(key in filled.most for key in keys):
                return
            parts = [filled.most.get(key) or self._levels[level - 1][key[2]] for key in keys]
        filled.most[id(self), level, place] = _most(parts)


class FilledRooms:
    """The free resources of nodes and the maximum of groups, as changed by one simulation."""

    __slots__ = ("free", "most")

    def __init__(self) -> None:
        self.free: dict[int, dict[str, int]] = {}
        self.most: dict[tuple[int, int, int], dict[str, int]] = {}

    def take(self, node: NodeState, requests: Mapping[str, int]) -> None:
        """Subtract requests from the free resources of a node."""
        free = dict(self.free.get(id(node)) or node.free)
        for resource, amount in requests.items():
            free[resource] = free.get(resource, 0) - amount
        self.free[id(node)] = free


def has_room(free: Mapping[str, int], needed: Mapping[str, int]) -> bool:
    """Return whether the free resources cover the needed ones. No needed amount is 0."""
    for resource, amount in needed.items():  # noqa: SIM110 - a generator would take twice as long
        if amount > free.get(resource, 0):
            return False
    return True


def _most(parts: Sequence[Mapping[str, int]]) -> dict[str, int]:
    most: dict[str, int] = {}
    for free in parts:
        for resource, amount in free.items():
            if amount > most.get(resource, 0):
                most[resource] = amount
    return most
