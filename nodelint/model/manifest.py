"""Read NodePool and EC2NodeClass as plain values, each with its node.

A field of the wrong type counts as missing, because the schema has already reported it. A scalar with a placeholder
is `UNKNOWN`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import cached_property

from nodelint.base.types import TYPE_CHECKING
from nodelint.model.gvk import AUTO_MODE_GROUP, AWS_GROUP, CLASS_KIND, GROUPS, OVERLAY_API
from nodelint.model.manifest_terms import (
    Alias,
    ClassRef,
    Label,
    RequirementLine,
    SelectorTerm,
    Taint,
    Text,
    Value,
    labels,
    mappings_of,
    parse_alias,
    requirement_line,
    selector_term,
    taint,
    text,
    whole_number,
)
from nodelint.model.partial_objects import is_part, may_gain
from nodelint.model.providers import Provider, by_class, by_labels, is_of_ec2
from nodelint.model.releases import Version, behaves
from nodelint.text import UNKNOWN, Document, Node, SourceText

if TYPE_CHECKING:
    from typing import Any, ClassVar, TypeVar

    _T = TypeVar("_T")


__all__ = [
    "Alias",
    "AutoModeClass",
    "ClassRef",
    "EC2NodeClass",
    "FieldNode",
    "Label",
    "NodeOverlay",
    "NodePool",
    "Object",
    "RequirementLine",
    "Retired",
    "SelectorTerm",
    "Taint",
    "Text",
    "UnknownKind",
    "Value",
    "labels",
    "parse_alias",
    "requirement_line",
    "served",
    "text",
]

_MOST_KNOWN = 50


class Object:
    """A Kubernetes object of one of Karpenter's kinds.

    - `partial`: it may lack fields that exist after rendering, as in a Kustomize patch or a template with whole lines
      of code. Missing fields are never reported.
    - `of_values`: a chart renders it from values, and only these are known (see `forms.helm.values_objects`).
    """

    of_cluster: ClassVar[bool] = False
    """Whether the object is not Karpenter's, and affects where pods are scheduled."""

    counted: ClassVar[bool] = True
    """Whether a report counts the object as judged."""

    def __init__(self, node: Node, document: Document, api_version: str, kind: str, partial: bool = False) -> None:
        self.node = node
        self.document = document
        self.api_version = api_version
        self.kind = kind
        self.partial = partial
        self.of_values = False
        self._known: dict[Hashable, tuple[tuple[object, ...], Any]] = {}

    def once(self, key: Hashable, values: tuple[object, ...], work: Callable[[], _T]) -> _T:
        """Return the result of `work`, cached for a key as long as `values` are the same objects.

        Runs over the same sources share the result: a plan and its checks, or a check for several releases.
        """
        whole = (key, *map(id, values))
        found = self._known.get(whole)
        if found is None:
            if len(self._known) >= _MOST_KNOWN:  # in a language server the values change again and again
                self._known.clear()
            found = self._known[whole] = (
                values,
                work(),
            )  # while it is stored, no other object gets its id
        result: _T = found[1]
        return result

    def forget(self) -> None:
        """Drop the results that were computed for the object: for thousands of objects they take much memory."""
        self._known.clear()

    def shows_all(self, mapping: Node) -> bool:
        """Return whether a mapping of the object has all its keys: no template code or patch adds others.

        If a key is a placeholder, it may be any key.
        """
        if any(entry.name is None for entry in mapping.entries):
            return False
        if not self.partial:
            return True
        if self.of_values and not self._in_list(mapping):
            return False  # charts print lists unchanged, and add keys to mappings
        return not is_part(self.node, self.kind, self.document) and not may_gain(mapping)

    def _in_list(self, node: Node) -> bool:
        """Return whether a node is a list of the object, or inside one."""
        above: Node | None = node
        while above is not None and (above.start, above.end) != (self.node.start, self.node.end):
            if above.kind == "sequence":
                return True
            above = above.parent
        return False

    def __repr__(self) -> str:
        return f"<{self.api_version} {self.label}>"

    @property
    def provider(self) -> Provider:
        """Return the provider of the object: `aws` (Karpenter for AWS), unless a subclass returns another one."""
        return "aws"

    @property
    def foreign(self) -> bool:
        """Return whether the object is clearly for another provider: EKS Auto Mode, Azure, GCP and others."""
        return self.provider != "aws"

    @property
    def live(self) -> bool:
        """Return whether the object was read from an API server: it has a `uid` or `resourceVersion`."""
        given = (self.node.find("metadata", name) for name in ("uid", "resourceVersion"))
        return any(node is not None and node.kind == "scalar" and node.value not in (None, "") for node in given)

    @property
    def source(self) -> SourceText:
        """Return the source in which the object is written."""
        return self.node.source

    @property
    def group(self) -> str:
        """Return the group of the object's apiVersion: `karpenter.sh`; empty for the core group."""
        return self.api_version.rpartition("/")[0]

    @property
    def version(self) -> str:
        """Return the version of the object's apiVersion: `v1`."""
        return self.api_version.rpartition("/")[2]

    @property
    def name_node(self) -> Node:
        """Return the node to report for the object as a whole: its name, else its kind."""
        return self.node.find("metadata", "name") or self.node.get("kind") or self.node

    @cached_property
    def name(self) -> Text | None:
        """Return `metadata.name`. None if it is not a string, UNKNOWN if it is a placeholder."""
        return text(self.node.find("metadata", "name"))

    @cached_property
    def label(self) -> str:
        """Return kind and name, such as `NodePool/default`, for messages and skips."""
        return f"{self.kind}/{self.name}" if isinstance(self.name, str) else self.kind


