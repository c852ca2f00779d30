"""Suggestions for a NodePool whose requirements no instance type meets: after each, some instance types match."""

from __future__ import annotations

from nodelint.base.types import TYPE_CHECKING
from nodelint.edits import if_editable, plain_fields, remove, restructure, set_value, set_values
from nodelint.karpenter.labels import find_sibling_families, name_of
from nodelint.karpenter.spelling import one_slip
from nodelint.model.finding import Suggestion
from nodelint.model.keys import ARCH, CAPACITY_TYPE, FAMILY, OS
from nodelint.model.manifest import Label
from nodelint.model.manifest_terms import RequirementLine
from nodelint.model.messages import counted, short

if TYPE_CHECKING:
    from nodelint.karpenter.resolve import LineEffect, Resolution
    from nodelint.text import Node

MOST_VALUES = 3
"""The most values that a suggestion adds, unless the requirement itself has more."""

TAKE_OUT = "remove"
"""How the name of a suggestion begins that removes a requirement."""


def render(line: LineEffect, most: int) -> str:
    """Return a requirement as text of at most `most` characters."""
    values = ", ".join(line.values)
    return short(f"{name_of(line.key)} {line.operator} {values}".strip(), most)


def list_value_nodes(line: LineEffect) -> list[Node]:
    """Return the nodes of the values of a requirement. Empty for a label.

    If the list is a YAML alias, the nodes are those of its anchor.
    """
    return [] if isinstance(line.at, Label) else [value.node for value in line.at.values]


def list_ways(core: list[LineEffect], resolution: Resolution) -> list[Suggestion]:
    """Return suggestions after which some instance types match: merge two lists, change the values, or remove a
    requirement.
    """
    merged = _merged(core)
    ways = merged or _with_other_values(core, resolution)
    return [*ways, *_without_a_line(core, resolution)]


def _merged(core: list[LineEffect]) -> list[Suggestion]:
    """Return a suggestion that merges two `In` requirements for the same label into one with all values.

    Empty if the two requirements are other ones.
    """
    first, second = (line.at for line in core[:2])
    if len(core) != 2 or core[0].key != core[1].key or any(line.operator != "In" or not line.known for line in core):
        return []
    if not isinstance(first, RequirementLine) or not isinstance(second, RequirementLine):
        return []
    values, lines = list(dict.fromkeys((*core[0].values, *core[1].values))), second.node.parent
    if lines is None or first.node.parent is not lines:
        return []
    left_lines = [
        plain_fields(item) | {"values": values} if item is first.node else item.plain()
        for item in lines.items
        if item is not second.node
    ]
    changes = if_editable(restructure, lines, left_lines)
    name = f"one requirement: {name_of(core[0].key)} {short(', '.join(values), 40)}"
    return [Suggestion(name, changes)] if changes else []


def _with_other_values(core: list[LineEffect], resolution: Resolution) -> list[Suggestion]:
    """Return suggestions of other values of a requirement, with which instance types match.

    Empty if there are many such values.

    For a label with few values at all (architecture, operating system, capacity type), the new values replace the
    written ones; for other labels they are added.
    """
    found = []
    for line in core:
        at = line.at
        if line.operator != "In" or not line.known or not isinstance(at, RequirementLine):
            continue
        left = resolution.left_without(line)
        values = [value for value, bits in sorted(resolution.catalog.values(line.key).items()) if bits & left]
        alone = line.key in (ARCH, OS, CAPACITY_TYPE)
        if len(values) > MOST_VALUES and line.key == FAMILY:
            values, alone = find_sibling_families(line.values, left, resolution.catalog), True
        if not 0 < len(values) <= max(MOST_VALUES, len(line.values)) or at.node.get("values") is None:
            continue
        changes = if_editable(set_values, at.values_node, values if alone else [*line.values, *values])
        name = f"{name_of(line.key)} {', '.join(values)}"
        found += [Suggestion(f"{'require' if alone else 'add'} {name}", changes)] if changes else []
    return found


def _without_a_line(core: list[LineEffect], resolution: Resolution) -> list[Suggestion]:
    """Return suggestions that each remove one of two requirements that exclude each other, with the number of
    instance types that then match.
    """
    found = []
    for line in reversed(core) if len(core) == 2 else ():
        count = len(resolution.left_without(line))
        if not count or not isinstance(line.at, RequirementLine):
            continue
        changes = if_editable(remove, line.at.node)
        name = f"{TAKE_OUT} `{render(line, 40)}`: {counted(count, 'instance type')} can launch"
        found += [Suggestion(name, changes)] if changes else []
    return found


def find_slip(core: list[LineEffect], resolution: Resolution) -> tuple[Node, str] | None:
    """Return the node of the one value that differs by a typo from a value with which instance types match, and this
    value. None if there is no such value, or more than one.

    In a list of several values, values of the catalog do not count as typos.
    """
    found = []
    for line in core:
        if line.operator != "In" or not line.known:
            continue
        left = resolution.left_without(line)
        at = line.at
        nodes = [at.node] if isinstance(at, Label) else [value.node for value in at.values]
        known = resolution.catalog.values(line.key)
        for node, text in zip(nodes, line.values, strict=True):
            if len(nodes) > 1 and text in known:
                continue
            found += [(node, value) for value, types in known.items() if types & left and one_slip(text, value)]
    return found[0] if len(found) == 1 else None


def suggest_other_unit(line: LineEffect, unit: str | None) -> list[Suggestion]:
    """Return a suggestion to write a number in MiB if the number was probably meant in GiB.

    Empty if the label has another unit, or the number is 1024 or more.
    """
    nodes = list_value_nodes(line)
    number = line.values[0] if len(line.values) == 1 else ""
    if unit != "MiB" or len(nodes) != 1 or not number.isdigit() or not 0 < int(number) < 1024:
        return []
    meant = str(int(number) * 1024)
    changes = if_editable(set_value, nodes[0], meant)
    return [Suggestion(f"write `{meant}`: {number} GiB in {unit}", changes)] if changes else []
