"""spec.kubelet of an EC2NodeClass in the releases whose API server takes any map there: what the controller checks.

The facts are those of the AWS provider's main branch: `ValidateKubeletConfig` (pkg/apis/v1), and
`validateKubeletFieldsSupported` (pkg/controllers/nodeclass/validation.go). A class that fails one of these
checks is not ready, and no pool launches nodes with it. Expressions in it: `expressions`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from nodelint.apiserver import SchemaNode, SchemaProblem, check_part, load
from nodelint.ec2.questions import alias_families, alias_of
from nodelint.karpenter.controller.problem import Choice, ControllerProblem
from nodelint.model.finding import Severity
from nodelint.model.manifest import EC2NodeClass
from nodelint.model.messages import short
from nodelint.model.releases import Version, behaves
from nodelint.text import Node
from nodelint.text.missing import is_null

NOT_READY = "the API server accepts the class, but it never becomes ready, and no pool launches nodes with it"

_ALL_FAMILIES = frozenset(
    (
        *("clusterDNS", "cpuCFSQuota", "evictionHard", "evictionMaxPodGracePeriod", "evictionSoft"),
        *("evictionSoftGracePeriod", "imageGCHighThresholdPercent", "imageGCLowThresholdPercent", "kubeReserved"),
        *("maxPods", "podsPerCore", "systemReserved"),
    )
)
"""The fields that Karpenter itself reads, and so brings to nodes of any family."""

_WHOLE = ("AL2023", "Custom")
"""The families that take every field: AL2023 hands the map on, with Custom the user data is the user's own."""


def is_open(release: Version) -> bool:
    """Whether the API server of a release takes any map as spec.kubelet."""
    return behaves("open-kubelet", release)


def family_of(node_class: EC2NodeClass) -> str | None:
    """Return the AMI family of a class, as written or as its alias implies it; None if that is not known."""
    family = node_class.ami_family
    if family is not None:
        return family if isinstance(family, str) else None
    alias = alias_of(node_class)
    row = alias_families().get(alias.alias.family) if alias is not None else None
    return None if row is None else str(row["amiFamily"])


def problems(node_class: EC2NodeClass, release: Version) -> Iterator[ControllerProblem]:
    """Yield what the controller refuses in spec.kubelet, less its expressions."""
    kubelet = node_class.node.find("spec", "kubelet")
    if kubelet is None or kubelet.kind != "mapping" or not is_open(release):
        return
    for problem in check_part(node_class, kubelet, "spec.kubelet", _shape(release), release):
        if problem.layer == "unjudged":
            continue
        # The fields are those of the library that a release is built with; that of 1.15 was not to be read.
        severity: Severity = "warning" if problem.layer == "unknown" else "error"
        yield ControllerProblem(
            problem.node,
            problem.message,
            "kubelet",
            severity,
            NOT_READY,
            _suggested_value(problem),
            tuple(Choice("the number alone", int(text)) for text in problem.choices if problem.wanted == "integer"),
            problem.wanted,
        )
    yield from _unsupported(kubelet, family_of(node_class))
    yield from _no_addresses(kubelet)


def lost_fields(node_class: EC2NodeClass, kubelet: Node) -> Iterator[ControllerProblem]:
    """Yield what releases whose API server knows the fields of spec.kubelet leave out of the nodes of a family."""
    yield from _no_addresses(kubelet)
    family = family_of(node_class)
    if family is None or family in _WHOLE:
        return
    cores = kubelet.key("podsPerCore")
    if cores is not None and family == "Bottlerocket" and not is_null(kubelet.get("podsPerCore")):
        message = "`podsPerCore` does not reach nodes of family Bottlerocket"
        yield ControllerProblem(cores, message, "kubelet-family", "warning", "Karpenter ignores it")
    servers = kubelet.get("clusterDNS")
    if servers is not None and servers.kind == "sequence" and len(servers.items) > 1:
        message = f"nodes of family {family} take one address in `clusterDNS`, not {len(servers.items)}"
        yield ControllerProblem(
            servers, message, "kubelet-family", "warning", "Karpenter passes only the first one to the node"
        )


def _no_addresses(kubelet: Node) -> Iterator[ControllerProblem]:
    """Yield texts in `clusterDNS` that are no IP address.

    The kubelet logs them and goes on without (kubernetes pkg/kubelet/kubelet.go, NewMainKubelet).
    """
    servers = kubelet.get("clusterDNS")
    for server in servers.items if servers is not None else ():
        if isinstance(server.value, str) and not _is_address(server.value):
            message = f"`{short(server.value, 40)}` in `clusterDNS` is not an IP address"
            yield ControllerProblem(
                server,
                message,
                "kubelet-address",
                "warning",
                "the kubelet ignores it: pods have one name server fewer",
            )


def _is_address(text: str) -> bool:
    """Whether the kubelet takes a text for an address: zeros before a number of IPv4 are none to it."""
    from ipaddress import ip_address

    try:
        ip_address(re.sub(r"(?<![0-9a-fA-F:.])0+(?=[0-9])|(?<=\.)0+(?=[0-9])", "", text))
    except ValueError:
        return False
    return "%" not in text


@cache
def _shape(release: Version) -> SchemaNode:
    raw = load("kubelet")
    return SchemaNode(raw, raw, release)


def _suggested_value(problem: SchemaProblem) -> str | None:
    """Return the value that was plainly meant; of a misspelt field the message names it."""
    return None if problem.layer == "unknown" else problem.suggestion


def _unsupported(kubelet: Node, family: str | None) -> Iterator[ControllerProblem]:
    """Yield fields that nodes of a family would not get."""
    if family is None or family in _WHOLE:
        return
    fields = _shape_fields()
    for entry in kubelet.entries:
        name = entry.name
        lost = name in fields and name not in _ALL_FAMILIES
        if name == "podsPerCore" and family == "Bottlerocket":
            lost = not is_null(entry.value)
        if lost and name != "registerWithTaints":
            message = f"`{name}` does not reach nodes of family {family}: it needs AL2023"
            if name == "podsPerCore":
                message = f"`podsPerCore` does not reach nodes of family {family}"
            yield ControllerProblem(entry.key, message, "kubelet-family", "error", NOT_READY)
    servers = kubelet.get("clusterDNS")
    if servers is not None and servers.kind == "sequence" and len(servers.items) > 1:
        message = f"nodes of family {family} take one address in `clusterDNS`, not {len(servers.items)}"
        yield ControllerProblem(servers, message, "kubelet-family", "error", NOT_READY)


@cache
def _shape_fields() -> frozenset[str]:
    return frozenset(load("kubelet")["properties"])
