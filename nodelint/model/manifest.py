"""NodePool and EC2NodeClass as plain values, each holding the node it was read from.

A field of the wrong type reads as absent, for the schema has reported it already. A scalar that
holds a placeholder reads as `UNKNOWN`.
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

    `partial` says that it may lack fields that are there after rendering: a Kustomize patch, or a
    template in which whole lines are template code. What it lacks is never reported. `of_values`: it is what a chart
    makes of values, of which only these are known (see `forms.helm.values_objects`).
    """

    of_cluster: ClassVar[bool] = False
    """Whether it is none of Karpenter's, and matters to where pods go."""

    counted: ClassVar[bool] = True
    """Whether a report counts it among the objects that were judged."""

    def __init__(self, node: Node, document: Document, api_version: str, kind: str, partial: bool = False) -> None:
        self.node = node
        self.document = document
        self.api_version = api_version
        self.kind = kind
        self.partial = partial
        self.of_values = False
        self._known: dict[Hashable, tuple[tuple[object, ...], Any]] = {}

    def once(self, key: Hashable, values: tuple[object, ...], work: Callable[[], _T]) -> _T:
        """Return what `work` returns, called once for a key and for the very objects in `values`.

        Runs over the same sources share the result: a plan and its checks, a check and its look at older releases.
        """
        whole = (key, *map(id, values))
        found = self._known.get(whole)
        if found is None:
            if len(self._known) >= _MOST_KNOWN:  # in a language server others change around it again and again
                self._known.clear()
            found = self._known[whole] = (values, work())  # what is kept gives its id to nothing else
        result: _T = found[1]
        return result

    def forget(self) -> None:
        """Let go of what `once` keeps: of thousands of objects, that is as large as their files."""
        self._known.clear()

    def shows_all(self, mapping: Node) -> bool:
        """Whether a mapping of the object holds all keys that it will have: no template code or patch adds others.

        One key that is a placeholder may be any.
        """
        if any(entry.name is None for entry in mapping.entries):
            return False
        if not self.partial:
            return True
        if self.of_values and not self._in_list(mapping):
            return False  # charts print lists as they are, and add to mappings
        return not is_part(self.node, self.kind, self.document) and not may_gain(mapping)

    def _in_list(self, node: Node) -> bool:
        """Whether a node is a list of the object, or a list is around it."""
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
        """Return the provider of the object: Karpenter's for AWS unless a kind says otherwise."""
        return "aws"

    @property
    def foreign(self) -> bool:
        """Whether it is plainly for another provider: EKS Auto Mode, Azure, GCP and others."""
        return self.provider != "aws"

    @property
    def live(self) -> bool:
        """Whether it is an object as an API server has stored it: with a `uid` or `resourceVersion`."""
        given = (self.node.find("metadata", name) for name in ("uid", "resourceVersion"))
        return any(node is not None and node.kind == "scalar" and node.value not in (None, "") for node in given)

    @property
    def source(self) -> SourceText:
        """Return the text that it is written in."""
        return self.node.source

    @property
    def group(self) -> str:
        """Return the group of its apiVersion: `karpenter.sh`; empty for the core group."""
        return self.api_version.rpartition("/")[0]

    @property
    def version(self) -> str:
        """Return the version of its apiVersion: `v1`."""
        return self.api_version.rpartition("/")[2]

    @property
    def name_node(self) -> Node:
        """Return where to point at when the object as a whole is meant: its name, else its kind."""
        return self.node.find("metadata", "name") or self.node.get("kind") or self.node

    @cached_property
    def name(self) -> Text | None:
        """Return `metadata.name`; None if it is no text, UNKNOWN if a placeholder fills it in."""
        return text(self.node.find("metadata", "name"))

    @cached_property
    def label(self) -> str:
        """Return `NodePool/default`, for messages and skips."""
        return f"{self.kind}/{self.name}" if isinstance(self.name, str) else self.kind


_TEMPLATE = ("spec", "template", "spec")
_HOMES: tuple[tuple[str, ...], ...] = (
    (),
    ("template",),
    ("template", "spec"),
    ("template", "metadata"),
    ("disruption",),
)
"""Where below `spec` people put a field that belongs elsewhere."""


class FieldNode:
    """The node of a field of an object; None if it is not there."""

    def __init__(self, *path: str) -> None:
        self._path = path

    def __get__(self, obj: Object, _: object = None) -> Node | None:
        return obj.node.find(*self._path)


