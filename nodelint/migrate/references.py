"""Places where a file names the kind of a class: objects, references to them, and targets of patches."""

from __future__ import annotations

import re
from collections.abc import Iterator

from nodelint import edits
from nodelint.edits import NotEditable
from nodelint.migrate.labels import COMPUTE_TYPE, MoveTarget, counterparts, find_labels
from nodelint.migrate.steps import MoveNote
from nodelint.model.finding import Edit
from nodelint.model.gvk import AUTO_MODE_GROUP, AUTO_MODE_KIND, AWS_GROUP, CLASS_KIND
from nodelint.model.releases import NEWEST
from nodelint.model.requirement import well_known
from nodelint.text import Node, Source, reread

_SIDES = {
    "auto-mode": ((AWS_GROUP, CLASS_KIND), (AUTO_MODE_GROUP, AUTO_MODE_KIND)),
    "karpenter": ((AUTO_MODE_GROUP, AUTO_MODE_KIND), (AWS_GROUP, CLASS_KIND)),
}
_NAMES_KIND = frozenset({"target", "select", "source", "nodeClassRef"})
"""Keys whose value names a kind, with or without its group."""

_SELECTORS = frozenset({"nodeSelector", "node_selector"})


def edits_of_names(source: Source, target: MoveTarget) -> list[Edit]:
    """Return the edits that replace label keys and kinds of classes. The number of lines does not change."""
    found = [Edit(source, start, end, new) for start, end, new in find_labels(source.text, target)]
    for mapping in _mappings(source):
        found += _edits_of_kind(mapping, target)
    taken: list[Edit] = []
    for edit in sorted(dict.fromkeys(found), key=lambda edit: (edit.start, edit.end)):
        if not taken or edit.start >= taken[-1].end:
            taken.append(edit)
    return taken


def _mappings(source: Source) -> Iterator[Node]:
    for document in source.documents:
        for node in document.root.walk() if document.root is not None else ():
            if node.kind == "mapping" and not node.alias and not node.shared:
                yield node


def _edits_of_kind(mapping: Node, target: MoveTarget) -> Iterator[Edit]:
    (old_group, old_kind), (group, kind) = _SIDES[target]
    named: dict[str, list[Node]] = {"kind": [], "group": [], "apiVersion": []}
    for entry in mapping.entries:
        if entry.name in named and not entry.merged:
            named[entry.name].append(entry.value)
    kinds = [node for node in named["kind"] if node.value == old_kind]
    groups = [node for node in named["group"] if node.value == old_group]
    versions = [node for node in named["apiVersion"] if node.value == f"{old_group}/v1"]
    is_reference = mapping.own_name in _NAMES_KIND
    has_other = any(named[name] for name in ("group", "apiVersion"))
    if kinds and not (groups or versions) and (has_other or not is_reference):
        return
    if not kinds and not (groups and is_reference and not named["kind"]):
        return
    for nodes, new in ((kinds, kind), (groups, group), (versions, f"{group}/v1")):
        for node in nodes:
            yield from edits.if_editable(edits.set_value, node, new)


def left_names(source: Source, target: MoveTarget) -> Iterator[tuple[int, str]]:
    """Yield line (from 1) and word for each line that still contains a label or kind of the other side."""
    pattern = _left_pattern(target)
    begin = 0
    for number, line in enumerate(source.text.split("\n"), 1):
        words = line.lstrip()
        if not words.startswith(("#", "//")):
            match = pattern.search(line.partition(" #")[0])
            if match is not None and not _is_of_crd(source, begin):
                yield number, match["word"] or f"{AUTO_MODE_KIND} of {AUTO_MODE_GROUP}"
        begin += len(line) + 1


def _is_of_crd(source: Source, offset: int) -> bool:
    """Return whether the offset is in a CustomResourceDefinition, which is installed with Karpenter."""
    document = next((document for document in source.documents if document.start <= offset < document.end), None)
    return document is not None and "CustomResourceDefinition" in source.text[document.start : document.end]


def _left_pattern(target: MoveTarget) -> re.Pattern[str]:
    if target == "karpenter":
        names = "|".join(map(re.escape, sorted(counterparts(target), key=len, reverse=True)))
        return re.compile(rf"""(?<![\w./-])(?P<word>{names})(?![\w/-])|\bkind["']?\s*[:=]\s*["']?NodeClass\b""")
    names = "|".join(re.escape(key) for key in sorted(well_known(NEWEST)) if key.startswith(f"{AWS_GROUP}/"))
    return re.compile(rf"(?<![\w./-])(?P<word>{CLASS_KIND}|{names})(?![\w/-])")


def is_auto_selector(mapping: Node) -> bool:
    """Return whether the mapping is a node selector for nodes of EKS Auto Mode."""
    return mapping.own_name in _SELECTORS and mapping.get(COMPUTE_TYPE) is not None


def auto_expressions(source: Source) -> Iterator[Node]:
    """Yield the affinity expressions that only nodes of EKS Auto Mode meet."""
    for mapping in _mappings(source):
        key, operator = mapping.get("key"), mapping.get("operator")
        if key is None or key.value != COMPUTE_TYPE or operator is None or operator.value not in ("In", "Exists"):
            continue
        above = mapping.parent
        if above is None or above.own_name != "requirements":
            yield mapping


def auto_selectors(source: Source) -> list[Node]:
    """Return the node selectors for nodes of EKS Auto Mode."""
    return [mapping for mapping in _mappings(source) if is_auto_selector(mapping)]


def without_selector(source: Source) -> tuple[Source, bool]:
    """Return the source without its first editable node selector for EKS Auto Mode, and whether one was removed."""
    for mapping in auto_selectors(source):
        value = mapping.get(COMPUTE_TYPE)
        whole = len(mapping.entries) == 1 and mapping.parent is not None and len(mapping.parent.entries) > 1
        try:
            made = edits.remove(mapping if whole else value) if value is not None else []
        except NotEditable:
            continue
        return reread(source, edits.apply(source.text, made)), True
    return source, False


def selector_note(mapping: Node, source: Source) -> MoveNote:
    """Return the note on a node selector that is removed."""
    at = mapping.key(COMPUTE_TYPE) or mapping
    message = (
        "Karpenter's nodes have no such label: the pods may also run on node groups; to keep them off these, select"
        " `karpenter.sh/nodepool`"
    )
    value = mapping.get(COMPUTE_TYPE)
    shown = f"{COMPUTE_TYPE}: {value.text if value is not None else ''}"
    return MoveNote(
        "dropped", "", at.path or "nodeSelector", source.path, source.position(at.start).line, message, shown
    )
