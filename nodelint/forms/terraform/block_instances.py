"""Find the instances of a block by its `for_each` or `count`, and why it has none."""

from __future__ import annotations

import re
from collections.abc import Mapping

from nodelint.base.types import TYPE_CHECKING
from nodelint.forms.lib.made_nodes import mapping, scalar
from nodelint.forms.requests import IS_ALWAYS
from nodelint.forms.terraform.nodes import items_of
from nodelint.text.limits import note_more
from nodelint.text.nodes import Node

if TYPE_CHECKING:
    from nodelint.forms.terraform.hcltree import HclExpression
    from nodelint.forms.terraform.template import Evaluator

MOST_INSTANCES = 400
"""The most instances of one block that are rendered."""
_NOTHING = re.compile(r"\s*(?:0|\[\s*\]|\{\s*\}|toset\(\s*\[\s*\]\s*\))\s*")
"""A literal `count` or `for_each` of no instance, which nothing outside of the file can change."""


def instances(outer: Mapping[str, HclExpression], evaluator: Evaluator) -> list[Mapping[str, Node]]:
    """Return the names `each` or `count` for each instance of a block.

    A block with an unknown number of instances gets one with unknown values. So does a block without instances,
    because it is meant to be enabled.
    """
    over, count = outer.get("for_each"), outer.get("count")
    if over is not None:
        value = evaluator.value(over)
        pairs = items_of(value) or []
        if value.kind == "sequence":
            pairs = [(item, item) for _, item in pairs]
        at = evaluator.place(over)
        _note_instances(at, len(pairs))
        made: list[Mapping[str, Node]] = [
            {"each": _names(at, key=key, value=item)} for key, item in pairs[:MOST_INSTANCES]
        ]
        return made or [{"each": _names(at, key=at, value=at)}]
    if count is not None:
        number = evaluator.value(count).value
        at = evaluator.place(count)
        known = isinstance(number, int) and not isinstance(number, bool) and number > 0
        _note_instances(at, number if known and isinstance(number, int) else 0)
        numbers = range(min(number, MOST_INSTANCES)) if known and isinstance(number, int) else ()
        given: list[Mapping[str, Node]] = [{"count": _names(at, index=scalar(at, n))} for n in numbers]
        return given or [{"count": _names(at, index=at)}]
    return [{}]


def _note_instances(at: Node, number: int) -> None:
    line = at.source.position(at.start).line
    note_more(at.source.path, number, MOST_INSTANCES, "instances of this block", line)


def explain_no_instance(outer: Mapping[str, HclExpression], evaluator: Evaluator) -> str:
    """Return why a block has no instance, with the place. Empty if it has one, or if that is not known."""
    for name, nothing in (("for_each", "empty"), ("count", "0")):
        written = outer.get(name)
        if written is None:
            continue
        value = evaluator.value(written)
        is_none = items_of(value) == [] if name == "for_each" else value.value == 0 and value.value is not False
        source = evaluator.scope.source
        how = IS_ALWAYS if _NOTHING.fullmatch(source.text, written.start, written.end) else "is"
        return f"`{name}` {how} {nothing} ({source.path}:{source.position(written.start).line})" if is_none else ""
    return ""


def _names(at: Node, **members: Node) -> Node:
    return mapping(at, ((name, at, value) for name, value in members.items()))