class NodePool(Object):
    """A NodePool of any served version."""

    @cached_property
    def provider(self) -> Provider:
        """Return the provider of the pool; `aws` where that is left open. Labels decide where the reference cannot be
        read.
        """
        ref = self.class_ref
        is_open = ref is not None and ref.group in (None, UNKNOWN) and ref.kind in (None, UNKNOWN)
        if (ref is None and self.partial) or is_open:
            return by_labels([line.key for line in self.requirements if isinstance(line.key, str)])
        if ref is None:
            return "aws"
        if ref.group == AUTO_MODE_GROUP and ref.kind == CLASS_KIND:  # one of the two is wrong: its labels tell which
            keys = [line.key for line in self.requirements if isinstance(line.key, str)]
            return "aws" if any(key.startswith(AWS_GROUP) for key in keys) else "auto-mode"
        return by_class(ref.group, ref.kind)

    @cached_property
    def has_ec2_types(self) -> bool:
        """Whether its nodes are EC2 instances, whoever makes them."""
        if self.provider != "other":
            return True
        group = self.class_ref.group if self.class_ref is not None else None
        return is_of_ec2(group, [line.key for line in self.requirements if isinstance(line.key, str)])

    def find_field(self, *path: str) -> Node | None:
        """Return the node at a path; where there is none, a field of the last name that stands at a wrong depth.

        The API server refuses a misplaced field. What its author meant is judged anyway, and its absence from where
        it belongs is no finding besides that.
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

    # Fields that three or more rules ask for, as nodes.
    budgets_node = FieldNode("spec", "disruption", "budgets")
    replicas_node = FieldNode("spec", "replicas")
    weight_node = FieldNode("spec", "weight")
    limits_node = FieldNode("spec", "limits")
    taints_node = FieldNode("spec", "template", "spec", "taints")

    @cached_property
    def requirements(self) -> tuple[RequirementLine, ...]:
        """Return the entries of `requirements` in their order; those that are no mapping are left out."""
        return tuple(requirement_line(n) for n in mappings_of(self.requirements_node))

    @cached_property
    def requirements_node(self) -> Node | None:
        """Return the list `requirements` of the template; None if there is none."""
        return self.find_field(*_TEMPLATE, "requirements")

    @cached_property
    def template_labels(self) -> tuple[Label, ...]:
        """Return the labels that nodes get from the template."""
        return labels(self.node.find("spec", "template", "metadata", "labels"))

    @cached_property
    def taints(self) -> tuple[Taint, ...]:
        """Return the taints that nodes keep."""
        return tuple(taint(n) for n in mappings_of(self.find_field(*_TEMPLATE, "taints")))

    @cached_property
    def startup_taints(self) -> tuple[Taint, ...]:
        """Return the taints that nodes have until something removes them (`startupTaints`)."""
        return tuple(taint(n) for n in mappings_of(self.find_field(*_TEMPLATE, "startupTaints")))

    @cached_property
    def class_ref(self) -> ClassRef | None:
        """Return the class that nodes are made by; None if `nodeClassRef` is missing or no mapping."""
        node = self.node.find("spec", "template", "spec", "nodeClassRef")
        if node is None or node.kind != "mapping":
            return None
        return ClassRef(node, text(node.get("group")), text(node.get("kind")), text(node.get("name")))

    @cached_property
    def static(self) -> bool:
        """Whether it keeps a number of nodes whatever pods there are: `spec.replicas` (since 1.8.0)."""
        return self.node.find("spec", "replicas") is not None

    @cached_property
    def weight(self) -> int | None:
        """Return `spec.weight`; None if it is not set or no whole number."""
        return whole_number(self.find_field("spec", "weight"))


class EC2NodeClass(Object):
    """An EC2NodeClass of any served version."""

    # Fields that three or more rules ask for, as nodes.
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
        """Return `amiFamily` as it is written; None if it is no text, UNKNOWN if a placeholder fills it in."""
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
    """A NodeClass of EKS Auto Mode: what AWS lets users choose of the nodes that it makes."""

    @property
    def provider(self) -> Provider:
        """Return the provider of the class: EKS Auto Mode."""
        return "auto-mode"


class NodeOverlay(Object):
    """A NodeOverlay: what Karpenter takes instance types to cost and to have (since 1.7.0, behind a feature gate)."""

    @cached_property
    def requirements(self) -> tuple[RequirementLine, ...]:
        """Return the entries of `spec.requirements` in their order."""
        return tuple(requirement_line(n) for n in mappings_of(self.node.find("spec", "requirements")))

    @cached_property
    def weight(self) -> int | None:
        """Return `spec.weight`: 0 if none is written, None if it is not known."""
        node = self.node.find("spec", "weight")
        if node is None or node.value is None:
            return 0
        return node.value if isinstance(node.value, int) else None

    @cached_property
    def price(self) -> str | None:
        """Return the price per hour, or the change of it with its sign; None if it changes none."""
        nodes = (self.node.find("spec", field) for field in ("price", "priceAdjustment"))
        return next((str(node.value) for node in nodes if node is not None and node.value is not None), None)

    @cached_property
    def capacity(self) -> dict[str, Node] | None:
        """Return the resources that it brings, each with its amount.

        None if it brings none, not even an empty list.
        """
        node = self.node.find("spec", "capacity")
        if node is None or node.kind != "mapping":
            return None
        return {entry.name: entry.value for entry in node.entries if entry.name is not None}

    @cached_property
    def effects_known(self) -> bool:
        """Whether name and resources are written out: no placeholder is in their place."""
        node = self.node.find("spec", "capacity")
        keys = node is None or (node.value is not UNKNOWN and all(entry.name is not None for entry in node.entries))
        return keys and isinstance(self.name, str)


class Retired(Object):
    """A Provisioner or an AWSNodeTemplate, gone since Karpenter 0.33."""


class UnknownKind(Object):
    """An object in one of Karpenter's API groups, of a kind that no release has, or that lacks kind or apiVersion."""


def served(obj: Object, release: Version) -> bool:
    """Whether an API server of a release serves the object's apiVersion: v1 always, v1beta1 until 1.0."""
    if obj.of_cluster:
        return True
    if isinstance(obj, NodeOverlay):
        return obj.api_version == OVERLAY_API
    if isinstance(obj, AutoModeClass):
        return True  # no release of Karpenter decides about it
    group, _, version = obj.api_version.rpartition("/")
    if isinstance(obj, UnknownKind) or group != GROUPS.get(obj.kind):
        return False
    return version == "v1" or (version == "v1beta1" and behaves("serves-v1beta1", release))
