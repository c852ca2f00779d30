"""Whether an object is a whole one, or a part that a tool completes: a patch, or an excerpt for readers."""

from __future__ import annotations

from nodelint.source import UNKNOWN, Document, Node

_HEARTS = {
    "NodePool": ("template",),
    "EC2NodeClass": (
        "role",
        "instanceProfile",
        "subnetSelectorTerms",
        "securityGroupSelectorTerms",
        "amiSelectorTerms",
    ),
}
"""Fields of `spec` of which a whole object has at least one."""

_NEEDED = {
    "NodePool": (("spec", "template", "spec", "nodeClassRef"), ("spec", "template", "spec", "requirements")),
    "EC2NodeClass": (
        ("spec", "subnetSelectorTerms"),
        ("spec", "securityGroupSelectorTerms"),
        ("spec", "amiSelectorTerms"),
    ),
}
"""What a text for readers shows of an object where it shows all of it."""


def adds(patch: Node, whole: Node) -> bool:
    """Whether a patch has a field of `spec`, or of a NodePool's template, that an object lacks."""
    for path in (("spec",), ("spec", "template", "spec")):
        given, there = patch.at(*path), whole.at(*path)
        if given is not None and any(there is None or there.key(entry.name or "") is None for entry in given.entries):
            return True
    return False


_BODIES = (("spec",), ("spec", "template"), ("spec", "template", "spec"))
"""What an object consists of."""


def is_part(node: Node, kind: str, document: Document) -> bool:
    """Whether an object is a patch: it says so, its file is one, or its file may be and it has no heart.

    An example in a text for readers is one where it leaves out what no object does without.
    """
    if node.source.part or document.part or document.target or node.get("$patch") is not None:
        return True
    if any(below is not None and below.value is UNKNOWN for below in (node.at(*path) for path in _BODIES)):
        return True  # a placeholder or an expression stands for what an object consists of
    if (node.source.part is False and document.part is False) or kind not in _HEARTS:
        return False
    if document.host == "markdown":
        return any(node.at(*path) is None for path in (("metadata", "name"), *_NEEDED[kind]))
    spec = node.get("spec")
    return spec is None or not any(spec.get(field) for field in _HEARTS[kind])
