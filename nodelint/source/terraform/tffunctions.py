"""Functions of Terraform that need nothing but their arguments; of what is not known they make what is not known."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence

from nodelint.source.nodes import UNKNOWN, Node
from nodelint.source.terraform.tfencode import UNSET, json_pieces, yaml_pieces
from nodelint.source.terraform.tfeval import (
    EvaluationFailure,
    TextNode,
    is_empty,
    is_known,
    is_unknown,
    joined,
    key_node,
    mapping,
    number_of,
    same_form,
    scalar,
    sequence,
    text_of,
    unknown,
)

Piece = tuple[str, Node | None]
Function = Callable[..., object]


def call_function(name: str, args: Sequence[Node], at: Node) -> Node:
    """What a function gives; unknown for one that is not read. Raises `EvaluationFailure` where Terraform stops."""
    if name in _OF_NODES:
        function, needs_all = _OF_NODES[name], False
    elif name in _OF_KNOWN:
        function, needs_all = _OF_KNOWN[name], True
    else:
        return unknown(at)
    if needs_all and not all(map(is_known, args)):
        return unknown(at)
    try:
        found = function(at, *args)
    except (TypeError, ValueError):  # too many arguments, or too few
        raise EvaluationFailure from None
    if isinstance(found, Node):
        return found
    return scalar(at, found) if isinstance(found, str | int | float | bool) or found is None else unknown(at)


# -- helpers


def _text(node: Node) -> str:
    if node.kind != "scalar" or node.value is None:
        raise EvaluationFailure
    return text_of(node.value)


def _whole(node: Node) -> int:
    number = number_of(node.value)
    if not isinstance(number, int):
        raise EvaluationFailure
    return number


def _number(node: Node) -> int | float:
    number = number_of(node.value)
    if number is None:
        raise EvaluationFailure
    return number


def _items(node: Node) -> list[Node]:
    if node.kind != "sequence":
        raise EvaluationFailure
    return node.items


def _is_open(node: Node) -> bool:
    """Whether names of an object are not known."""
    return is_unknown(node) or any(entry.name is None for entry in node.entries)


def _distinct(items: Sequence[Node]) -> list[Node]:
    found: dict[str, Node] = {}
    for item in items:
        found.setdefault(json.dumps(same_form(item), default=repr, sort_keys=True), item)
    return list(found.values())


# -- collections, of which parts may be unknown


def _merge(at: Node, *args: Node) -> object:
    given = [arg for arg in args if not (arg.kind == "scalar" and arg.value is None)]
    if any(map(_is_open, given)):
        return unknown(at)
    if any(arg.kind != "mapping" for arg in given):
        raise EvaluationFailure
    return mapping(at, ((entry.name or "", entry.key, entry.value) for arg in given for entry in arg.entries))


def _concat(at: Node, *args: Node) -> object:
    if any(map(is_unknown, args)):
        return unknown(at)
    return sequence(at, [item for arg in args for item in _items(arg)])


def _flatten(at: Node, value: Node) -> object:
    found: list[Node] = []
    pending = [value]
    while pending:
        node = pending.pop()
        if node.kind == "sequence":
            pending += reversed(node.items)
        elif is_unknown(node):
            return unknown(at)
        else:
            found.append(node)
    return sequence(at, found)


def _to_list(at: Node, value: Node) -> object:
    if is_unknown(value) or value.kind == "sequence":
        return value
    raise EvaluationFailure


def _to_set(at: Node, value: Node) -> object:
    if is_unknown(value):
        return value
    items = _items(value)
    if not all(map(is_known, items)):
        return unknown(at)
    texts = _distinct(items)
    if all(isinstance(item.value, str) for item in texts):
        texts.sort(key=lambda item: str(item.value))
    return sequence(at, texts)


def _to_map(at: Node, value: Node) -> object:
    return value


def _keys(at: Node, value: Node) -> object:
    if _is_open(value):
        return unknown(at)
    entries = sorted(value.entries, key=lambda entry: entry.name or "")
    return sequence(at, [key_node(entry) for entry in entries])


def _values(at: Node, value: Node) -> object:
    if _is_open(value):
        return unknown(at)
    return sequence(at, [entry.value for entry in sorted(value.entries, key=lambda entry: entry.name or "")])


def _length(at: Node, value: Node) -> object:
    if _is_open(value):
        return unknown(at)
    return len(value.items or value.entries) if value.kind != "scalar" else len(_text(value))


def _lookup(at: Node, value: Node, key: Node, other: Node | None = None) -> object:
    if _is_open(value) or key.value is UNKNOWN:
        return unknown(at)
    found = value.get(_text(key))
    if found is None and other is None:
        raise EvaluationFailure
    return found if found is not None else other


def _element(at: Node, value: Node, index: Node) -> object:
    if is_unknown(value) or index.value is UNKNOWN:
        return unknown(at)
    items, number = _items(value), _whole(index)
    if not items or number < 0:
        raise EvaluationFailure
    return items[number % len(items)]


def _wrap_single_value(at: Node, value: Node) -> object:
    if is_unknown(value):
        return unknown(at)
    items = _items(value)
    if len(items) > 1:
        raise EvaluationFailure
    return items[0] if items else None


def _coalesce(at: Node, *args: Node) -> object:
    for arg in args:
        if not is_known(arg):
            return unknown(at)
        if not is_empty(arg):
            return arg
    raise EvaluationFailure


def _coalesce_list(at: Node, *args: Node) -> object:
    return _coalesce(at, *args)


def _zip_map(at: Node, keys: Node, values: Node) -> object:
    if not is_known(keys) or is_unknown(values):
        return unknown(at)
    if len(_items(keys)) != len(_items(values)):
        raise EvaluationFailure
    return mapping(at, ((_text(k), k, v) for k, v in zip(keys.items, values.items, strict=True)))


def _slice(at: Node, value: Node, start: Node, end: Node) -> object:
    if is_unknown(value) or not (is_known(start) and is_known(end)):
        return unknown(at)
    first, last = _whole(start), _whole(end)
    if not 0 <= first <= last <= len(_items(value)):
        raise EvaluationFailure
    return sequence(at, value.items[first:last])


def _reverse(at: Node, value: Node) -> object:
    return unknown(at) if is_unknown(value) else sequence(at, _items(value)[::-1])


def _itself(at: Node, value: Node) -> object:
    return value


# -- texts of which parts may be unknown


def _format(at: Node, form: Node, *args: Node) -> object:
    if form.value is UNKNOWN:
        return unknown(at)
    shape = _text(form)
    parts = re.split(r"(%%|%[-+0 ]*+\d*+(?:\.\d++)?[a-zA-Z])", shape)
    if sum(part.startswith("%") and part != "%%" for part in parts[1::2]) != len(args):
        raise EvaluationFailure
    pieces: list[Piece] = []
    whole, given = True, iter(args)
    for n, part in enumerate(parts):
        if n % 2 == 0 or part == "%%":
            pieces.append((part.replace("%%", "%") if n % 2 else part, form))
            continue
        arg = next(given)
        if not is_known(arg) or arg.kind != "scalar":
            whole = False
            pieces.append((UNSET, arg))
            continue
        pieces.append((_formatted(part, arg), arg))
    return joined(at, [piece for piece in pieces if piece[0]], whole)


def _formatted(verb: str, arg: Node) -> str:
    width = re.fullmatch(r"%([-+0 ]*)(\d{0,3})(?:\.(\d{1,2}))?([a-zA-Z])", verb)
    if width is None:
        raise EvaluationFailure
    kind = width[4]
    if kind in ("s", "v") and width[3] is None:
        text = _text(arg)
        return text.ljust(int(width[2] or 0)) if "-" in width[1] else text.rjust(int(width[2] or 0))
    if kind == "q":
        return json.dumps(_text(arg), ensure_ascii=False)
    if kind == "t" and isinstance(arg.value, bool):
        return _text(arg)
    if kind in ("d", "f", "x", "X", "o", "b", "e"):
        number = _number(arg)
        return verb % number if kind != "b" else format(int(number), "b")
    raise EvaluationFailure


def _join(at: Node, between: Node, *lists: Node) -> object:
    if not is_known(between) or any(map(is_unknown, lists)):
        return unknown(at)
    pieces: list[Piece] = []
    whole = True
    for item in (item for arg in lists for item in _items(arg)):
        if pieces:
            pieces.append((_text(between), between))
        known = is_known(item)
        whole = whole and known
        pieces.append((_text(item) if known else UNSET, item))
    return joined(at, pieces, whole)


def _indent(at: Node, width: Node, value: Node) -> object:
    if width.value is UNKNOWN or not 0 <= _whole(width) <= 200:
        return unknown(at)
    if isinstance(value, TextNode):
        pad = "\n" + " " * _whole(width)
        pieces = [(text.replace("\n", pad), node) for text, node in value.pieces]
        return joined(at, pieces, isinstance(value.value, str))
    if value.value is UNKNOWN:
        return unknown(at)
    return _text(value).replace("\n", "\n" + " " * _whole(width))


def _json_encode(at: Node, value: Node) -> object:
    if is_unknown(value):
        return unknown(at)
    return joined(at, json_pieces(value), is_known(value))


def _yaml_encode(at: Node, value: Node) -> object:
    if is_unknown(value):
        return unknown(at)
    return joined(at, [*yaml_pieces(value), ("\n", value)], is_known(value))


# -- what needs all of its arguments


def _decoded(at: Node, value: Node, masked: bool = False) -> object:
    """A YAML or JSON text as values; each stands at its place where the text is a file's own."""
    from nodelint.source.syntax_errors import Unreadable
    from nodelint.source.text import Source
    from nodelint.source.yaml.compose import compose

    whole = value.source.text
    text = _text(value)
    at_home = value.start == 0 and value.end == len(whole) and text == whole
    source = value.source if at_home else Source(value.source.path, text)
    try:
        roots = compose(source, text, 0, masked=masked)
    except Unreadable:
        raise EvaluationFailure from None
    if len(roots) != 1 or roots[0] is None:
        return unknown(at)
    if not at_home:
        for node in roots[0].walk():
            node.source, node.start, node.end = at.source, at.start, at.end
    return roots[0]


