"""Change a mapping or list to hold new values with the fewest edits, so that style and comments stay."""

from __future__ import annotations

import json
from collections.abc import Callable

from nodelint.base.tuples import NamedTuple
from nodelint.edits.collections import NotEditable
from nodelint.edits.formatting import Plain
from nodelint.model.finding import Edit
from nodelint.text.nodes import Node


class Operations(NamedTuple):
    """The functions that edit a value, from `nodelint.edits` or from the module of a language."""

    set_value: Callable[..., list[Edit]]
    replace: Callable[..., list[Edit]]
    insert_items: Callable[..., list[Edit]]
    add_keys: Callable[..., list[Edit]]
    remove: Callable[..., list[Edit]]


_MOST_STEPS = 50
"""The most steps. Each step parses the text again."""


class Restructuring:
    """Changes a value in steps. The text is parsed again after each step.

    `read_edited` returns the root after some edits. `find` returns the value to change in a root.
    """

    def __init__(
        self, operations: Operations, read_edited: Callable[[Node, list[Edit]], Node], find: Callable[[Node], Node]
    ) -> None:
        self._operations = operations
        self._read_edited = read_edited
        self._find = find
        self._left = _MOST_STEPS

    def run(self, root: Node, new: object) -> Node:
        """Return a root in which the value is `new`. Raise `NotEditable` if that is not possible."""
        try:
            root = self._change(root, (), new)
        except ValueError:  # edits of one step overlap
            raise NotEditable("the edits overlap") from None
        if self._find(root).plain() != new:
            raise NotEditable("the file with this edit would mean something else: edit it by hand")
        return root

    def _find_at(self, root: Node, path: tuple[str | int, ...]) -> Node:
        node = self._find(root)
        for step in path:
            found = node.items[step] if isinstance(step, int) else node.get(step)
            if found is None:
                raise NotEditable("nodelint could not read the file with this edit: edit it by hand")
            node = found
        return node

    def _edit(self, root: Node, made: list[Edit]) -> Node:
        self._left -= 1
        if self._left < 0:
            raise NotEditable("the edit would rewrite too many lines: edit it by hand")
        return self._read_edited(root, made)

    def _change(self, root: Node, path: tuple[str | int, ...], new: object) -> Node:
        node = self._find_at(root, path)
        if node.plain() == new:
            return root
        if node.kind == "scalar" and isinstance(new, str | int | float):
            return self._edit(root, self._operations.set_value(node, new))
        if node.kind == "mapping" and isinstance(new, dict):
            return self._change_mapping(root, path, new)
        if node.kind == "sequence" and isinstance(new, list):
            return self._change_sequence(root, path, new)
        if new is None or isinstance(new, bool):
            raise NotEditable("it is no value that is written so")
        return self._edit(root, self._operations.replace(node, new))

    def _change_mapping(self, root: Node, path: tuple[str | int, ...], new: dict[str, Plain]) -> Node:
        names = [entry.name for entry in self._find_at(root, path).entries]
        if None in names or len(set(names)) < len(names):
            raise NotEditable("the keys are not known")
        before: str | None = None
        for name, value in new.items():
            if name in names:
                root = self._change(root, (*path, name), value)
            else:
                mapping = self._find_at(root, path)
                root = self._edit(root, self._operations.add_keys(mapping, {name: value}, before, before is None))
            before = name
        for gone in [str(name) for name in names if name not in new]:
            root = self._edit(root, self._operations.remove(self._find_at(root, (*path, gone))))
        return root

    def _change_sequence(self, root: Node, path: tuple[str | int, ...], new: list[Plain]) -> Node:
        from difflib import SequenceMatcher

        now = [_key(item.plain()) for item in self._find_at(root, path).items]
        steps = SequenceMatcher(None, now, [_key(item) for item in new], autojunk=False).get_opcodes()
        for kind, a, b, c, d in reversed(steps):  # from the back, so that earlier indices do not change
            if kind == "equal":
                continue
            shared = min(b - a, d - c)
            for n in range(shared):
                root = self._change(root, (*path, a + n), new[c + n])
            if d - c > shared:
                items = new[c + shared : d]
                root = self._edit(root, self._operations.insert_items(self._find_at(root, path), a + shared, items))
            for index in reversed(range(a + shared, b)):
                root = self._edit(root, self._operations.remove(self._find_at(root, (*path, index))))
        return root


def _key(value: object) -> str:
    return json.dumps(value, sort_keys=True, default=str)
