"""Find security groups of Terraform that a class selects and that the control plane does not reach."""

from __future__ import annotations

import re

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.forms.terraform.node_roles import list_clusters

if TYPE_CHECKING:
    from nodelint.forms.terraform.tagging import TagValue
    from nodelint.forms.terraform.terraform_blocks import BlockText
    from nodelint.forms.terraform.terraform_trace import TerraformBlocks
    from nodelint.model.manifest_terms import Label

__all__ = ["ClosedGroup", "find_closed_group"]

_INGRESS = re.compile(r"(?m)^[ \t]*ingress[ \t]*\{([^{}]*)\}")
_MAY_ADMIT = re.compile(r'(?m)^[ \t]*(?:dynamic[ \t]+"ingress"|ingress[ \t]*=)')
_MEMBERS = re.compile(r"\bself[ \t]*=[ \t]*true")
_OTHERS = re.compile(r"\b(?:cidr_blocks|ipv6_cidr_blocks|security_groups|prefix_list_ids)[ \t]*=(?![ \t]*\[\s*\])")
_RULES = re.compile(r"\baws_security_group_rule\b|\baws_vpc_security_group_ingress_rule\b|\bsecurity-group/aws\b")
_GIVEN = re.compile(r"\bsecurity_group_ids?[ \t]*=|_security_group_ids?[ \t]*=")


class ClosedGroup(NamedTuple):
    """A security group that shuts out the control plane.

    - `block`: the resource that creates it.
    - `admits_members`: whether it admits its own members; if not, it admits nothing.
    """

    block: BlockText
    admits_members: bool


def find_closed_group(tag: Label, key: str, blocks: TerraformBlocks) -> ClosedGroup | None:
    """Return the only security group with a tag if it shuts out the control plane.

    None if it does not, or if other groups may have the tag, or if a file may have further rules for the group.
    """
    block = _find_group(tag, key, blocks)
    if block is None or _MAY_ADMIT.search(block.text):
        return None
    rules = _INGRESS.findall(block.text)
    if not rules:
        return None if re.search(r"(?m)^[ \t]*ingress\b", block.text) else ClosedGroup(block, False)
    if any(_MEMBERS.search(rule) is None or _OTHERS.search(rule) is not None for rule in rules):
        return None
    clusters = list_clusters(blocks)
    # A cluster with groups of its own may have this one, so that its rule admits the control plane.
    is_apart = bool(clusters) and not any(_GIVEN.search(cluster.text) for cluster in clusters)
    return (
        ClosedGroup(block, True) if is_apart and not any(_RULES.search(file.text) for file in blocks.files) else None
    )


def _find_group(tag: Label, key: str, blocks: TerraformBlocks) -> BlockText | None:
    """Return the only security group of Terraform with a tag. None if there may be others, or rules for it."""
    same = set()
    for found in blocks.tag_values(key, settled=False):
        if "security groups" not in found.on:
            continue
        is_same = _are_equal(found, tag, blocks)
        if is_same is None:
            return None
        same |= {found.address} if is_same else set()
    group = [block for block in blocks.blocks if block.kind == "aws_security_group" and block.address in same]
    if len(same) != 1 or len(group) != 1 or blocks.has_text_near(group[0].source.path, _RULES):
        return None
    return None if any(f"tag:{key}" in file.text for file in blocks.files) else group[0]


def _are_equal(found: TagValue, tag: Label, blocks: TerraformBlocks) -> bool | None:
    """Return whether Terraform gives a tag the value in a class: the same text, or a reference to the same value.

    None if that is not known.
    """
    if found.value is not None and isinstance(tag.value, str):
        return found.value == tag.value
    at, node = found.at, tag.node
    selected = blocks.trace(node.source.text[node.start : node.end].strip("\"'"), node.source.path)
    return True if selected and selected == blocks.trace(at.source.text[at.start : at.end], at.source.path) else None
