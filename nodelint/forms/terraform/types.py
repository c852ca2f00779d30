"""Convert Terraform values between types, for example if several values must have one type.

Source of the rules: the conversions of HCL's value system (zclconf/go-cty, cty/convert).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nodelint.base.tuples import NamedTuple
from nodelint.forms.lib.made_nodes import Collection, mapping, scalar, sequence
from nodelint.forms.terraform.nodes import (
    EvaluationFailure,
    TextNode,
    collection_of,
    is_known,
    is_unknown,
    number_of,
    same_form,
    text_of,
    unknown,
)
from nodelint.text.nodes import MappingEntry, Node
from nodelint.text.unknown_value import UNKNOWN


class ValueType(NamedTuple):
    """A type: `any` (not known yet), `string`, `number`, `bool`, or a kind of collection.

    - `of`: the type of the items of a list, set or map, or the types of a tuple's items.
    - `members`: the types of an object's attributes.
    """

    name: str
    of: tuple[ValueType, ...] = ()
    members: Mapping[str, ValueType] = {}


ANY, STRING, NUMBER, BOOL = map(ValueType, ("any", "string", "number", "bool"))
_ONE_TYPE = ("list", "set", "map")


def type_of(node: Node) -> ValueType:
    """Return the type of a value."""
    if node.kind == "scalar":
        if isinstance(node, TextNode) or isinstance(node.value, str):
            return STRING
        if isinstance(node.value, bool):
            return BOOL
        return NUMBER if isinstance(node.value, int | float) else ANY
    kind = collection_of(node)
    if kind == "object":
        return ValueType(kind, (), {entry.name or "": type_of(entry.value) for entry in node.entries})
    types = tuple(type_of(item) for item in (node.items or [entry.value for entry in node.entries]))
    if kind == "tuple":
        return ValueType(kind, types)
    return ValueType(kind, (next((kind for kind in types if kind != ANY), ANY),))


def unify(types: Sequence[ValueType]) -> ValueType | None:
    """Return the common type of values with some types. None if there is none."""
    found = list(dict.fromkeys(map(_key, types)))
    if len(found) <= 1:
        return types[0] if types else ANY
    names = {kind.name for kind in types} - {"any"}
    structured = names <= {"list", "set", "map", "tuple", "object"}
    if structured and len(names) == 1 and any(kind.name == "any" for kind in types):
        return ANY
    if names == {"object"}:
        return _unify_objects(types)
    if names == {"tuple"}:
        return _unify_tuples(types)
    for alone, similar in (("map", "object"), ("list", "tuple"), ("set", "")):
        if alone in names and names <= {alone, similar}:
            parts = [part for kind in types for part in (kind.of or kind.members.values())]
            inner = unify([part for part in parts if part != ANY])
            if inner is not None:
                return ValueType(alone, (inner,))
    known = [kind for kind in types if kind.name != "any"]
    for wanted in sorted(known, key=_rank):
        if all(can_convert(kind, wanted) for kind in known):
            return wanted
    return None


def _key(kind: ValueType) -> object:
    return kind.name, tuple(map(_key, kind.of)), tuple(sorted((k, _key(v)) for k, v in kind.members.items()))


def _rank(kind: ValueType) -> int:
    order = ("string", "number", "bool", "list", "set", "map", "tuple", "object")
    return order.index(kind.name)


def _unify_objects(types: Sequence[ValueType]) -> ValueType | None:
    if len({frozenset(kind.members) for kind in types}) == 1:
        found = {name: unify([kind.members[name] for kind in types]) for name in types[0].members}
        members = {name: member for name, member in found.items() if member is not None}
        if len(members) == len(found):
            return ValueType("object", (), members)
    inner = unify([member for kind in types for member in kind.members.values()])
    return None if inner is None else ValueType("map", (inner,))


def _unify_tuples(types: Sequence[ValueType]) -> ValueType | None:
    if len({len(kind.of) for kind in types}) == 1:
        found = [unify(column) for column in zip(*(kind.of for kind in types), strict=True)]
        of = tuple(member for member in found if member is not None)
        if len(of) == len(found):
            return ValueType("tuple", of)
    inner = unify([member for kind in types for member in kind.of])
    return None if inner is None else ValueType("list", (inner,))


def can_convert(given: ValueType, wanted: ValueType) -> bool:
    """Return whether values of a type can be converted to another type. It may still fail for a given value."""
    if "any" in (given.name, wanted.name) or _key(given) == _key(wanted):
        return True
    if wanted.name in ("string", "number", "bool"):
        return given.name == "string" or (wanted.name == "string" and given.name in ("number", "bool"))
    if wanted.name in _ONE_TYPE:
        parts = (*given.of, *given.members.values())
        sources = ("map", "object") if wanted.name == "map" else ("list", "set", "tuple")
        return given.name in sources and all(can_convert(part, wanted.of[0]) for part in parts)
    if wanted.name == "tuple":
        return (
            given.name == "tuple" and len(given.of) == len(wanted.of) and all(map(can_convert, given.of, wanted.of))
        )
    return (
        given.name == "object"
        and wanted.members.keys() <= given.members.keys()
        and all(can_convert(given.members[name], member) for name, member in wanted.members.items())
    )


def convert(node: Node, wanted: ValueType) -> Node:
    """Return a value converted to a type. Raise `EvaluationFailure`."""
    if wanted.name == "any" or is_unknown(node) or (node.kind == "scalar" and node.value is None):
        return node
    if wanted.name in ("string", "number", "bool"):
        return _convert_scalar(node, wanted.name)
    if wanted.name in ("list", "set") and node.kind == "sequence":
        items = [convert(item, wanted.of[0]) for item in node.items]
        if wanted.of[0] == ANY:
            items = one_type(items)
        if wanted.name == "set":
            return set_of(node, items)
        return _with_parts(node, "list", items=items)
    if wanted.name == "map" and node.kind == "mapping":
        values = [convert(entry.value, wanted.of[0]) for entry in node.entries]
        if wanted.of[0] == ANY:
            values = one_type(values)
        return _with_parts(node, "map", entries=_entries(node, values))
    if wanted.name == "tuple" and node.kind == "sequence" and len(node.items) == len(wanted.of):
        return _with_parts(node, "tuple", items=list(map(convert, node.items, wanted.of)))
    if wanted.name == "object" and node.kind == "mapping":
        entries = [entry for entry in node.entries if entry.name is None or entry.name in wanted.members]
        if not wanted.members.keys() <= {entry.name for entry in entries} and all(entry.name for entry in entries):
            raise EvaluationFailure
        values = [convert(entry.value, wanted.members.get(entry.name or "", ANY)) for entry in entries]
        return _with_parts(
            node, "object", entries=[MappingEntry(e.key, v, e.name) for e, v in zip(entries, values, strict=True)]
        )
    raise EvaluationFailure


def _entries(node: Node, values: Sequence[Node]) -> list[MappingEntry]:
    return [MappingEntry(entry.key, value, entry.name) for entry, value in zip(node.entries, values, strict=True)]


def _convert_scalar(node: Node, wanted: str) -> Node:
    value = node.value
    if node.kind != "scalar":
        raise EvaluationFailure
    if wanted == "string":
        return node if isinstance(value, str) or isinstance(node, TextNode) else scalar(node, text_of(value))
    if value is UNKNOWN:
        return unknown(node)
    if wanted == "bool":
        if isinstance(value, bool):
            return node
        if value not in ("true", "false", "1", "0"):
            raise EvaluationFailure
        return scalar(node, value in ("true", "1"))
    if isinstance(value, int | float) and not isinstance(value, bool):
        return node
    number = number_of(value)
    if number is None:
        raise EvaluationFailure
    return scalar(node, number)


def _with_parts(
    node: Node,
    collection: Collection,
    items: Sequence[Node] = (),
    entries: Sequence[MappingEntry] = (),
) -> Node:
    """Return a collection with other parts. If nothing differs, return the same collection."""
    if (
        collection == collection_of(node)
        and len(items) == len(node.items)
        and len(entries) == len(node.entries)
        and all(a is b for a, b in zip(items, node.items, strict=True))
        and all(a.value is b.value for a, b in zip(entries, node.entries, strict=True))
    ):
        return node
    made = sequence(node, (), collection) if node.kind == "sequence" else mapping(node, (), collection)
    made.parent = node.parent
    made.items = list(items)
    made.entries = list(entries)
    return made


def one_type(nodes: Sequence[Node]) -> list[Node]:
    """Return the values converted to a common type. Raise `EvaluationFailure` if there is none.

    A number or boolean next to an unknown value becomes unknown: the other value may be a string.
    """
    wanted = unify([kind for kind in map(type_of, nodes) if kind != ANY])
    if wanted is None:
        raise EvaluationFailure
    if wanted in (NUMBER, BOOL) and any(map(is_unknown, nodes)):
        return [node if node.value is None else unknown(node) for node in nodes]
    return [convert(node, wanted) for node in nodes]


def set_of(at: Node, items: Sequence[Node]) -> Node:
    """Return a set of values of one type, in Terraform's order. Unknown if the order is not known."""
    if not all(map(is_known, items)):
        return unknown(at)
    found: dict[object, Node] = {}
    for item in items:
        found.setdefault(repr(same_form(item)), item)
    values = list(found.values())
    if len(values) > 1:
        if any(value.kind != "scalar" for value in values):
            return unknown(at)
        values.sort(key=_set_order)
    return sequence(at, values, "set")


def _set_order(node: Node) -> tuple[bool, str | int | float]:
    value = node.value
    return value is None, value if isinstance(value, str | int | float) else 0


def list_of(at: Node, items: Sequence[Node]) -> Node:
    """Return a list of values, converted to a common type. Raise `EvaluationFailure`."""
    return sequence(at, one_type(items), "list")
