"""Read the Kubernetes version of a cluster from what creates it: manifests, CloudFormation and Pulumi's YAML."""

from __future__ import annotations

import re
from collections.abc import Iterator

from nodelint.files.file_keywords import CLUSTERS
from nodelint.model.evidence import DEFAULT, STATED, Evidence, not_known, stated
from nodelint.text import Node

_WORDS = tuple(word.decode() for word in CLUSTERS)
_FIELDS: tuple[tuple[str, str, tuple[str, ...], str], ...] = (
    (r"eksctl\.io/", "ClusterConfig", ("metadata", "version"), "eksctl's ClusterConfig"),
    (r"eks\.aws\.(?:m\.)?upbound\.io/", "Cluster", ("spec", "forProvider", "version"), "Crossplane's Cluster"),
    (r"eks\.aws\.crossplane\.io/", "Cluster", ("spec", "forProvider", "version"), "Crossplane's Cluster"),
    (r"eks\.services\.k8s\.aws/", "Cluster", ("spec", "version"), "the Cluster of ACK"),
    (
        r"controlplane\.cluster\.x-k8s\.io/",
        "AWSManagedControlPlane",
        ("spec", "version"),
        "the AWSManagedControlPlane",
    ),
    (
        r"controlplane\.cluster\.x-k8s\.io/",
        "AWSManagedControlPlaneTemplate",
        ("spec", "template", "spec", "version"),
        "the AWSManagedControlPlaneTemplate",
    ),
)
"""The beginning of an API version, a kind, the path of the cluster's version, and what the object is called."""
_TYPES: dict[str, tuple[tuple[str, ...], str]] = {
    "AWS::EKS::Cluster": (("Properties", "Version"), "the AWS::EKS::Cluster"),
    "Custom::AWSCDK-EKS-Cluster": (("Properties", "Config", "version"), "the CDK's cluster"),
    "aws:eks:Cluster": (("properties", "version"), "Pulumi's cluster"),
    "aws:eks/cluster:Cluster": (("properties", "version"), "Pulumi's cluster"),
    "eks:Cluster": (("properties", "version"), "Pulumi's cluster"),
}
"""The path of the cluster's version in a resource of CloudFormation or Pulumi, and what it is called, by its type."""
_PATCHED = "spec.forProvider.version"
"""The path by which a Composition of Crossplane sets the version of a cluster."""
_CODE = r"\{\{|\$\{|\$[A-Za-z_(]|<%"
_NAME = r"\$\{([\w:.-]+)\}"


def may_state_cluster(text: str) -> bool:
    """Return whether a text may have an object that creates a cluster."""
    return any(word in text for word in _WORDS)


def list_cluster_versions(root: Node) -> Iterator[tuple[Node, str]]:
    """Yield the node of each version of a cluster in a document, at any depth, and what states it."""
    for node in root.walk():
        if node.kind != "mapping" or node.alias:
            continue
        api, kind, of_type = (_text_of(node.get(key)) for key in ("apiVersion", "kind", "Type"))
        found = [(path, by) for start, name, path, by in _FIELDS if kind == name and re.match(start, api)]
        found += [_TYPES[name] for name in (of_type, _text_of(node.get("type"))) if name in _TYPES]
        for path, by in found:
            version = node.find(*path)
            if version is not None:
                yield version, by


def read_cluster_version(node: Node, by: str, root: Node) -> Iterator[Evidence]:
    """Yield what the node of a cluster's version states.

    For a reference to a parameter of the template, this is the parameter's default, which may be overridden; and
    that the version is not known, as for a function of CloudFormation.
    """
    if _is_patched(node, root):
        return
    text, reference = _text_of(node), _find_reference(node)
    is_computed = node.kind != "scalar" or (node.tag or "").startswith("!") or re.search(_CODE, text) is not None
    if reference is None and not is_computed:
        yield from _read(node, text, by, DEFAULT if _text_of(root.get("kind")) == "Composition" else STATED)
        return
    name = reference or next(iter(re.findall(_NAME, text)), None)
    default = _find_default(root, name) if name is not None else None
    if default is not None:
        yield from _read(default, _text_of(default), by, DEFAULT)
    line = node.source.position(node.start).line
    written = f"${{{reference}}}" if reference is not None else text or node.source.text[node.start : node.end]
    yield not_known(node.source.path, line, by, written)._replace(about="kubernetes")


def _read(node: Node, text: str, by: str, weight: int) -> Iterator[Evidence]:
    line = node.source.position(node.start).line
    if found := stated("kubernetes", text, node.source.path, line, by, weight):
        yield found


def _is_patched(node: Node, root: Node) -> bool:
    """Return whether a Composition replaces the version that one of its templates has."""
    return _text_of(root.get("kind")) == "Composition" and _PATCHED in node.source.text


def _find_reference(node: Node) -> str | None:
    """Return the name of the parameter to which a value of CloudFormation refers. None if it is another value."""
    given = node.get("Ref") if node.kind == "mapping" else node if node.tag == "!Ref" else None
    given = given or (node.get("Fn::Sub") if node.kind == "mapping" else None)
    if given is None or given.kind != "scalar":
        return None
    return _text_of(given).removeprefix("${").removesuffix("}")


def _find_default(root: Node, name: str) -> Node | None:
    """Return the default of a parameter of CloudFormation, or of a setting or variable of Pulumi."""
    for path in (("Parameters", name, "Default"), *(("config", name, key) for key in ("default", "value"))):
        found = root.find(*path)
        if found is not None and found.kind == "scalar":
            return found
    for folder in ("variables", "config", "configuration"):
        found = root.find(folder, name)
        if found is not None and found.kind == "scalar":
            return found
    return None


def _text_of(node: Node | None) -> str:
    return node.unquoted.strip() if node is not None and node.kind == "scalar" else ""
