"""Find Karpenter's objects in the documents of a source: at the top, in a `List`, and inside other objects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nodelint.forms.registry import TABLE
from nodelint.model.compared import list_compared, states_expected
from nodelint.model.gvk import (
    AUTO_MODE_GROUP,
    AUTO_MODE_KIND,
    AWS_GROUP,
    CORE_GROUP,
    EVER_SERVED,
    GROUPS,
    OVERLAY_API,
    OVERLAY_KIND,
    Identity,
    identities,
)
from nodelint.model.manifest import AutoModeClass, EC2NodeClass, NodeOverlay, NodePool, Object, Retired, UnknownKind
from nodelint.model.manifest_terms import text
from nodelint.model.partial_objects import is_part, may_lack, meant_kind
from nodelint.model.providers import judged_in_part, why_not_judged
from nodelint.text import Document, Node, SourceText


def objects(source: SourceText, foreign: bool = False, more: bool = False) -> Iterator[Object]:
    """Yield the Karpenter objects for AWS in a source, also those in a `List` or in the values of another object.

    - With `more`, also objects for checks only: NodeOverlays, kinds that no release has, pools and classes that
      charts render from values (`Form.find_objects`), and workloads if the source was read for them.
    - With `foreign`, also NodePools and classes of EKS Auto Mode, and pools of other providers.

    An object with an `apiVersion` that the kind never had is included, so that it can be reported.
    """
    for obj, reason in _all_objects(source):
        if not more and _is_for_checks(obj):
            continue
        if reason is None and (foreign or not obj.foreign):
            yield obj


def left_out(source: SourceText, foreign: bool = False) -> Iterator[tuple[Object, str]]:
    """Yield the objects that `objects` does not yield, with the reason, such as classes of other providers."""
    for obj, reason in _all_objects(source):
        if _is_for_checks(obj):
            continue
        if reason is not None:
            yield obj, reason
        elif not foreign and isinstance(obj, NodePool) and obj.foreign:
            yield (
                obj,
                judged_in_part(
                    obj.provider, obj.class_ref.kind if obj.class_ref else None, obj.version, obj.has_ec2_types
                ),
            )
        elif not foreign and isinstance(obj, AutoModeClass):
            yield obj, "a class of EKS Auto Mode, of which AWS publishes neither images nor hashes"


def _is_for_checks(obj: Object) -> bool:
    return obj.of_values or obj.of_cluster or isinstance(obj, _FOR_CHECKS)


_FOR_CHECKS = (NodeOverlay, UnknownKind)
_FoundObjects = Iterator[tuple[Object, str | None]]
"""Objects, each with the reason why it is not judged (None if it is judged)."""


def _all_objects(source: SourceText) -> Sequence[tuple[Object, str | None]]:
    mark = (source.part, len(source.documents))
    if source.held is None or source.held[0] != mark:
        source.held = (mark, tuple(_find_objects(source)))
    found: Sequence[tuple[Object, str | None]] = source.held[1]
    return found


def _find_objects(source: SourceText) -> _FoundObjects:
    """Yield the objects in all documents of a source. Objects of a document that was read before are reused."""
    if states_expected(source.path):
        return
    known: dict[int, list[tuple[Object, str | None]]] = {}
    for held_object in source.held[1] if source.held is not None and source.held[0] is None else ():
        known.setdefault(id(held_object[0].document), []).append(held_object)
    for document in source.documents:
        if id(document) in known:
            yield from known[id(document)]
            continue
        root = document.root
        if root is not None and root.kind == "sequence" and (document.target or source.part):
            root = _patched(root, document) or root
        if root is not None and root.kind == "sequence" and document.host == "quoted":
            for item in root.items:  # `cdk synth` writes a list of the objects of a resource
                yield from _objects(item, document)
        elif root is not None:
            yield from _objects(root, document)


def _patched(root: Node, document: Document) -> Node | None:
    """Return the partial object that a JSON6902 patch writes. None for any other list."""
    from nodelint.text.yaml import jsonpatch

    return jsonpatch.part(root, document.target) if jsonpatch.is_patch(root) else None


_KINDS: dict[str, type[Object]] = {
    "NodePool": NodePool,
    "EC2NodeClass": EC2NodeClass,
    "Provisioner": Retired,
    "AWSNodeTemplate": Retired,
}


def _further_kind(api_version: str, kind: str) -> type[NodeOverlay] | type[AutoModeClass] | None:
    """Return the Python class for a NodeOverlay or a NodeClass of EKS Auto Mode. None for other kinds."""
    if kind == OVERLAY_KIND and api_version == OVERLAY_API:
        return NodeOverlay
    is_of_auto_mode = api_version.rpartition("/")[0] == AUTO_MODE_GROUP
    return AutoModeClass if is_of_auto_mode and kind.lower() == AUTO_MODE_KIND.lower() else None


def _objects(node: Node, document: Document) -> _FoundObjects:
    if node.kind != "mapping":
        if node.kind == "sequence":
            yield from _inside(node, document)
        return
    for identity in identities(node):
        yield from _object(identity, document)


def _object(identity: Identity, document: Document) -> _FoundObjects:
    node, api_version, kind, instead = identity
    if kind is None or api_version is None:
        yield from _inside(node, document)
        meant = meant_kind(node, document)
        if meant is not None:
            yield UnknownKind(node, document, api_version or "", meant, partial=True), None
        elif node.parent is None and kind is None and not document.part and not document.target:
            yield from _of_values(node, document)
        return
    items = node.get("items")
    if kind.endswith("List") and items is not None and items.kind == "sequence":
        for item in items.items:
            yield from _objects(item, document)
        return
    # A kind in other capitals is not valid in Kubernetes, but its meaning is clear. The schema reports it.
    kind = next((known for known in _KINDS if known.lower() == kind.lower()), kind)
    cls = _KINDS.get(kind)
    group = api_version.rpartition("/")[0]
    if cls is not None and (group in (CORE_GROUP, AWS_GROUP) or _is_misspelt_group(group)):
        hidden = may_lack(node, document)
        obj = cls(node, document, api_version, kind, partial=hidden or is_part(node, kind, document))
        yield obj, f"another branch of the template, for `{instead}`, is judged" if instead else None
    elif cls is not None and (not group or "karpenter" in group.lower()):
        known = f"; Karpenter's is of `{GROUPS[kind]}/v1`" if kind in GROUPS else ""
        yield cls(node, document, api_version, kind), f"`{api_version}` has no {kind}{known}"
    elif (more := _further_kind(api_version, kind)) is not None:
        name = OVERLAY_KIND if more is NodeOverlay else AUTO_MODE_KIND
        hidden = may_lack(node, document)
        yield more(node, document, api_version, name, partial=hidden or is_part(node, name, document)), None
    elif group in (CORE_GROUP, AWS_GROUP) and kind.removesuffix("List") not in EVER_SERVED:
        yield UnknownKind(node, document, api_version, kind, partial=True), None
    elif (why := why_not_judged(kind, group)) is not None:
        yield Object(node, document, api_version, kind), why
    elif group.partition("/")[0] not in (CORE_GROUP, AWS_GROUP):
        yield from _find_other_objects(node, document, api_version, kind)


_GROUP_LABELS = frozenset({"karpenter", "k8s", "aws", "sh", "io", "com", "eks", "amazonaws"})
"""Words of misspelt Karpenter groups. An API of another project has its own name in its group."""


def _is_misspelt_group(group: str) -> bool:
    """Return whether a group that no CRD has, such as `karpenter.aws`, is probably a misspelt Karpenter group."""
    labels = group.lower().split(".")
    return "karpenter" in labels and _GROUP_LABELS.issuperset(labels)


def _find_other_objects(node: Node, document: Document, api_version: str, kind: str) -> _FoundObjects:
    """Yield an object of another API: a workload, if the source was read for them, else the objects in its values."""
    if node.source.also is not None:
        from nodelint.model.cluster_objects import cluster_object

        other = cluster_object(node, document, api_version, kind)
        if other is not None:
            yield other, None
            return
    yield from _inside(node, document)
    if kind in TABLE.kinds:
        yield from _of_values(node, document)


def _of_values(node: Node, document: Document) -> _FoundObjects:
    forms = [row.load() for row in TABLE.rows if row.folders]
    below = (node,) if node.get("apiVersion") is None else _below(node)
    for child in below:
        for form in forms:
            yield from ((obj, None) for obj in form.find_objects(child, document))


def _inside(holder: Node, document: Document) -> _FoundObjects:
    """Yield the objects in the values of another object: a HelmRelease, an Application, a chart's own values.

    A mapping without `spec` is a reference to an object, or an object to delete: it is skipped. So is one whose name
    is not in its metadata, and what is only compared with objects.
    """
    text_of_file = holder.source.text
    if all(text_of_file.find(f"{group}/v", holder.start, holder.end) < 0 for group in _GROUPS):
        return
    pending = [(node, False) for node in _applied_below(holder)]
    while pending:
        node, part = pending.pop()
        if node.kind == "scalar" or node.alias or node.shared:
            continue
        group = text(node.get("apiVersion"))
        if isinstance(group, str) and group.rpartition("/")[0] in _GROUPS:
            # With a name and no metadata it is values, of which a template makes the object.
            if node.get("spec") is not None and (node.get("metadata") is not None or node.get("name") is None):
                for obj, reason in _objects(node, document):
                    obj.partial = obj.partial or part
                    yield obj, reason
            continue
        named = [entry.value for entry in node.entries if entry.name in _PARTS]
        pending += [(below, part or below in named) for below in _applied_below(node)]


_GROUPS = (CORE_GROUP, AWS_GROUP, AUTO_MODE_GROUP)
_PARTS = frozenset({"patch", "patches", "patchesStrategicMerge", "base"})
"""Keys below which an object is only a part: of Kustomize, of Flux, of a Crossplane Composition."""


def _applied_below(node: Node) -> list[Node]:
    """Return the values in a collection without what is only compared with objects, in reverse order."""
    compared = list_compared(node)
    return [below for below in _below(node) if below not in compared]


def _below(node: Node) -> Iterator[Node]:
    """Yield the values in a collection, in reverse order."""
    yield from reversed(node.items)
    for entry in reversed(node.entries):
        if not entry.merged:
            yield entry.value
