"""Decide whether an object is complete, or a patch or fragment."""

from __future__ import annotations

import re
from collections.abc import Iterator

from nodelint.model.gvk import GROUPS
from nodelint.text import UNKNOWN, Document, Node, SourceText
from nodelint.text.missing import is_null, items_of
from nodelint.text.placeholders import CODE, depth, holds_any, list_blocks

_HEARTS = {
    "NodePool": ("template",),
    "EC2NodeClass": (
        "role",
        "instanceProfile",
        "subnetSelectorTerms",
        "securityGroupSelectorTerms",
        "amiSelectorTerms",
    ),
    "NodeClass": ("role", "instanceProfile", "subnetSelectorTerms", "securityGroupSelectorTerms"),
}
"""Fields of `spec` of which a complete object has at least one."""

_NEEDED = {
    "NodePool": (("spec", "template", "spec", "nodeClassRef"), ("spec", "template", "spec", "requirements")),
    "EC2NodeClass": (
        ("spec", "subnetSelectorTerms"),
        ("spec", "securityGroupSelectorTerms"),
        ("spec", "amiSelectorTerms"),
    ),
    "NodeClass": (("spec", "subnetSelectorTerms"), ("spec", "securityGroupSelectorTerms")),
}
"""Fields that a complete object has in documentation."""


def adds(patch: Node, whole: Node) -> bool:
    """Return whether a patch has a field of `spec`, or of a NodePool's template, that an object lacks."""
    for path in (("spec",), ("spec", "template", "spec")):
        given, there = patch.find(*path), whole.find(*path)
        if given is not None and any(there is None or there.key(entry.name or "") is None for entry in given.entries):
            return True
    return False


def supplies(patch: Node, path: str) -> bool:
    """Return whether a patch sets the field of a path such as `spec.limits.cpu`, or the list that contains it."""
    return patch.find(*path.partition("[")[0].split(".")) is not None


_BODIES = (("spec",), ("spec", "template"), ("spec", "template", "spec"))
"""The main mappings of an object."""


def is_patch(node: Node, document: Document) -> bool:
    """Return whether an object is certainly a patch of another one, because of `$patch` or its file."""
    return bool(node.source.part or document.part or document.target or node.get("$patch") is not None)


def is_part(node: Node, kind: str, document: Document) -> bool:
    """Return whether the object is a patch or fragment, because of `$patch`, its file, or missing required fields.

    In documentation, an example without a field that each object needs is a fragment.
    """
    if is_patch(node, document):
        return True
    if any(below is not None and below.value is UNKNOWN for below in (node.find(*path) for path in _BODIES)):
        return True  # a placeholder or an expression replaces a main mapping of the object
    if (node.source.part is False and document.part is False) or kind not in _HEARTS:
        return False
    if document.host == "markdown":
        return any(node.find(*path) is None for path in (("metadata", "name"), *_NEEDED[kind]))
    return _lacks_fields(node, kind)


_PATCH_NAME = r"(?:^|[-_./])patch(?:es)?(?:[-_./]|$)"


def _lacks_fields(node: Node, kind: str) -> bool:
    """Return whether an object lacks all required fields.

    In a file or folder named `patch`, one missing field is enough.
    """
    path = node.source.path.lower()
    if "patch" in path and re.search(_PATCH_NAME, "/".join(re.split(r"[/\\]", path)[-2:])):
        return any(node.find(*path) is None for path in _NEEDED[kind])
    return _is_heartless(node, kind)


def _is_heartless(node: Node, kind: str) -> bool:
    spec = node.get("spec")
    return spec is None or not any(spec.get(field) for field in _HEARTS[kind])


