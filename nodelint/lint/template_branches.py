"""Judge the `else` branches of a template's conditions instead of the first branch.

A field in two branches is written twice in the template, and the first value counts. The object is judged once more
for each other branch, with the fields and items of that branch, and findings in that branch are reported.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from nodelint.lint.results import Result
from nodelint.model.manifest import Object
from nodelint.text import UNKNOWN, Node
from nodelint.text.nodes import MappingEntry
from nodelint.text.placeholders import BranchSpan, branches

_MOST = 8
"""The most branches of one object that are judged. Each takes as long as an object."""
_MOST_PARTS = 200


class Alternative:
    """An object as the template writes it if a branch is taken: `obj` with the fields of `branch`."""

    def __init__(self, original: Object, node: Node, branch: BranchSpan) -> None:
        self.original = original
        self.branch = branch
        self.obj = type(original)(node, original.document, original.api_version, original.kind, original.partial)
        self.obj.of_values = original.of_values

    def map_back(self, results: Iterable[Result], known: set[tuple[str, str, int]]) -> Iterator[Result]:
        """Yield the findings in the branch that are not known yet, as findings about the object.

        They have no edits: the edited node would include another branch.
        """
        for result in results:
            at = result.span
            inside = at.source is self.original.source and self.branch.start <= at.start < self.branch.end
            if result.object is self.obj and inside and (result.rule.name, at.source.path, at.start) not in known:
                finding = result.finding._replace(edits=(), suggestions=())
                yield result._replace(finding=finding, object=self.original)


def alternatives(obj: Object) -> list[Alternative]:
    """Return the object once for each branch that repeats fields or items of an earlier branch."""
    hidden = [at for node in obj.node.walk() for at in _hidden(node)] if obj.source.masked else []
    if not hidden:
        return []
    parts = branches(obj.source.text, obj.node.start, obj.document.end)
    if len(parts) > _MOST_PARTS:
        return []
    found: list[Alternative] = []
    others = [part for part in parts if part.number]
    # the innermost `else` is the one that a field is of; those around it are taken with it
    owners = {max((p for p in others if p.holds(at)), key=lambda branch: branch.start, default=None) for at in hidden}
    for branch in others:
        if branch in owners and len(found) < _MOST:
            chosen = {p.block: p.number for p in parts if p.start <= branch.start and branch.end <= p.end}
            away = [p for p in parts if p.number != chosen.get(p.block, 0)]
            found.append(Alternative(obj, _remove_branches(obj.node, away), branch))
    return found


def rounds(objects: Sequence[Object]) -> Iterator[list[Alternative]]:
    """Yield the alternatives of several objects in rounds, with at most one of each object in a round."""
    alternatives_of_object = [found for obj in objects if (found := alternatives(obj))]
    for n in range(max(map(len, alternatives_of_object), default=0)):
        yield [found[n] for found in alternatives_of_object if n < len(found)]


def not_judged(obj: Object) -> Iterator[str]:
    """Yield the fields with values that no single branch gives: several conditions may be true at once."""
    if not obj.source.masked:
        return
    seen = [alternative.branch for alternative in alternatives(obj)]
    for node in obj.node.walk():
        for entry in node.entries:
            repeated = node.key(entry.name) is not entry.key if entry.name is not None else False
            if repeated and entry.name is not None and not any(b.holds(entry.key.start) for b in seen):
                yield entry.name
            others = entry.value.merges if entry.value.kind == "sequence" else ()
            if entry.name and any(not any(b.holds(other.value.start) for b in seen) for other in others):
                yield entry.name


def _hidden(node: Node) -> list[int]:
    """Return the offsets of fields and items that repeat earlier ones of the collection."""
    if node.kind == "sequence":
        return [entry.value.start for entry in node.merges]
    names: set[str] = set()
    found = []
    for entry in node.entries:
        if entry.name is not None and not entry.merged:
            if entry.name in names:
                found.append(entry.key.start)
            names.add(entry.name)
    return found


def _remove_branches(node: Node, away: Sequence[BranchSpan]) -> Node:
    """Return a copy of a node without the content of these branches. Return the node itself if it contains none of
    them.
    """
    if node.kind == "scalar" or node.alias or not any(b.start < node.end and node.start < b.end for b in away):
        return node
    made = Node(node.source, node.start, node.end, node.kind, node.style, node.value)
    made.raw, made.parent, made.tag = node.raw, node.parent, node.tag
    made.shared, made.aliased = node.shared, node.aliased
    if node.kind == "mapping":
        made.merges = node.merges
        for entry in node.entries:
            if not _gone(entry.key.start, away) or entry.merged:
                value = _remove_branches(entry.value, away)
                made.entries.append(MappingEntry(entry.key, value, entry.name, entry.merged))
                if value is not entry.value:
                    value.parent = made
        return made
    items = sorted((*node.items, *(entry.value for entry in node.merges)), key=lambda item: item.start)
    nodes = [_remove_branches(item, away) for item in items if not _gone(item.start, away)]
    was = set(map(id, items))
    for item in nodes:
        if id(item) not in was:
            item.parent = made
    if not nodes:
        made.kind, made.value = "scalar", UNKNOWN
    made.items = nodes
    return made


def _gone(at: int, away: Sequence[BranchSpan]) -> bool:
    return any(branch.holds(at) for branch in away)