_TEMPLATE = ("spec", "template", "spec")
_HOMES: tuple[tuple[str, ...], ...] = (
    (),
    ("template",),
    ("template", "spec"),
    ("template", "metadata"),
    ("disruption",),
)
"""Places below `spec` at which people write fields by mistake."""


class FieldNode:
    """A descriptor for the node of a field of an object. None if the field is missing."""

    def __init__(self, *path: str) -> None:
        self._path = path

    def __get__(self, obj: Object, _: object = None) -> Node | None:
        return obj.node.find(*self._path)


class NodePool(Object):
    """A NodePool of any served version."""

    @cached_property
    def provider(self) -> Provider:
        """Return the provider of the pool. `aws` if it cannot be determined.

        If the class reference cannot be read, the labels in its requirements decide.
        """
        ref = self.class_ref
        is_open = ref is not None and ref.group in (None, UNKNOWN) and ref.kind in (None, UNKNOWN)
        if (ref is None and self.partial) or is_open:
            return by_labels([line.key for line in self.requirements if isinstance(line.key, str)])
        if ref is None:
            return "aws"
        if ref.group == AUTO_MODE_GROUP and ref.kind == CLASS_KIND:  # one is wrong: the labels decide
            keys = [line.key for line in self.requirements if isinstance(line.key, str)]
            return "aws" if any(key.startswith(AWS_GROUP) for key in keys) else "auto-mode"
        return by_class(ref.group, ref.kind)

    @cached_property
    def has_ec2_types(self) -> bool:
        """Return whether its nodes are EC2 instances, whichever provider launches them."""
        if self.provider != "other":
            return True
        group = self.class_ref.group if self.class_ref is not None else None
        return is_of_ec2(group, [line.key for line in self.requirements if isinstance(line.key, str)])

    def find_field(self, *path: str) -> Node | None:
        """Return the node at a path. If it is missing, return a field of the same name at a wrong place.

        The API server refuses a misplaced field. Rules still judge it as it was meant, and do not report it as
        missing in addition.
        """
        found = self.node.find(*path)
        if found is not None:
            return found
        spec = self.node.get("spec")
        for home in _HOMES:
            found = spec.find(*home, path[-1]) if spec is not None else None
            if found is not None:
                return found
        return self.node.get(path[-1])

    # Nodes of fields that at least three rules use.
    budgets_node = FieldNode("spec", "disruption", "budgets")
    replicas_node = FieldNode("spec", "replicas")
    weight_node = FieldNode("spec", "weight")
    limits_node = FieldNode("spec", "limits")
    taints_node = FieldNode("spec", "template", "spec", "taints")

    @cached_property
    def requirements(self) -> tuple[RequirementLine, ...]:
        """Return the entries of `requirements` in order. Entries that are not mappings are left out."""
        return tuple(requirement_line(n) for n in mappings_of(self.requirements_node))

    @cached_property
    def requirements_node(self) -> Node | None:
        """Return the node of the list `requirements` in the template. None if there is none."""
        return self.find_field(*_TEMPLATE, "requirements")

    @cached_property
    def template_labels(self) -> tuple[Label, ...]:
        """Return the labels that the template adds to nodes."""
        return labels(self.node.find("spec", "template", "metadata", "labels"))

    @cached_property
    def taints(self) -> tuple[Taint, ...]:
        """Return the permanent taints of the pool's nodes (`taints`)."""
        return tuple(taint(n) for n in mappings_of(self.find_field(*_TEMPLATE, "taints")))

    @cached_property
    def startup_taints(self) -> tuple[Taint, ...]:
        """Return the taints that nodes have until something removes them (`startupTaints`)."""
        return tuple(taint(n) for n in mappings_of(self.find_field(*_TEMPLATE, "startupTaints")))

    @cached_property
    def class_ref(self) -> ClassRef | None:
        """Return the reference to the class of the pool's nodes. None if `nodeClassRef` is missing or
        not a mapping.
        """
        node = self.node.find("spec", "template", "spec", "nodeClassRef")
        if node is None or node.kind != "mapping":
            return None
        return ClassRef(node, text(node.get("group")), text(node.get("kind")), text(node.get("name")))

    @cached_property
    def static(self) -> bool:
        """Return whether the NodePool has a fixed number of nodes for any pods: `spec.replicas` (since 1.8.0)."""
        return self.node.find("spec", "replicas") is not None

    @cached_property
    def weight(self) -> int | None:
        """Return `spec.weight`. None if it is missing or not an integer."""
        return whole_number(self.find_field("spec", "weight"))