def meant_kind(node: Node, document: Document) -> str | None:
    """Return the kind of a complete object that has a Karpenter apiVersion or kind, but lacks the other one.

    None for any other object, such as a patch, an object without a name or one inside another object. None also if
    template code may add the missing field.
    """
    if node.parent is not None or document.host is not None or document.templated or node.source.masked:
        return None
    version, kind = node.get("apiVersion"), node.get("kind")
    if node.find("metadata", "name") is None or (not is_null(version) and not is_null(kind)):
        return None
    group = str(version.value).rpartition("/")[0] if version is not None else ""
    for meant, its_group in GROUPS.items():
        states = group == its_group if is_null(kind) else kind is not None and kind.value == meant
        if states and not is_part(node, meant, document) and not _is_heartless(node, meant):
            return meant
    return None


def is_unclaimed_patch(node: Node, kind: str, document: Document) -> bool:
    """Return whether an object counts as a patch only because it lacks fields: no kustomization names its file.

    Then either its target is not known, or it is an object that the API server refuses.
    """
    if node.source.part is not None or document.part or document.target or document.host is not None:
        return False
    if kind not in _HEARTS or document.templated or node.source.masked or node.get("$patch") is not None:
        return False
    if any(below is not None and below.value is UNKNOWN for below in (node.find(*path) for path in _BODIES)):
        return False  # the placeholder is reported
    return _lacks_fields(node, kind)


_OPENS = r"(?:\{\{|\{%|%\{|<%)[-~+=]?"
_COMMENTED = rf"#[ \t]*{_OPENS}\s*(?:if|unless|with|range|for|else|elif|elsif|end\w*)\b"
CODE_LINE = rf"(?m)^[ \t]*(?:{_OPENS}|\$\{{|{_COMMENTED})[^\n]*"
"""A line of template code. A template engine also evaluates a condition that stands in a comment of YAML."""
SILENT = r"[ \t]*\{\{-?\s*(?:/\*|\$\w+\s*:?=)"
_ENDS = rf"[ \t#]*{_OPENS}\s*end\w*\b"
CONTROL = rf"[ \t#]*{_OPENS}\s*(?:if|unless|with|range|for|end\w*)\b"


def may_lack(node: Node, document: Document) -> bool:
    """Return whether template code may add fields to an object's `spec`, or omit some."""
    return (document.templated and _may_lines_add(node, document)) or _holds_code_entries(node)


def _may_lines_add(node: Node, document: Document) -> bool:
    """Return whether lines of template code may add fields to an object's `spec`, or omit some.

    They do not if they are around the whole object, in its metadata, or form a loop that fills the values of a
    requirement, which are unknown anyway.
    """
    entry = node.entry("spec")
    if entry is None or document.host is not None or node is not document.root:
        return True
    later = [member.key.start for member in node.entries if member.key.start > entry.key.start]
    end = min(later, default=document.end)
    loops = list(_loops(node, end))
    for line in re.compile(CODE_LINE).finditer(node.source.text, entry.key.start, end):
        if re.match(SILENT, line[0]) or any(begin <= line.start() < stop for begin, stop in loops):
            continue
        if not (re.match(_ENDS, line[0]) and line.start() > entry.value.end):
            return True
    return False


_CODE_IN_BRACES = r"[{,][ \t]*(?:\{\{|\{%|%\{|<%|\$\{)"


def _holds_code_entries(node: Node) -> bool:
    """Return whether template code prints whole entries into braces: `{ {{ include "tags" . }} }`."""
    if not node.source.masked or not re.compile(_CODE_IN_BRACES).search(node.source.text, node.start, node.end):
        return False
    entries = (entry for below in node.walk() for entry in below.entries)
    return any(entry.name is None and entry.value.start == entry.value.end for entry in entries)


def may_gain(mapping: Node) -> bool:
    """Return whether a line of template code prints keys into a mapping. Conditions and loops alone print nothing."""
    end = after(mapping)
    lines = re.compile(CODE_LINE).finditer(mapping.source.text, mapping.start, end)
    return any(not (re.match(CONTROL, line[0]) or re.match(SILENT, line[0])) for line in lines)


