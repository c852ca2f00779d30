"""Compute the sizes of template values and of function results before they are created."""

from __future__ import annotations

from collections.abc import Sequence

from nodelint.forms.lib.gotemplate.sprig_values import DEEPEST, TracedText, Unresolved
from nodelint.text.nodes import Node

_LEAST = 8
"""The size of a value that is not a string."""
_PER_STEP = 64
"""The characters of values that are processed in one step."""
_OF_OUTERMOST = frozenset(
    (
        *("all", "and", "any", "append", "coalesce", "compact", "concat", "default", "dict", "dig", "empty", "first"),
        *("get", "hasKey", "index", "initial", "keys", "kindIs", "kindOf", "last", "len", "list", "not", "omit"),
        *("or", "pick", "pluck", "prepend", "required", "rest", "reverse", "set", "slice", "ternary", "tuple"),
        *("unset", "values"),
    )
)
"""Functions that process a list or map without looking into its items."""
ENCODING = frozenset(("mustToJson", "mustToRawJson", "toJson", "toRawJson", "toYaml"))
"""Functions that print a value as JSON or YAML."""
_COMPARING = frozenset(("has", "mustHas", "mustUniq", "mustWithout", "uniq", "without"))


def steps_for(name: str, args: Sequence[object]) -> int:
    """Return the steps that a function takes. Raise `Unresolved` for a value that contains itself."""
    if name in _OF_OUTERMOST or name.removeprefix("must").lower() in _OF_OUTERMOST:
        return 1 + sum(map(_length, args)) // _PER_STEP
    size = sum(map(size_of, args))
    if name in _COMPARING:
        size *= 1 + max(map(_length, args), default=0) // 8
    return 1 + size // _PER_STEP


def _length(value: object) -> int:
    if isinstance(value, list | dict):
        return len(value)
    if isinstance(value, Node):
        return len(value.items) + len(value.entries)
    return len(value.pieces) if isinstance(value, TracedText) else 1


def size_of(value: object) -> int:
    """Return the number of characters of a value. Shared parts count each time. Raise `Unresolved`."""
    return _size_of(value, {}, 0)


def _size_of(value: object, sizes: dict[int, int], depth: int) -> int:
    if isinstance(value, str):
        return _LEAST + len(value)
    if isinstance(value, TracedText):
        return value.size
    if isinstance(value, Node):
        if value.kind == "scalar":
            return _LEAST + len(value.value) if isinstance(value.value, str) else _LEAST
        parts: list[object] = [*value.items, *(entry.value for entry in value.entries)]
    elif isinstance(value, dict):
        parts = [*value.values()]
    elif isinstance(value, list):
        parts = value
    else:
        return _LEAST
    known = sizes.get(id(value))
    if known is not None and known >= 0:
        return known
    if known is not None or depth > DEEPEST:
        raise Unresolved  # it contains itself, or is too deep for a real file
    sizes[id(value)] = -1
    size = _LEAST
    for part in parts:
        size += _size_of(part, sizes, depth + 1)
    sizes[id(value)] = size
    return size


def size_made(name: str, args: Sequence[object]) -> int:
    """Return an upper bound for the size of a function's result. 0 if the function does not repeat its arguments."""
    if name in ENCODING:
        return 8 * sum(map(size_of, args))
    if name in ("split", "splitList", "splitn"):
        return 16 * _text_size(args[-1]) if args else 0
    if name in ("cat", "quote", "squote", "printf", "b64enc", "toStrings"):
        return sum(map(size_of, args))
    if len(args) == 2 and name in ("indent", "nindent"):
        return 100 * _line_breaks(args[1]) + _text_size(args[1])
    if len(args) == 2 and name == "join":
        return _text_size(args[0]) * _length(args[1])
    if len(args) == 3 and name == "replace":
        old, new, text = map(_text_size, args)
        return text + (text // max(old, 1) + 1) * new
    if len(args) == 3 and name.lower().removeprefix("must").startswith("regexreplaceall"):
        return (_text_size(args[1]) + 1) * _text_size(args[2])
    return 0


def _text_size(value: object) -> int:
    if isinstance(value, TracedText):
        return sum([len(text) for text, _ in value.pieces])
    if isinstance(value, Node):
        value = value.value
    return len(value) if isinstance(value, str) else 0


def _line_breaks(value: object) -> int:
    if isinstance(value, TracedText):
        return sum([text.count("\n") for text, _ in value.pieces])
    if isinstance(value, Node):
        value = value.value
    return value.count("\n") if isinstance(value, str) else 0