class EC2NodeClass(Object):
    """An EC2NodeClass of any served version."""

    # Nodes of fields that at least three rules use.
    user_data_node = FieldNode("spec", "userData")
    block_devices_node = FieldNode("spec", "blockDeviceMappings")
    ami_family_node = FieldNode("spec", "amiFamily")
    metadata_options_node = FieldNode("spec", "metadataOptions")
    kubelet_node = FieldNode("spec", "kubelet")
    instance_store_node = FieldNode("spec", "instanceStorePolicy")
    subnet_terms_node = FieldNode("spec", "subnetSelectorTerms")
    ami_terms_node = FieldNode("spec", "amiSelectorTerms")
    max_pods_node = FieldNode("spec", "kubelet", "maxPods")

    @cached_property
    def ami_family(self) -> Text | None:
        """Return `amiFamily` as it is written. None if it is not a string, UNKNOWN if it is a placeholder."""
        return text(self.node.find("spec", "amiFamily"))

    @cached_property
    def ami_terms(self) -> tuple[SelectorTerm, ...]:
        """Return the terms of `amiSelectorTerms`."""
        return self._terms("amiSelectorTerms")

    @cached_property
    def subnet_terms(self) -> tuple[SelectorTerm, ...]:
        """Return the terms of `subnetSelectorTerms`."""
        return self._terms("subnetSelectorTerms")

    @cached_property
    def security_group_terms(self) -> tuple[SelectorTerm, ...]:
        """Return the terms of `securityGroupSelectorTerms`."""
        return self._terms("securityGroupSelectorTerms")

    @cached_property
    def reservation_terms(self) -> tuple[SelectorTerm, ...]:
        """Return the terms of `capacityReservationSelectorTerms`."""
        return self._terms("capacityReservationSelectorTerms")

    def _terms(self, name: str) -> tuple[SelectorTerm, ...]:
        return tuple(selector_term(n) for n in mappings_of(self.node.find("spec", name)))


class AutoModeClass(Object):
    """A NodeClass of EKS Auto Mode: the options of users for the nodes that AWS launches."""

    @property
    def provider(self) -> Provider:
        """Return the provider of the class: EKS Auto Mode."""
        return "auto-mode"


class NodeOverlay(Object):
    """A NodeOverlay: it changes the price and the resources that Karpenter assumes for instance types.

    It exists since 1.7.0, behind a feature gate.
    """

    @cached_property
    def requirements(self) -> tuple[RequirementLine, ...]:
        """Return the entries of `spec.requirements` in their order."""
        return tuple(requirement_line(n) for n in mappings_of(self.node.find("spec", "requirements")))

    @cached_property
    def weight(self) -> int | None:
        """Return `spec.weight`: 0 if it is missing, None if it is not known."""
        node = self.node.find("spec", "weight")
        if node is None or node.value is None:
            return 0
        return node.value if isinstance(node.value, int) else None

    @cached_property
    def price(self) -> str | None:
        """Return the price per hour, or the adjustment with its sign. None if it changes no price."""
        nodes = (self.node.find("spec", field) for field in ("price", "priceAdjustment"))
        return next((str(node.value) for node in nodes if node is not None and node.value is not None), None)

    @cached_property
    def capacity(self) -> dict[str, Node] | None:
        """Return the resources that it adds, by name. None if there is no `capacity`."""
        node = self.node.find("spec", "capacity")
        if node is None or node.kind != "mapping":
            return None
        return {entry.name: entry.value for entry in node.entries if entry.name is not None}

    @cached_property
    def effects_known(self) -> bool:
        """Return whether its name and its resources are known: no placeholder replaces them."""
        node = self.node.find("spec", "capacity")
        keys = node is None or (node.value is not UNKNOWN and all(entry.name is not None for entry in node.entries))
        return keys and isinstance(self.name, str)


class Retired(Object):
    """A Provisioner or an AWSNodeTemplate, which Karpenter does not serve since 0.33."""


class UnknownKind(Object):
    """An object in a Karpenter API group with a kind that no release has, or without kind or apiVersion."""


def served(obj: Object, release: Version) -> bool:
    """Return whether a release serves the object's apiVersion: v1 always, v1beta1 until 1.0."""
    if obj.of_cluster:
        return True
    if isinstance(obj, NodeOverlay):
        return obj.api_version == OVERLAY_API
    if isinstance(obj, AutoModeClass):
        return True  # Karpenter's releases have no influence on it
    group, _, version = obj.api_version.rpartition("/")
    if isinstance(obj, UnknownKind) or group != GROUPS.get(obj.kind):
        return False
    return version == "v1" or (version == "v1beta1" and behaves("serves-v1beta1", release))