def _contains(at: Node, value: Node, item: Node) -> object:
    return same_form(item) in [same_form(each) for each in _items(value)]


def _sort(at: Node, value: Node) -> object:
    return sequence(at, sorted(_items(value), key=_text))


def _compact(at: Node, value: Node) -> object:
    return sequence(at, [item for item in _items(value) if not is_empty(item)])


def _set_of(keep: Callable[[object, list[list[object]]], bool]) -> Function:
    def function(at: Node, *args: Node) -> object:
        forms = [[same_form(item) for item in _items(arg)] for arg in args]
        found = _distinct([item for arg in args for item in arg.items])
        return _to_set(at, sequence(at, [item for item in found if keep(same_form(item), forms)]))

    return function


def _range(at: Node, *args: Node) -> object:
    numbers = [_whole(arg) for arg in args]
    if len(numbers) == 3 and not numbers[2]:
        raise EvaluationFailure
    found = range(*numbers)
    if len(found) > 1024:
        raise EvaluationFailure
    return sequence(at, [scalar(at, number) for number in found])


def _split(at: Node, between: Node, value: Node) -> object:
    text, by = _text(value), _text(between)
    return sequence(at, [scalar(value, part) for part in (text.split(by) if by else list(text))])


def _replace(at: Node, value: Node, old: Node, new: Node) -> object:
    if len(_text(old)) > 1 and _text(old).startswith("/") and _text(old).endswith("/"):
        return unknown(at)  # a regular expression
    return _text(value).replace(_text(old), _text(new))


