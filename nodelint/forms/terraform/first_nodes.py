"""Count the nodes of a cluster that Terraform creates before Karpenter launches any."""

from __future__ import annotations

import re

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.forms.terraform.spot_groups import MODULE, OTHER_NODES
from nodelint.forms.terraform.terraform_blocks import own_arguments
from nodelint.model.finding import Span
from nodelint.text import UNKNOWN
from nodelint.text.missing import items_of

if TYPE_CHECKING:
    from nodelint.forms.terraform.argument_values import ArgumentValue
    from nodelint.forms.terraform.terraform_blocks import BlockText
    from nodelint.forms.terraform.terraform_trace import TerraformBlocks
    from nodelint.text import Node

__all__ = [
    "FirstNodes",
    "GroupTaints",
    "find_bare_cluster",
    "find_first_nodes",
    "list_fargate_namespaces",
    "list_group_taints",
]

_GROUPS = ("eks_managed_node_groups", "self_managed_node_groups")
_OTHERS = (
    "compute_config",
    "cluster_compute_config",
    "node_groups",
    "worker_groups",
    "eks_managed_node_group_defaults",
)
_ADDONS = ("addons", "cluster_addons")
_TAINT = re.compile(r"(?m)^[ \t]*taint[ \t]*\{([^{}]*)\}")
_KEEPS_AWAY = ("NO_SCHEDULE", "NO_EXECUTE", "NoSchedule", "NoExecute")
_COMMENT = re.compile(r"(?m)(?:^|[ \t])(?:#|//)[^\n]*")
_ON_FARGATE = re.compile(r"(?i)compute-?type\W{1,8}fargate")


_ANY_NODES = re.compile(
    r"(?i)node[-_]?group|fargate|autoscaling|aws_launch_|aws_instance|spot_fleet|compute_config|hybrid|cloudformation"
    r"|local-exec|aws_eks_capability"
)
_WITHOUT_NODES = re.compile(
    r'(?m)^[ \t]*source[ \t]*=[ \t]*"(?:\.|terraform-aws-modules/(?:vpc|iam|kms|s3-bucket)/aws'
    r'|terraform-aws-modules/eks/aws//modules/karpenter")'
)


class FirstNodes(NamedTuple):
    """The nodes that Terraform creates for a cluster.

    - `total`: their number.
    - `at`: the cluster, or the size of its only group.
    - `has_fargate`: pods can run on Fargate.
    - `has_dns_on_nodes`: Terraform installs CoreDNS as an add-on, and not for Fargate.
    """

    total: int
    at: Span
    has_fargate: bool
    has_dns_on_nodes: bool
    states_groups: bool
    """Whether the cluster states its node groups, possibly none."""


class GroupTaints(NamedTuple):
    """A node group: where it is written, the keys of the taints that keep pods away, and its own labels.

    The labels are None if they are not known.
    """

    at: Span
    keys: tuple[str, ...]
    labels: dict[str, str] | None = None


def list_group_taints(path: str, blocks: TerraformBlocks) -> list[GroupTaints] | None:
    """Return the taints of all node groups in the root modules of a file.

    None if the taints of a group are not known, or if something else may create nodes.
    """
    found: list[GroupTaints] = []
    for block in blocks.list_beside_in_root(path):
        if block.kind == "aws_eks_node_group":
            keys = _keys_of_blocks(block.text)
            groups = [GroupTaints(block.at, keys, _labels_of_block(block.text))] if keys is not None else None
        elif block.address.startswith("module.") and MODULE.search(block.text):
            groups = _list_taints_of_module(block, blocks)
        else:
            groups = None if OTHER_NODES.search(f"{block.kind} {block.text}") else []
        if groups is None:
            return None
        found += groups
    return found


def _keys_of_blocks(group: str) -> tuple[str, ...] | None:
    if 'dynamic "taint"' in group:
        return None
    written = [own_arguments(taint) for taint in _TAINT.findall(group)]
    if any(not re.fullmatch(r'"[^"$]*"', taint.get(name, "")) for taint in written for name in ("key", "effect")):
        return None
    return tuple(taint["key"].strip('"') for taint in written if taint["effect"].strip('"') in _KEEPS_AWAY)


def _list_taints_of_module(call: BlockText, blocks: TerraformBlocks) -> list[GroupTaints] | None:
    given = own_arguments(call.text)
    if any(name in given for name in (*_OTHERS, "fargate_profiles")):
        return None
    found = []
    for value in (value for name in _GROUPS if name in given for value in blocks.argument_values(call, name)):
        if value.value.value is UNKNOWN or value.value.kind != "mapping":
            return None
        for entry in value.value.entries:
            taints = entry.value.get("taints")
            items = [] if taints is None else taints.items or [inner.value for inner in taints.entries]
            keys = [(item.get("key"), item.get("effect")) for item in items]
            if (taints is not None and taints.value is UNKNOWN) or entry.value.kind != "mapping":
                return None
            if any(key is None or effect is None or UNKNOWN in (key.value, effect.value) for key, effect in keys):
                return None
            names = (str(key.value) for key, effect in keys if key and effect and str(effect.value) in _KEEPS_AWAY)
            found.append(GroupTaints(value.at, tuple(names), _labels_of_node(entry.value.get("labels"))))
    return found


