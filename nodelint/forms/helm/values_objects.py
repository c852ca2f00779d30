"""Find NodePools and EC2NodeClasses in the values of a chart whose templates are not known.

A mapping with Karpenter `requirements` is a pool, and one with selector terms is a class, whatever chart it is for:
the names of fields are those of `spec`. The additions of the chart are not known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from nodelint.model.gvk import AWS_GROUP, CLASS_KIND, CORE_GROUP
from nodelint.model.manifest import EC2NodeClass, NodePool, Object
from nodelint.text import Document, Node
from nodelint.text.nodes import MappingEntry

_TERMS = ("amiSelectorTerms", "subnetSelectorTerms", "securityGroupSelectorTerms")
WORDS = ("requirements", *_TERMS)
"""Keys of which each such mapping has at least one."""

_LABELS = (
    r"(?:karpenter\.(?:sh/capacity-type|k8s\.aws/)|node\.kubernetes\.io/instance-type$|eks\.amazonaws\.com/instance-)"
)
"""The beginning of label keys that only requirements of Karpenter use."""

_POOL = ("requirements", "taints", "startupTaints", "weight", "expireAfter", "terminationGracePeriod")
_DISRUPTION = {"consolidationPolicy", "consolidateAfter", "expireAfter", "budgets"}
_CLASS = (
    *_TERMS,
    "amiFamily",
    "userData",
    "blockDeviceMappings",
    "metadataOptions",
    "associatePublicIPAddress",
    "detailedMonitoring",
    "instanceStorePolicy",
)


def find_objects(root: Node, document: Document) -> Iterator[Object]:
    """Yield the pools and classes in a mapping that is not a Kubernetes object."""
    text = root.source.text
    if all(text.find(word, root.start, root.end) < 0 for word in WORDS) or root.get("tests") is not None:
        return  # values in tests of helm-unittest
    pending = [root]
    while pending:
        node = pending.pop()
        if node.kind == "scalar" or node.alias or node.shared or node.get("apiVersion") is not None:
            continue
        if _is_pool(node):
            yield _make_object(NodePool, node, document, f"{CORE_GROUP}/v1", "NodePool", _fields(node))
        elif _is_class(node):
            lists = [name for name in _CLASS if name not in _TERMS or _is_list(node.get(name))]
            made = _make_object(EC2NodeClass, node, document, f"{AWS_GROUP}/v1", CLASS_KIND, lists)
            _add_subnet(made, node)
            yield made
        else:
            pending += reversed(node.items)
            pending += (entry.value for entry in reversed(node.entries) if not entry.merged)


def _is_pool(node: Node) -> bool:
    lines = node.get("requirements")
    if lines is None or lines.kind != "sequence" or any(line.get("operator") is None for line in lines.items):
        return False
    keys = [key.value for line in lines.items if (key := line.get("key")) is not None]
    return any(isinstance(key, str) and re.match(_LABELS, key) for key in keys)


def _is_class(node: Node) -> bool:
    """Return whether a mapping lists selector terms, or has one term instead of a list and other fields of a class.

    A mapping instead of a list is the chart's own notation.
    """
    terms = [ancestor for name in _TERMS if (ancestor := node.get(name)) is not None]
    if any(term.items for term in terms):
        return True
    known = any(entry.name in _CLASS and entry.name not in _TERMS for entry in node.entries)
    return known and any(entry.name in ("tags", "id") for term in terms for entry in term.entries)


def _is_list(node: Node | None) -> bool:
    return node is not None and node.kind == "sequence"


def _add_subnet(made: Object, node: Node) -> None:
    """Add `subnetSelectorTerms` to a class if the values have one subnet id instead of a list of terms.

    Templates can only make a list of it.
    """
    term, spec = node.get("subnetSelectorTerms"), made.node.get("spec")
    if term is None or spec is None or [entry.name for entry in term.entries] != ["id"]:
        return
    if term.entries[0].value.value is None:
        return
    listed = Node(term.source, term.start, term.end, "sequence", term.style)
    listed.items, listed.parent = [term], spec
    at = next(entry.key for entry in node.entries if entry.value is term)
    spec.entries = [*spec.entries, MappingEntry(at, listed, "subnetSelectorTerms")]


def _fields(node: Node) -> Sequence[str]:
    """Return the names of a pool's fields that are Karpenter's.

    `disruption` is left out if it has other keys, and `limits` if its values are not scalars: they are the chart's
    own.
    """
    disruption = node.get("disruption")
    limits = node.get("limits")
    fields = list(_POOL)
    if disruption is not None and all(entry.name in _DISRUPTION for entry in disruption.entries):
        fields.append("disruption")
    if limits is not None and all(entry.value.kind == "scalar" for entry in limits.entries):
        fields.append("limits")
    return fields


def _make_object(
    cls: type[Object], node: Node, document: Document, api_version: str, kind: str, fields: Sequence[str]
) -> Object:
    """Return the object whose `spec` has some fields of a mapping."""
    spec, whole = (Node(node.source, node.start, node.end, "mapping", node.style) for _ in range(2))
    spec.entries = [entry for entry in node.entries if entry.name in fields]
    spec.parent, whole.parent = whole, node.parent
    whole.entries = [MappingEntry(Node(node.source, node.start, node.start, "scalar", "plain", "spec"), spec, "spec")]
    obj = cls(whole, document, api_version, kind, partial=True)
    obj.of_values = True
    return obj