def list_gaining(node: Node, document: Document) -> Iterator[tuple[str, Node, int]]:
    """Yield (field, mapping, offset) for each mapping of an object to which a line of template code adds keys.

    The column comes from `indent` or `nindent` in the line, else from the line itself.
    """
    text = node.source.text
    levels = {}
    for line in re.compile(CODE_LINE).finditer(text, node.start, document.end):
        if not (re.match(CONTROL, line[0]) or re.match(SILENT, line[0])):
            indents = re.findall(r"\bn?indent\s+(\d+)", line[0])
            code = line.end() - len(line[0].lstrip(" \t"))
            levels[code] = int(indents[-1]) if indents else code - line.start()
    pending = [("", node)] if levels else []
    while pending:
        field, mapping = pending.pop()
        pending += [
            (f"{field}.{entry.name}" if field else str(entry.name), entry.value)
            for entry in reversed(mapping.entries)
            if entry.value.kind == "mapping"
        ]
        if mapping.style != "block" or not mapping.entries:
            continue
        first = mapping.entries[0].key.start
        column, end = first - text.rfind("\n", 0, first) - 1, min(after(mapping), document.end)
        at = next((at for at, level in levels.items() if level == column and mapping.start <= at < end), None)
        if at is not None:
            yield field, mapping, at


def list_conditional(node: Node, document: Document) -> Iterator[tuple[str, Node, int, bool]]:
    """Yield the conditional parts of an object: field, value, offset of the template block, whether it is a loop.

    Only the first part of each outermost block is yielded. A block around the whole object or inside a string is
    skipped.
    """
    text = node.source.text
    if not holds_any(text[node.start : document.end], CODE):
        return
    blocks = [
        block
        for block in list_blocks(text, document.start, document.end)
        if block.end > node.start and not _is_comment(node.source, block.start)
    ]
    found: dict[int, tuple[str, Node, int, bool]] = {}
    pending = [("", node)] if any(block.start > node.start for block in blocks) else []
    while pending:
        field, above = pending.pop()
        below = [(f"{field}.{entry.name}".lstrip("."), entry.key.start, entry.value) for entry in above.entries]
        below += [(f"{field}[{n}]", item.start, item) for n, item in enumerate(above.items)]
        for name, at, value in below:
            block = next((b for b in blocks if node.start < b.start < at < b.end), None)
            if block is None:
                pending.append((name, value))
            elif block.start not in found or found[block.start][1].start > at:
                found[block.start] = (name, value, block.start, block.is_loop)
    yield from (found[start] for start in sorted(found))


def _is_comment(source: SourceText, at: int) -> bool:
    """Return whether template code is in a YAML comment, so that its author did not mean it to run. Jinja code in
    one does run.
    """
    before = source.text[source.text.rfind("\n", 0, at) + 1 : at]
    return "#" in before and re.search(_JINJA_NAME, source.path) is None


_JINJA_NAME = r"\.(?:j2|jinja2?)$"


def after(node: Node) -> int:
    """Return the offset of the next entry or item after a node, in any collection around it.

    If there is none, return the end of the file.
    """
    around = node.parent
    while around is not None:
        starts = [entry.key.start for entry in around.entries] or [item.start for item in around.items]
        later = [start for start in starts if start > node.start]
        if later:
            return min(later)
        around = around.parent
    return len(node.source.text)


def _loops(node: Node, end: int) -> Iterator[tuple[int, int]]:
    """Yield the ranges of requirement values that a template fills in by a loop which contains nothing else."""
    text = node.source.text
    for line in items_of(node.find("spec", "template", "spec", "requirements")):
        key, values = line.key("values"), line.get("values")
        if key is None or values is None or not any(item.value is UNKNOWN for item in values.items):
            continue
        begin = text.find("\n", key.end) + 1
        stop = text.find("\n", values.end)
        for code in re.compile(CODE_LINE).finditer(text, values.end, end):
            if not re.match(_ENDS, code[0]) or depth(text, begin, stop) < 1:
                break
            stop = code.end()
        controls = re.compile(CODE_LINE).finditer(text, begin, stop)
        if depth(text, begin, stop) == 0 and all(re.match(CONTROL, code[0]) for code in controls):
            yield begin, stop