def _labels_of_block(group: str) -> dict[str, str] | None:
    """Return the labels of a node group's block. None if they are not known."""
    written = own_arguments(group).get("labels", "{}")
    if not written.startswith("{"):
        return None
    found = own_arguments(written.strip()[1:-1].replace(",", "\n"))
    if any(not re.fullmatch(r'"[^"$]*"', value) for value in found.values()):
        return None
    return {key: value.strip('"') for key, value in found.items()} if "$" not in written else None


def _labels_of_node(labels: Node | None) -> dict[str, str] | None:
    """Return the labels of a node group of a module. None if they are not known."""
    if labels is None:
        return {}
    pairs = [(entry.name, entry.value.value) for entry in labels.entries]
    if labels.kind != "mapping" or any(name is None or not isinstance(value, str) for name, value in pairs):
        return None
    return {str(name): str(value) for name, value in pairs}


def find_bare_cluster(path: str, blocks: TerraformBlocks) -> BlockText | None:
    """Return the `aws_eks_cluster`, or the call of terraform-aws-modules/eks, in the root modules of a file, if these
    create no node for it.

    None if there is not exactly one, or if any block or remote module may create nodes.
    """
    neighbours = blocks.list_beside_in_root(path)
    calls = [block for block in neighbours if block.address.startswith("module.")]
    clusters = [block for block in neighbours if block.kind == "aws_eks_cluster"]
    clusters += [call for call in calls if MODULE.search(call.text) and "eks/aws//" not in call.text]
    if len(clusters) != 1 or any(_ANY_NODES.search(f"{block.address} {block.text}") for block in neighbours):
        return None
    others = (call for call in calls if call is not clusters[0])
    return clusters[0] if all(_WITHOUT_NODES.search(call.text) for call in others) else None


def find_first_nodes(path: str, blocks: TerraformBlocks) -> FirstNodes | None:
    """Return the nodes of the only cluster in the root modules of a file.

    None if there is not exactly one call of terraform-aws-modules/eks, or if something else may create nodes.
    """
    neighbours = blocks.list_beside_in_root(path)
    calls = [block for block in neighbours if block.address.startswith("module.") and MODULE.search(block.text)]
    if len(calls) != 1 or any(_may_create(block) for block in neighbours if block is not calls[0]):
        return None
    call, given = calls[0], own_arguments(calls[0].text)
    if any(name in given for name in _OTHERS) or "count" in given or "for_each" in given:
        return None
    sizes = _list_sizes(call, blocks, given)
    if sizes is None:
        return None
    total = sum(size for size, _ in sizes)
    at = sizes[0][1] if len(sizes) == 1 else call.at
    dns = _COMMENT.sub("", "".join(given.get(name, "") for name in _ADDONS))
    has_fargate = given.get("fargate_profiles", "{}").replace(" ", "") != "{}"
    has_dns_on_nodes = "coredns" in dns and _ON_FARGATE.search(dns) is None
    return FirstNodes(total, at, has_fargate, has_dns_on_nodes, any(name in given for name in _GROUPS))


def list_fargate_namespaces(path: str, blocks: TerraformBlocks) -> list[str] | None:
    """Return the namespaces that the Fargate profiles of the only cluster in the root modules of a file select.

    They may have wildcards. None if they are not known.
    """
    calls = [block for block in blocks.list_beside_in_root(path) if MODULE.search(block.text)]
    found = []
    for given in blocks.argument_values(calls[0], "fargate_profiles") if len(calls) == 1 else ():
        profiles = [entry.value for entry in given.value.entries]
        selectors = [items_of(profile.get("selectors")) for profile in profiles]
        namespaces = [selector.get("namespace") for listed in selectors for selector in listed]
        if given.value.kind != "mapping" or not all(selectors):
            return None
        for namespace in namespaces:
            if namespace is None or not isinstance(namespace.value, str):
                return None
            found.append(namespace.value)
    return found or None


def _may_create(block: BlockText) -> bool:
    return block.kind == "aws_eks_node_group" or OTHER_NODES.search(f"{block.kind} {block.text}") is not None


def _list_sizes(call: BlockText, blocks: TerraformBlocks, given: dict[str, str]) -> list[tuple[int, Span]] | None:
    """Return the desired size of each node group of a call, and its place.

    None if they are not known, or not the same in each environment.
    """
    found: list[tuple[int, Span]] = []
    for name in _GROUPS:
        values = blocks.argument_values(call, name) if name in given else []
        sizes = [_sizes_of(value) for value in values]
        first = sizes[0] if sizes else None
        if name in given and first is None:
            return None
        if any(other is None or [n for n, _ in other] != [n for n, _ in first or ()] for other in sizes):
            return None
        found += first or ()
    return found


def _sizes_of(groups: ArgumentValue) -> list[tuple[int, Span]] | None:
    if groups.value.value is UNKNOWN or groups.value.kind != "mapping":
        return None
    found: list[tuple[int, Span]] = []
    for entry in groups.value.entries:
        size = _size_of(entry.value)
        if entry.name is None or size is None:
            return None
        is_beside = size.source is groups.at.source
        at = Span(size.source, size.start, size.end) if is_beside else groups.at
        found.append((int(str(size.value)), at))
    return found


def _size_of(group: Node) -> Node | None:
    """Return the desired size of a group. None if it is no number."""
    size = group.get("desired_size") or group.get("min_size")
    return size if size is not None and str(size.value).isdigit() else None
