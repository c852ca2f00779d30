"""Types of Terraform's variables, as far as they change what a variable holds."""

from __future__ import annotations

from nodelint.source.nodes import UNKNOWN, MappingEntry, Node
from nodelint.source.terraform.hclexpr import HclExpression
from nodelint.source.terraform.tfeval import ExpressionEvaluator, mapping, number_of, scalar, sequence, text_of

_COLLECTIONS = ("list", "set")


def converted(value: Node, kind: HclExpression, evaluator: ExpressionEvaluator) -> Node:
    """A value as a variable of a type holds it: texts for numbers, and what `optional` gives for what is left out."""
    if kind.kind == "name":
        return _scalar(value, str(kind.value))
    if kind.kind != "call" or not kind.parts or value.value is UNKNOWN:
        return value
    name, of = kind.value, kind.parts[0]
    if name == "optional":
        return converted(value, of, evaluator)
    evaluator.budget.spend(len(value.items) + len(value.entries))
    if name in _COLLECTIONS and value.kind == "sequence":
        return _replace_parts(value, [converted(item, of, evaluator) for item in value.items])
    if name == "map" and value.kind == "mapping":
        members = [MappingEntry(e.key, converted(e.value, of, evaluator), e.name) for e in value.entries]
        return _replace_parts(value, members)
    if name == "object" and value.kind == "mapping" and of.kind == "object":
        return _object(value, of, evaluator)
    return value


def assumed(kind: HclExpression, evaluator: ExpressionEvaluator) -> Node | None:
    """What a variable of a type holds that nobody gives: an object of which `optional` says something, else None."""
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


def _scalar(value: Node, name: str) -> Node:
    given = value.value
    if value.kind != "scalar" or given is UNKNOWN or given is None:
        return value
    if name == "string" and not isinstance(given, str):
        return scalar(value, text_of(given))
    if name == "number" and isinstance(given, str):
        number = number_of(given)
        return value if number is None else scalar(value, number)
    if name == "bool" and given in ("true", "false"):
        return scalar(value, given == "true")
    return value


def _replace_parts(value: Node, parts: list[Node] | list[MappingEntry]) -> Node:
    """A collection with other parts; itself where these are the same."""
    made = sequence(value, ()) if value.kind == "sequence" else mapping(value, ())
    made.parent = value.parent
    for part in parts:
        if isinstance(part, MappingEntry):
            made.entries.append(part)
        else:
            made.items.append(part)
    same = [a is b for a, b in zip(made.items, value.items, strict=True)]
    same += [a.value is b.value for a, b in zip(made.entries, value.entries, strict=True)]
    return value if all(same) else made


def _object(value: Node, of: HclExpression, evaluator: ExpressionEvaluator) -> Node:
    made = mapping(value, ())
    made.parent = value.parent
    for key, kind in zip(of.parts[::2], of.parts[1::2], strict=True):
        name = str(key.value)
        entry = value.entry(name)
        optional = kind.kind == "call" and kind.value == "optional"
        if entry is not None and (entry.value.value is not None or entry.value.kind != "scalar" or not optional):
            made.entries.append(MappingEntry(entry.key, converted(entry.value, kind, evaluator), name))
        elif optional:
            at = evaluator.place(kind)
            other = evaluator.value(kind.parts[1]) if len(kind.parts) > 1 else scalar(at, None)
            made.entries.append(MappingEntry(at, converted(other, kind, evaluator), name))
    made.entries += [entry for entry in value.entries if entry.name is None]
    return made
