"""Find clusters whose managed node groups, on which Karpenter's controller runs, all use spot capacity."""

from __future__ import annotations

import re

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.forms.terraform.terraform_blocks import own_arguments
from nodelint.model.finding import Span
from nodelint.text import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nodelint.forms.terraform.terraform_blocks import BlockText
    from nodelint.forms.terraform.terraform_trace import TerraformBlocks
    from nodelint.text import Node

__all__ = ["MODULE", "OTHER_NODES", "SpotGroup", "find_spot_groups"]

MODULE = re.compile(r'(?m)^[ \t]*source[ \t]*=[ \t]*"(?:registry\.terraform\.io/)?terraform-aws-modules/eks/aws"')
OTHER_NODES = re.compile(
    r"\b(?:fargate_profiles?|self_managed_node_groups?|worker_groups\w*|compute_config|cluster_compute_config)\b"
    r'|aws_autoscaling_group|aws_eks_fargate_profile|(?m:^[ \t]*source[ \t]*=[ \t]*"[^."\n][^"\n]*node[-_]?group)'
)
"""Text of a block that may create other nodes. A block of the groups that are read does not count."""


class SpotGroup(NamedTuple):
    """A managed node group with spot capacity: the place of the capacity type."""

    at: Span


def find_spot_groups(path: str, blocks: TerraformBlocks) -> Iterator[SpotGroup]:
    """Yield the spot groups of the root modules of a file, if these have no other nodes.

    Nothing is yielded if the capacity of a group is not known.
    """
    blocks_of_root = blocks.list_beside_in_root(path)
    groups = [block for block in blocks_of_root if block.kind == "aws_eks_node_group"]
    modules = [block for block in blocks_of_root if block.address.startswith("module.") and MODULE.search(block.text)]
    if any(
        OTHER_NODES.search(f"{block.kind} {block.text}")
        for block in blocks_of_root
        if block not in (*groups, *modules)
    ):
        return
    found: list[Span] = []
    for block in groups:
        at = _find_spot(block, blocks)
        if at is None:
            return
        found += at
    for block in modules:
        at = _find_spot_of_module(block, blocks)
        if at is None:
            return
        found += at
    yield from map(SpotGroup, found)


def _find_spot(group: BlockText, blocks: TerraformBlocks) -> list[Span] | None:
    """Return where a group is given spot capacity. None if it has other capacity, or if that is not known."""
    values = blocks.argument_values(group, "capacity_type")
    if not values or any(value.value.value != "SPOT" for value in values):
        return None
    return [values[0].at]


def _find_spot_of_module(call: BlockText, blocks: TerraformBlocks) -> list[Span] | None:
    """Return where the groups of a call of terraform-aws-modules/eks are given spot capacity.

    Empty if it creates no groups. None if a group has other capacity, or if that is not known.
    """
    given = own_arguments(call.text)
    if any(name in given for name in ("fargate_profiles", "self_managed_node_groups", "compute_config")):
        return None
    if "cluster_compute_config" in given or "eks_managed_node_group_defaults" in given:
        return None
    if "eks_managed_node_groups" not in given:
        return []
    found: list[Span] = []
    for value in blocks.argument_values(call, "eks_managed_node_groups"):
        kinds = _list_capacity(value.value)
        if kinds is None or any(kind is None or kind.value != "SPOT" for kind in kinds):
            return None
        # What a variable gives is shown at the argument.
        found += [
            Span(kind.source, kind.start, kind.end)
            if kind is not None and kind.source is value.at.source
            else value.at
            for kind in kinds
        ]
    return found or None


def _list_capacity(groups: Node) -> Sequence[Node | None] | None:
    """Return the capacity of each group, None for one without. None if the groups are not known."""
    if groups.value is UNKNOWN or groups.kind != "mapping" or not groups.entries:
        return None
    if any(entry.name is None or entry.value.kind != "mapping" for entry in groups.entries):
        return None
    return [entry.value.get("capacity_type") for entry in groups.entries]
