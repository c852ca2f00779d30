"""Objects of an upgrade other than NodePool and EC2NodeClass: pods, other kinds of Karpenter, IAM policies."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from nodelint.base.tuples import NamedTuple
from nodelint.model.finding import Span
from nodelint.model.manifest import Object
from nodelint.model.manifest_terms import text
from nodelint.text import Document, Node, Source

KINDS = {
    "NodeOverlay": "karpenter.sh/",
    "CapacityBuffer": "autoscaling.x-k8s.io/",
    "CustomResourceDefinition": "apiextensions.k8s.io/",
}
"""Kinds, except pools and classes, that a change of Karpenter can concern, with the prefix of their apiVersion."""

_CONTROLLER = re.compile(r"\bec2:CreateFleet\b")


class ClusterResource(NamedTuple):
    """An object, or the pod template in one. Its node contains `metadata` and `spec`."""

    node: Node
    kind: str
    label: str
    partial: bool = False


class Location(NamedTuple):
    """The place of a change, and the object that contains it: `NodePool/default`."""

    at: Node | Span
    label: str = ""

    @property
    def span(self) -> Span:
        return self.at if isinstance(self.at, Span) else Span(self.at.source, self.at.start, self.at.end)


def of_object(obj: Object) -> ClusterResource:
    """Return the cluster resource of a NodePool or an EC2NodeClass."""
    return ClusterResource(obj.node, obj.kind, obj.label, obj.partial)


def other_resources(sources: Sequence[Source]) -> Iterator[ClusterResource]:
    """Yield the pods and the objects of `KINDS` in some sources."""
    for source in sources:
        for document in source.documents:
            if document.root is not None and _may_hold(document):
                yield from _resources_in(document.root, document, "")


def _may_hold(document: Document) -> bool:
    assert document.root is not None
    words = ("containers", *KINDS)
    return any(document.root.source.text.find(word, document.start, document.end) >= 0 for word in words)


def _resources_in(node: Node, document: Document, owner: str) -> Iterator[ClusterResource]:
    if node.kind == "sequence":
        for item in node.items:
            yield from _resources_in(item, document, owner)
    if node.kind != "mapping" or node.alias or node.shared:
        return
    kind, group = text(node.get("kind")), text(node.get("apiVersion"))
    if isinstance(kind, str) and isinstance(group, str):
        name = text(node.find("metadata", "name"))
        owner = f"{kind}/{name}" if isinstance(name, str) else kind
        if group.startswith(KINDS.get(kind, "-")):
            yield ClusterResource(node, kind, owner, document.templated)
            return
    spec = node.get("spec")
    containers = spec.get("containers") if spec is not None else None
    if containers is not None and containers.kind == "sequence":
        yield ClusterResource(node, "Pod", owner, document.templated)
        return
    for entry in node.entries:
        if not entry.merged:
            yield from _resources_in(entry.value, document, owner)


def mentions(sources: Sequence[Source], words: str) -> Iterator[Location]:
    """Yield the places at which IAM policies of Karpenter's controller contain a name."""
    pattern = re.compile(rf"{re.escape(words)}(?![\w-])")
    for source in policies(sources):
        for found in pattern.finditer(source.text):
            yield Location(Span(source, found.start(), found.end()))


_PROSE = (".md", ".markdown", ".rst", ".txt")


def texts(sources: Sequence[Source], condition: dict[str, Any]) -> Iterator[Location]:
    """Yield the places at which files contain a pattern, such as queries and rules of other tools. Markdown and text
    files are ignored.

    With `lacks`, nothing is yielded if one of the files contains that text.
    """
    yaml_sources = [source for source in sources if not source.path.lower().endswith(_PROSE)]
    if "lacks" in condition and any(condition["lacks"] in source.text for source in yaml_sources):
        return
    pattern = re.compile(condition["is"])
    for source in yaml_sources:
        yield from (Location(Span(source, *found.span())) for found in pattern.finditer(source.text))


def lacking(sources: Sequence[Source], action: str) -> list[Location] | None:
    """Return the places of the controller's IAM policies if none of them allows an action. None if one does."""
    places = []
    for source in policies(sources):
        if _allows(source.text, action):
            return None
        found = _CONTROLLER.search(source.text)
        assert found is not None
        places.append(Location(Span(source, found.start(), found.end())))
    return places


def policies(sources: Sequence[Source]) -> Iterator[Source]:
    """Yield the files that name the action `ec2:CreateFleet`, which only a node autoscaler needs."""
    return (source for source in sources if _CONTROLLER.search(source.text))


def _allows(policy: str, action: str) -> bool:
    """Return whether an IAM policy names an action, or a pattern with `*` that includes it."""
    service, _, name = action.partition(":")
    for given in re.finditer(rf"(?<![\w:]){service}:([\w*]+)", policy):
        pattern = ".*".join(map(re.escape, given[1].split("*")))
        if re.fullmatch(pattern, name, re.IGNORECASE):
            return True
    return False
