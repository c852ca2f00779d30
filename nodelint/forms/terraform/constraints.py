"""Apply the types of Terraform variables to their values."""

from __future__ import annotations

from nodelint.forms.lib.made_nodes import mapping, scalar, sequence
from nodelint.forms.terraform.evaluate import ExpressionEvaluator
from nodelint.forms.terraform.hcltree import HclExpression
from nodelint.forms.terraform.nodes import EvaluationFailure, empty_default, is_empty, is_null, unknown
from nodelint.forms.terraform.types import ANY, BOOL, NUMBER, STRING, ValueType, convert
from nodelint.text.nodes import MappingEntry, Node

_PRIMITIVES = {"string": STRING, "number": NUMBER, "bool": BOOL}


def converted(value: Node, kind: HclExpression, evaluator: ExpressionEvaluator) -> Node:
    """Return a value converted to the type of a variable. Unknown if the type refuses it. Raise `BudgetSpent`."""
    if value.kind != "scalar":
        evaluator.budget.spend_on(value)
    try:
        return convert(_with_defaults(value, kind, evaluator), parse_type(kind))
    except EvaluationFailure:
        return unknown(value)


def parse_type(kind: HclExpression) -> ValueType:
    """Return the type of a type expression; `any` if it is not supported."""
    if kind.kind == "name":
        return _PRIMITIVES.get(str(kind.value), ANY)
    if kind.kind != "call" or not kind.parts:
        return ANY
    name, of = str(kind.value), kind.parts[0]
    if name == "optional":
        return parse_type(of)
    if name in ("list", "set", "map"):
        return ValueType(name, (parse_type(of),))
    if name == "tuple" and of.kind == "list":
        return ValueType(name, tuple(map(parse_type, of.parts)))
    if name == "object" and of.kind == "object":
        pairs = zip(of.parts[::2], of.parts[1::2], strict=True)
        return ValueType(name, (), {str(key.value): parse_type(member) for key, member in pairs})
    return ANY


def _with_defaults(value: Node, kind: HclExpression, evaluator: ExpressionEvaluator) -> Node:
    """Return a value with the defaults of `optional` for missing and null attributes."""
    if kind.kind != "call" or not kind.parts or value.kind == "scalar":
        return value
    name, of = kind.value, kind.parts[0]
    if name == "optional":
        return _with_defaults(value, of, evaluator)
    evaluator.budget.spend(len(value.items) + len(value.entries))
    if name in ("list", "set") and value.kind == "sequence":
        items = [_with_defaults(item, of, evaluator) for item in value.items]
        if all(a is b for a, b in zip(items, value.items, strict=True)):
            return value
        made = sequence(value, items)
        made.parent = value.parent
        return made
    if name == "map" and value.kind == "mapping":
        values = [_with_defaults(entry.value, of, evaluator) for entry in value.entries]
        if all(a is b.value for a, b in zip(values, value.entries, strict=True)):
            return value
        made = mapping(value, ())
        made.parent = value.parent
        made.entries = [MappingEntry(e.key, v, e.name) for e, v in zip(value.entries, values, strict=True)]
        return made
    if name == "object" and value.kind == "mapping" and of.kind == "object":
        return _object(value, of, evaluator)
    return value


def _object(value: Node, of: HclExpression, evaluator: ExpressionEvaluator) -> Node:
    made = mapping(value, ())
    made.parent = value.parent
    for key, kind in zip(of.parts[::2], of.parts[1::2], strict=True):
        name = str(key.value)
        entry = value.entry(name)
        optional = kind.kind == "call" and kind.value == "optional"
        if entry is not None and not (optional and is_null(entry.value)):
            made.entries.append(MappingEntry(entry.key, _with_defaults(entry.value, kind, evaluator), name))
        elif optional:
            at = evaluator.place(kind)
            other = evaluator.value(kind.parts[1]) if len(kind.parts) > 1 else scalar(at, None)
            made.entries.append(MappingEntry(at, _with_defaults(other, kind, evaluator), name))
    made.entries += [entry for entry in value.entries if entry.name is None]
    return made


def assumed(kind: HclExpression, evaluator: ExpressionEvaluator) -> Node | None:
    """Return the assumed value of an object variable that nothing sets: the defaults of its `optional` attributes.

    None if the type is no object, or has no such defaults.
    """
    if kind.kind != "call" or kind.value != "object" or not kind.parts or kind.parts[0].kind != "object":
        return None
    made = mapping(evaluator.place(kind), ())
    known = False
    for key, of in zip(kind.parts[0].parts[::2], kind.parts[0].parts[1::2], strict=True):
        at, optional = evaluator.place(of), of.kind == "call" and of.value == "optional"
        value = assumed(of.parts[0] if optional and of.parts else of, evaluator)
        if optional and len(of.parts) > 1:
            value = converted(evaluator.value(of.parts[1]), of, evaluator)
        known = known or value is not None
        made.entries.append(MappingEntry(at, value or at, str(key.value)))
    return made if known else None


def without_gaps(value: Node) -> Node:
    """Return a default in which empty strings and nulls are unknown."""
    if value.kind == "scalar":
        return empty_default(value) if is_empty(value) else value
    if not any(node.kind == "scalar" and is_empty(node) for node in value.walk()):
        return value
    made = Node(value.source, value.start, value.end, value.kind, "hcl")
    made.parent = value.parent
    made.items = [without_gaps(item) for item in value.items] if value.kind == "sequence" else made.items
    if value.kind == "mapping":
        made.entries = [MappingEntry(entry.key, without_gaps(entry.value), entry.name) for entry in value.entries]
    return made
