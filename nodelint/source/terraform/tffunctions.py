"""Functions of Terraform that need nothing but their arguments; of what is not known they make what is not known."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence

from nodelint.source.nodes import UNKNOWN, Node
from nodelint.source.terraform.goregex import replace_matches
from nodelint.source.terraform.tfcollections import (
    COLLECTIONS,
    Function,
    list_distinct,
    take_integer,
    take_items,
    take_number,
    take_text,
)
from nodelint.source.terraform.tfencode import UNSET, json_pieces, yaml_pieces
from nodelint.source.terraform.tfeval import (
    EvaluationFailure,
    TextNode,
    calculated,
    is_empty,
    is_known,
    is_unknown,
    joined,
    same_form,
    scalar,
    sequence,
    unknown,
)

_MOST_ROWS = 1024

Piece = tuple[str, Node | None]


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


# -- texts of which parts may be unknown


def _format(at: Node, form: Node, *args: Node) -> object:
    if form.value is UNKNOWN:
        return unknown(at)
    shape = take_text(form)
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
        text = take_text(arg)
        return text.ljust(int(width[2] or 0)) if "-" in width[1] else text.rjust(int(width[2] or 0))
    if kind == "q":
        return json.dumps(take_text(arg), ensure_ascii=False)
    if kind == "t" and isinstance(arg.value, bool):
        return take_text(arg)
    if kind in ("d", "f", "x", "X", "o", "b", "e"):
        number = take_number(arg)
        return verb % number if kind != "b" else format(int(number), "b")
    raise EvaluationFailure


def _join(at: Node, between: Node, *lists: Node) -> object:
    if not is_known(between) or any(map(is_unknown, lists)):
        return unknown(at)
    pieces: list[Piece] = []
    whole = True
    for item in (item for arg in lists for item in take_items(arg)):
        if pieces:
            pieces.append((take_text(between), between))
        known = is_known(item)
        whole = whole and known
        pieces.append((take_text(item) if known else UNSET, item))
    return joined(at, pieces, whole)


def _indent(at: Node, width: Node, value: Node) -> object:
    if width.value is UNKNOWN or not 0 <= take_integer(width) <= 200:
        return unknown(at)
    if isinstance(value, TextNode):
        pad = "\n" + " " * take_integer(width)
        pieces = [(text.replace("\n", pad), node) for text, node in value.pieces]
        return joined(at, pieces, isinstance(value.value, str))
    if value.value is UNKNOWN:
        return unknown(at)
    return take_text(value).replace("\n", "\n" + " " * take_integer(width))


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
    text = take_text(value)
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


def _format_list(at: Node, form: Node, *args: Node) -> object:
    """`format` of each item; what is no list stands beside every one."""
    lengths = {len(arg.items) for arg in args if arg.kind == "sequence"}
    if len(lengths) != 1:
        raise EvaluationFailure
    rows = ([arg.items[n] if arg.kind == "sequence" else arg for arg in args] for n in range(lengths.pop()))
    return sequence(at, [call_function("format", [form, *row], at) for row in rows])


def _set_product(at: Node, *args: Node) -> object:
    rows: list[list[Node]] = [[]]
    for arg in args:
        rows = [[*row, item] for row in rows for item in take_items(arg)]
        if len(rows) > _MOST_ROWS:
            return unknown(at)
    return sequence(at, [sequence(at, row) for row in rows])


def _index_of(at: Node, value: Node, item: Node) -> object:
    found = [same_form(item) for item in take_items(value)]
    if same_form(item) not in found:
        raise EvaluationFailure
    return found.index(same_form(item))


def _sum(at: Node, value: Node) -> object:
    made = scalar(at, 0)
    for item in take_items(value):
        made = scalar(at, calculated("+", [take_number(made), take_number(item)]))
        if made.value is UNKNOWN:
            break
    return made


def _chunk_list(at: Node, value: Node, size: Node) -> object:
    items, step = take_items(value), take_integer(size)
    if step < 1:
        raise EvaluationFailure
    return sequence(at, [sequence(at, items[n : n + step]) for n in range(0, len(items), step)])


def _contains(at: Node, value: Node, item: Node) -> object:
    return same_form(item) in [same_form(item) for item in take_items(value)]


def _sort(at: Node, value: Node) -> object:
    return sequence(at, sorted(take_items(value), key=take_text))


def _compact(at: Node, value: Node) -> object:
    return sequence(at, [item for item in take_items(value) if not is_empty(item)])


def _set_of(keep: Callable[[object, list[list[object]]], bool]) -> Function:
    def function(at: Node, *args: Node) -> object:
        forms = [[same_form(item) for item in take_items(arg)] for arg in args]
        found = list_distinct([item for arg in args for item in arg.items])
        return COLLECTIONS["toset"](at, sequence(at, [item for item in found if keep(same_form(item), forms)]))

    return function


def _range(at: Node, *args: Node) -> object:
    numbers = [take_integer(arg) for arg in args]
    if len(numbers) == 3 and not numbers[2]:
        raise EvaluationFailure
    found = range(*numbers)
    if len(found) > 1024:
        raise EvaluationFailure
    return sequence(at, [scalar(at, number) for number in found])


def _split(at: Node, between: Node, value: Node) -> object:
    text, by = take_text(value), take_text(between)
    return sequence(at, [scalar(value, part) for part in (text.split(by) if by else list(text))])


def _replace(at: Node, value: Node, old: Node, new: Node) -> object:
    if len(take_text(old)) > 1 and take_text(old).startswith("/") and take_text(old).endswith("/"):
        found = replace_matches(take_text(value), take_text(old)[1:-1], take_text(new))
        return unknown(at) if found is None else found
    return take_text(value).replace(take_text(old), take_text(new))


def _substr(at: Node, value: Node, start: Node, length: Node) -> object:
    text, first, count = take_text(value), take_integer(start), take_integer(length)
    first = max(len(text) + first, 0) if first < 0 else first
    return text[first:] if count < 0 else text[first : first + count]


def _to_bool(at: Node, value: Node) -> object:
    if value.value is None or isinstance(value.value, bool):
        return value
    if value.value not in ("true", "false"):
        raise EvaluationFailure
    return value.value == "true"


def _to_string(at: Node, value: Node) -> object:
    return value if value.value is None or isinstance(value.value, str) else take_text(value)


def _to_number(at: Node, value: Node) -> object:
    return value if value.value is None else take_number(value)


def _changed(change: Callable[..., str]) -> Function:
    """A function of texts: a text that stays the same is still where it is written."""

    def function(at: Node, *args: Node) -> object:
        made = change(*map(take_text, args))
        return args[0] if made == args[0].value else made

    return function


def _base64(at: Node, value: Node) -> object:
    from base64 import b64encode

    return b64encode(take_text(value).encode()).decode()


_OF_NODES: dict[str, Function] = {
    **COLLECTIONS,
    "format": _format,
    "indent": _indent,
    "join": _join,
    "jsonencode": _json_encode,
    "yamlencode": _yaml_encode,
}
_OF_KNOWN: dict[str, Function] = {
    "abs": lambda at, value: abs(take_number(value)),
    "alltrue": lambda at, value: all(item.value in (True, "true") for item in take_items(value)),
    "anytrue": lambda at, value: any(item.value in (True, "true") for item in take_items(value)),
    "base64encode": _base64,
    "basename": lambda at, path: take_text(path).rstrip("/").rpartition("/")[2],
    "ceil": lambda at, value: -int(-take_number(value) // 1),
    "chomp": _changed(lambda text: text.rstrip("\r\n")),
    "compact": _compact,
    "contains": _contains,
    "chunklist": _chunk_list,
    "dirname": lambda at, path: take_text(path).rpartition("/")[0] or ".",
    "distinct": lambda at, value: sequence(at, list_distinct(take_items(value))),
    "endswith": lambda at, value, end: take_text(value).endswith(take_text(end)),
    "floor": lambda at, value: int(take_number(value) // 1),
    "formatlist": _format_list,
    "index": _index_of,
    "jsondecode": _decoded,
    "lower": _changed(str.lower),
    "max": lambda at, *args: max(map(take_number, args)),
    "min": lambda at, *args: min(map(take_number, args)),
    "range": _range,
    "replace": _replace,
    "setintersection": _set_of(lambda item, lists: all(item in items for items in lists)),
    "setproduct": _set_product,
    "setsubtract": _set_of(lambda item, lists: item in lists[0] and item not in lists[-1]),
    "setunion": _set_of(lambda item, lists: True),
    "sort": _sort,
    "split": _split,
    "startswith": lambda at, value, start: take_text(value).startswith(take_text(start)),
    "strcontains": lambda at, value, part: take_text(part) in take_text(value),
    "substr": _substr,
    "title": _changed(lambda text: re.sub(r"\b[a-z]", lambda match: match[0].upper(), text)),
    "sum": _sum,
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
