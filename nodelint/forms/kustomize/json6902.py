"""Apply JSON6902 patches as kustomize does, also where its library deviates from RFC 6902."""

from __future__ import annotations

from nodelint.base.budget import WorkBudget
from nodelint.base.tuples import NamedTuple
from nodelint.forms.kustomize.errors import BuildError
from nodelint.forms.kustomize.values import YamlTree
from nodelint.text import Node

_DEEPEST = 100
"""The most parts of a path: more than any object has levels."""
_FOR_OPERATION = 40
"""The budget steps of one operation: it creates a value, which is printed, parsed and judged."""
_FOR_COPY = 4
"""The budget steps for each value that is copied."""


class Operation(NamedTuple):
    """One operation of a patch.

    - `op`, `path`: as in the patch; `source` is its `from`.
    - `value`: None if there is none; `add` then adds a null.
    - `at`: the node of its path.
    """

    op: str
    path: str
    source: str
    value: YamlTree | None
    at: Node | None


def read_operations(patch: YamlTree) -> list[Operation]:
    """Return the operations of a patch that was read as JSON. Raise `BuildError`."""
    if patch.kind != "sequence":
        raise BuildError(patch.at, "it is neither a list of operations nor an object with a kind and a name")
    operations = []
    for item in patch.items:
        path = item.get("path")
        if item.kind != "mapping" or path is None or not isinstance(path.value, str) or not item.text("op"):
            raise BuildError(item.at, "an operation needs `op` and `path`")
        operations.append(Operation(item.text("op"), path.value, item.text("from"), item.get("value"), path.at))
    return operations


def apply_operations(target: YamlTree, operations: list[Operation], budget: WorkBudget) -> None:
    """Apply JSON6902 operations to an object that was converted to JSON.

    Raise `BuildError` if kustomize would stop, and `BudgetSpent`.
    """
    for operation in operations:
        budget.spend(_FOR_OPERATION)
        if operation.op == "copy":
            budget.spend(_FOR_COPY * _count_copied(target, operation))
        apply = _APPLY.get(operation.op)
        if apply is None:
            raise BuildError(operation.at, f"`{operation.op}` is not an operation")
        apply(target, operation)


def _add(target: YamlTree, operation: Operation) -> None:
    _insert(target, operation, operation.path, _new_value(operation))


def _replace(target: YamlTree, operation: Operation) -> None:
    holder, step = _find_holder(target, operation.path, operation.at)
    value = _new_value(operation)
    if holder.kind == "mapping":
        holder.put(step, value, operation.at)
        return
    holder.items[_index(holder, step, operation.at, len(holder.items))] = value


def _remove(target: YamlTree, operation: Operation) -> None:
    _take(target, operation.path, operation.at)


def _move(target: YamlTree, operation: Operation) -> None:
    _insert(target, operation, operation.path, _take(target, operation.source, operation.at))


def _copy(target: YamlTree, operation: Operation) -> None:
    holder, step = _find_holder(target, operation.source, operation.at)
    if holder.kind == "sequence":
        value: YamlTree | None = holder.items[_index(holder, step, operation.at, len(holder.items))]
    else:
        value = holder.get(step)
    copied = value.copy() if value is not None else YamlTree("scalar", operation.at)
    for tree in copied.walk():
        tree.exact = False
    _insert(target, operation, operation.path, copied)


def _test(target: YamlTree, operation: Operation) -> None:
    there = _look_up(target, operation.path, operation.at)
    wanted = operation.value.plain() if operation.value is not None else None
    if (there.plain() if there is not None else None) != wanted:
        raise BuildError(operation.at, f"`{operation.path}` is not what the operation tests for")


def _count_copied(target: YamlTree, operation: Operation) -> int:
    """Return how many values an operation copies."""
    value = _look_up(target, operation.source, operation.at) if "/" in operation.source else None
    return sum(1 for _ in value.walk()) if value is not None else 0


_APPLY = {"add": _add, "replace": _replace, "remove": _remove, "move": _move, "copy": _copy, "test": _test}


def _new_value(operation: Operation) -> YamlTree:
    if operation.value is None:
        return YamlTree("scalar", operation.at)
    value = operation.value.copy()
    value.become_json()
    return value


def _steps(path: str, at: Node | None) -> list[str]:
    """Return the steps of a path. The text before its first slash is ignored."""
    steps = path.split("/")[1:]
    if len(steps) > _DEEPEST:
        raise BuildError(at, f"the path has more than {_DEEPEST} parts")
    return [step.replace("~1", "/").replace("~0", "~") for step in steps]


def _find_holder(target: YamlTree, path: str, at: Node | None) -> tuple[YamlTree, str]:
    """Return the collection that contains the end of a JSON pointer, and the last step of the pointer."""
    steps = _steps(path, at) if "/" in path else []
    if not steps:
        raise BuildError(at, f"the path `{path}` leads nowhere")
    holder = target
    for step in steps[:-1]:
        below: YamlTree | None = None
        if holder.kind == "mapping":
            below = holder.get(step)
        elif holder.kind == "sequence":
            index = _number(step)
            below = (
                holder.items[index] if index is not None and -len(holder.items) <= index < len(holder.items) else None
            )
        if below is None or below.kind == "scalar":
            raise BuildError(at, f"`{path}` leads through `{step}`, which is not there")
        holder = below
    return holder, steps[-1]


def _index(holder: YamlTree, step: str, at: Node | None, size: int) -> int:
    """Return the index that a path step such as `2` or `-1` names in a list of `size` items.

    Raise `BuildError` if there is no such item.
    """
    index = _number(step)
    if index is None or not -size <= index < size:
        raise BuildError(at, f"the list has no item `{step}`: it has {len(holder.items)}")
    return index + size if index < 0 else index


def _number(step: str) -> int | None:
    digits = step.removeprefix("-").removeprefix("+")
    return int(step) if digits.isascii() and digits.isdigit() and len(digits) < 10 else None


def _insert(target: YamlTree, operation: Operation, path: str, value: YamlTree) -> None:
    holder, step = _find_holder(target, path, operation.at)
    if holder.kind == "mapping":
        holder.put(step, value, operation.at)
    elif step == "-":
        holder.items.append(value)
    else:
        holder.items.insert(_index(holder, step, operation.at, len(holder.items) + 1), value)


def _take(target: YamlTree, path: str, at: Node | None) -> YamlTree:
    holder, step = _find_holder(target, path, at)
    if holder.kind == "mapping":
        field = holder.fields.pop(step, None)
        if field is None:
            raise BuildError(at, f"`{path}` does not exist and cannot be removed")
        return field.value
    return holder.items.pop(_index(holder, step, at, len(holder.items)))


def _look_up(target: YamlTree, path: str, at: Node | None) -> YamlTree | None:
    holder, step = _find_holder(target, path, at)
    if holder.kind == "mapping":
        return holder.get(step)
    index = _number(step)
    return holder.items[index] if index is not None and -len(holder.items) <= index < len(holder.items) else None