def _substr(at: Node, value: Node, start: Node, length: Node) -> object:
    text, first, count = _text(value), _whole(start), _whole(length)
    first = max(len(text) + first, 0) if first < 0 else first
    return text[first:] if count < 0 else text[first : first + count]


def _to_bool(at: Node, value: Node) -> object:
    if value.value is None or isinstance(value.value, bool):
        return value
    if value.value not in ("true", "false"):
        raise EvaluationFailure
    return value.value == "true"


def _to_string(at: Node, value: Node) -> object:
    return value if value.value is None or isinstance(value.value, str) else _text(value)


def _to_number(at: Node, value: Node) -> object:
    return value if value.value is None else _number(value)


def _changed(change: Callable[..., str]) -> Function:
    """A function of texts: a text that stays the same is still where it is written."""

    def function(at: Node, *args: Node) -> object:
        made = change(*map(_text, args))
        return args[0] if made == args[0].value else made

    return function


def _base64(at: Node, value: Node) -> object:
    from base64 import b64encode

    return b64encode(_text(value).encode()).decode()


_OF_NODES: dict[str, Function] = {
    "coalesce": _coalesce,
    "coalescelist": _coalesce_list,
    "concat": _concat,
    "element": _element,
    "flatten": _flatten,
    "format": _format,
    "indent": _indent,
    "join": _join,
    "jsonencode": _json_encode,
    "keys": _keys,
    "length": _length,
    "lookup": _lookup,
    "merge": _merge,
    "nonsensitive": _itself,
    "one": _wrap_single_value,
    "reverse": _reverse,
    "sensitive": _itself,
    "slice": _slice,
    "tolist": _to_list,
    "tomap": _to_map,
    "toset": _to_set,
    "values": _values,
    "yamlencode": _yaml_encode,
    "zipmap": _zip_map,
}
_OF_KNOWN: dict[str, Function] = {
    "abs": lambda at, value: abs(_number(value)),
    "alltrue": lambda at, value: all(item.value in (True, "true") for item in _items(value)),
    "anytrue": lambda at, value: any(item.value in (True, "true") for item in _items(value)),
    "base64encode": _base64,
    "ceil": lambda at, value: -int(-_number(value) // 1),
    "chomp": _changed(lambda text: text.rstrip("\r\n")),
    "compact": _compact,
    "contains": _contains,
    "distinct": lambda at, value: sequence(at, _distinct(_items(value))),
    "endswith": lambda at, value, end: _text(value).endswith(_text(end)),
    "floor": lambda at, value: int(_number(value) // 1),
    "jsondecode": _decoded,
    "lower": _changed(str.lower),
    "max": lambda at, *args: max(map(_number, args)),
    "min": lambda at, *args: min(map(_number, args)),
    "range": _range,
    "replace": _replace,
    "setintersection": _set_of(lambda item, lists: all(item in each for each in lists)),
    "setsubtract": _set_of(lambda item, lists: item in lists[0] and item not in lists[-1]),
    "setunion": _set_of(lambda item, lists: True),
    "sort": _sort,
    "split": _split,
    "startswith": lambda at, value, start: _text(value).startswith(_text(start)),
    "strcontains": lambda at, value, part: _text(part) in _text(value),
    "substr": _substr,
    "title": _changed(lambda text: re.sub(r"\b[a-z]", lambda match: match[0].upper(), text)),
    "tobool": _to_bool,
    "tonumber": _to_number,
    "tostring": _to_string,
    "trim": _changed(lambda text, characters: text.strip(characters)),
    "trimprefix": _changed(lambda text, start: text.removeprefix(start)),
    "trimspace": _changed(str.strip),
    "trimsuffix": _changed(lambda text, end: text.removesuffix(end)),
    "upper": _changed(str.upper),
    "yamldecode": _decoded,
}
