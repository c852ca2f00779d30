"""Copy the nodes to which YAML aliases and merge keys refer."""

from __future__ import annotations

from nodelint.base.budget import RUN
from nodelint.text.nodes import MappingEntry, Node
from nodelint.text.syntax_errors import Unreadable
from nodelint.text.unknown_value import UNKNOWN

MOST_COPIES = 100_000
"""The most nodes that all aliases of one text may create."""
_FEW_COPIES, _STEPS_OF_COPY = 1000, 5
"""The number of nodes that one alias may create without cost.

For a larger alias, each node takes this many budget steps.
"""


class Copies:
    """Creates the copies for one text and counts them: a few lines of aliases may create billions of nodes."""

    def __init__(self, deepest: int) -> None:
        self._deepest = deepest
        self._count = 0

    def copy(self, target: Node, depth: int, at: int) -> Node:
        """Return a copy of a node and of all nodes below it, for a place at nesting level `depth`.

        Raise `Unreadable` at the offset `at` if there are too many nodes, or if the nesting is too deep.
        """
        top = _copy_alone(target)
        before = self._count
        pending = [(target, top, depth)]
        while pending:
            old, new, level = pending.pop()
            self._count += 1
            if self._count > MOST_COPIES:
                self._draw(before)
                raise Unreadable(at, f"the aliases here stand for more than {MOST_COPIES:,} values")
            if old.kind == "scalar":
                continue
            if level >= self._deepest:
                raise Unreadable(at, f"nested more than {self._deepest} levels deep")
            for item in old.items:
                other = _copy_alone(item)
                other.parent = new
                new.items.append(other)
                pending.append((item, other, level + 1))
            for entry in old.entries:
                key, value = _copy_alone(entry.key), _copy_alone(entry.value)
                key.parent = value.parent = new
                new.entries.append(MappingEntry(key, value, entry.name, entry.merged))
                self._count += 1
                pending.append((entry.value, value, level + 1))
        self._draw(before)
        return top

    def _draw(self, before: int) -> None:
        if (made := self._count - before) > _FEW_COPIES:
            RUN.draw(made * _STEPS_OF_COPY, 0)

    def merge(self, node: Node) -> None:
        """Add the keys of a mapping's merges (`<<`) to its entries, as go-yaml does.

        Of equal keys, the lower one wins. In a list of mappings, the first mapping wins. A key above a merge with the
        same key is overridden: it is moved to `merges`. Raise `Unreadable`.
        """
        last: dict[str | None, tuple[int, MappingEntry, Node]] = {}
        nameless: list[tuple[MappingEntry, Node]] = []
        for merge in node.merges:
            value = merge.value
            if value.value is UNKNOWN:
                continue
            for part in reversed(value.items if value.kind == "sequence" else [value]):
                if part.kind != "mapping":
                    raise Unreadable(value.start, "`<<` needs a mapping, or a list of mappings")
                for entry in part.entries:
                    if entry.name is None:
                        nameless.append((entry, value))
                    else:
                        last[entry.name] = merge.key.start, entry, value
        written = node.entries
        node.entries, merges = [], node.merges
        for entry in written:
            if entry.name in last and entry.key.start < last[entry.name][0]:
                merges.append(entry)
                continue
            node.entries.append(entry)
            last.pop(entry.name, None)
        merges.sort(key=lambda entry: entry.key.start)
        for entry, value in (*((entry, value) for _, entry, value in last.values()), *nameless):
            key = _copy_alone(entry.key)
            copied = self.copy(entry.value, 0, value.start)
            key.parent = copied.parent = node
            node.entries.append(MappingEntry(key, copied, entry.name, True))


def _copy_alone(node: Node) -> Node:
    """Return a copy of a node without its children."""
    other = Node(node.source, node.start, node.end, node.kind, node.style, node.value)
    other.raw, other.tag = node.raw, node.tag
    other.shared = True
    return other
