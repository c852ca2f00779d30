"""Checks of the controller for spec.kubelet, in the releases whose API server accepts any map there.

The facts are those of the AWS provider's main branch: `ValidateKubeletConfig` (pkg/apis/v1), and
`validateKubeletFieldsSupported` (pkg/controllers/nodeclass/validation.go). A class that fails one of these checks is
not ready, and no NodePool launches nodes with it. The module `expressions` checks CEL expressions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from nodelint.apiserver import SchemaNode, check_part, load
from nodelint.ec2.questions import alias_families, alias_of
from nodelint.karpenter.controller.problem import Choice, ControllerProblem
from nodelint.model.finding import Severity
from nodelint.model.manifest import EC2NodeClass
from nodelint.model.messages import short
from nodelint.model.releases import Version, behaves
from nodelint.text import Node
from nodelint.text.missing import is_null, items_of

NOT_READY = "the API server accepts the class, but it never becomes ready, and no pool launches nodes with it"

_ALL_FAMILIES = frozenset(
    (
        *("clusterDNS", "cpuCFSQuota", "evictionHard", "evictionMaxPodGracePeriod", "evictionSoft"),
        *("evictionSoftGracePeriod", "imageGCHighThresholdPercent", "imageGCLowThresholdPercent", "kubeReserved"),
        *("maxPods", "podsPerCore", "systemReserved"),
    )
)
"""The fields that Karpenter itself reads, so that they have an effect with every AMI family."""

_WHOLE = ("AL2023", "Custom")
"""The AMI families that accept every field: for AL2023 Karpenter passes on the whole map, for Custom the user writes
the user data.
"""


def is_open(release: Version) -> bool:
    """Return whether the API server of a release accepts any map as spec.kubelet."""
    return behaves("open-kubelet", release)


def family_of(node_class: EC2NodeClass) -> str | None:
    """Return the AMI family of a class, from amiFamily or else from its alias. None if it is not known."""
    family = node_class.ami_family
    if family is not None:
        return family if isinstance(family, str) else None
    alias = alias_of(node_class)
    row = alias_families().get(alias.alias.family) if alias is not None else None
    return None if row is None else str(row["amiFamily"])


def problems(node_class: EC2NodeClass, release: Version) -> Iterator[ControllerProblem]:
    """Yield each problem of the controller with spec.kubelet, except in CEL expressions."""
    kubelet = node_class.node.find("spec", "kubelet")
    if kubelet is None or kubelet.kind != "mapping" or not is_open(release):
        return
    for problem in check_part(node_class, kubelet, "spec.kubelet", _shape(release), release):
        if problem.layer == "unjudged":
            continue
        # The fields are those of the kubelet library of the release. For 1.15 the library could not be read.
        severity: Severity = "warning" if problem.layer == "unknown" else "error"
        yield ControllerProblem(
            problem.node,
            problem.message,
            "kubelet",
            severity,
            NOT_READY,
            # The message of a misspelled field names the field already.
            None if problem.layer == "unknown" else problem.suggestion,
            tuple(Choice("the number alone", int(text)) for text in problem.choices if problem.wanted == "integer"),
            problem.wanted,
        )
    yield from _unsupported(kubelet, family_of(node_class))
    yield from _no_addresses(kubelet)


def lost_fields(node_class: EC2NodeClass, kubelet: Node) -> Iterator[ControllerProblem]:
    """Yield the fields of spec.kubelet that have no effect on nodes of the class's AMI family, for releases whose API
    server validates spec.kubelet.
    """
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
    """Yield texts in `clusterDNS` that are not an IP address.

    The kubelet logs and ignores them (kubernetes pkg/kubelet/kubelet.go, NewMainKubelet).
    """
    for server in items_of(kubelet.get("clusterDNS")):
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
    """Return whether the kubelet reads a text as an IP address. It ignores leading zeros in a number of an IPv4
    address.
    """
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


def _unsupported(kubelet: Node, family: str | None) -> Iterator[ControllerProblem]:
    """Yield the fields of spec.kubelet that nodes of an AMI family do not support."""
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
