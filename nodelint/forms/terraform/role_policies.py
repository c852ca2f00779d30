"""Policies that Terraform attaches to a role: AWS managed policies, and statements that are written in the files."""

from __future__ import annotations

import re

from nodelint.base.types import TYPE_CHECKING
from nodelint.forms.terraform.terraform_blocks import BlockText, own_arguments
from nodelint.model.iam_statements import Statement, list_statements, named_policies

if TYPE_CHECKING:
    from nodelint.forms.terraform.node_roles import MadeRole
    from nodelint.forms.terraform.terraform_trace import TerraformBlocks

__all__ = ["find_controllers_policies", "find_policies", "list_added_statements"]

_ATTACHING = ("aws_iam_role_policy_attachment", "aws_iam_policy_attachment", "aws_iam_role_policy")
_OF_AWS = re.compile(r'"arn:[^"\n]*:iam::aws:policy/(?:[\w-]+/)*(\w+)"')
_NAMED_BY_ITEM = re.compile(r'"(arn:[^"\n]*:iam::aws:policy/)\$\{each\.(?:value|key)\}"')
"""The ARN of a policy whose name is an item of `for_each`."""
_ROLE = re.compile(r"(?m)^[ \t]*roles?[ \t]*=[ \t]*([^\n]+)")
_POLICY = re.compile(r"\b(?:data\.aws_iam_policy_document|aws_iam_policy)\.[\w-]+")
_SOURCE = re.compile(r'(?m)^[ \t]*source[ \t]*=[ \t]*"([^"\n]*)"')
_CONTROLLERS_ACCOUNT = re.compile(r"system:serviceaccount:[^\"\n]{0,300}karpenter")
_LISTED = re.compile(r"\brole_policy_arns\s*+=\s*+\[([^\][]*)\]")
_OTHERS = re.compile(r"aws_iam_policy|policy\s*=|each\.|var\.|local\.|module\.")
_LISTS = re.compile(r"^(?:\w+_)?polic(?:y_arns|ies)$")


def find_policies(made: MadeRole, blocks: TerraformBlocks) -> set[str] | None:
    """Return the AWS managed policies of a node role. None if it may have other policies, or if they are
    not known.
    """
    if made.call is not None:
        return None
    found: set[str] = set()
    for name, written in own_arguments(made.block.text).items():
        if _LISTS.match(name) and not re.search(r"trust|assum|detach", name):
            if _hides_policies(written):
                return None
            found.update(_OF_AWS.findall(written))
    if re.search(r"\binline_polic(?:y|ies)\b", made.block.text) or (made.block.kind and _is_given_away(made, blocks)):
        return None
    for block in blocks.blocks if made.block.kind else ():
        if block.kind in _ATTACHING:
            given = own_arguments(block.text)
            written = given.get("role") or given.get("roles", "").strip("[] \n,")
            if not made.is_role_of(blocks.trace(written, block.source.path)):
                if "each." in written or "element(" in written:
                    return None
                continue
            text = given.get("policy_arn", "")
            items = given.get("for_each", "") if text in ("each.value", "each.key") else text
            names = _NAMED_BY_ITEM.fullmatch(text)
            if names is not None:
                items = re.sub(r'"([\w/-]+)"(?!\s*=)', rf'"{names[1]}\1"', given.get("for_each", ""))
            if not text or _hides_policies(items):
                return None
            found.update(_OF_AWS.findall(items))
    return found


def find_controllers_policies(block: BlockText, blocks: TerraformBlocks) -> set[str] | None:
    """Return the AWS managed policies of a role of Karpenter's controller.

    The trust policy of such a role names Karpenter's service account, or the annotation of Karpenter's chart names
    the role. None for any other block, and if the role may have other policies.
    """
    if not _CONTROLLERS_ACCOUNT.search(block.text) and not _is_annotated(block, blocks):
        return None
    if block.address.startswith("module.") and "role_policy_arns" in block.text:
        given = _LISTED.search(block.text)
        texts = [] if given is None or "policy_statements" in block.text else [given[1]]
    elif block.kind == "aws_iam_role" and "inline_policy" not in block.text:
        near = [other for other in blocks.find_beside(block.source.path) if "policy" in other.kind]
        texts = [other.text for other in near if f"{block.address}." in other.text]
    else:
        return None
    return None if any(map(_OTHERS.search, texts)) else {name for text in texts for name in _OF_AWS.findall(text)}


def _is_annotated(role: BlockText, blocks: TerraformBlocks) -> bool:
    """Return whether Karpenter's chart annotates its service account with a role, by a reference in the role's
    folder.
    """
    if role.kind != "aws_iam_role":
        return False
    named = re.compile(rf"role-arn.{{0,40}}?\b{re.escape(role.address)}\.arn\b", re.DOTALL)
    releases = (block for block in blocks.find_beside(role.source.path) if block.kind == "helm_release")
    return any("karpenter" in release.text and named.search(release.text) for release in releases)


def _hides_policies(written: str) -> bool:
    """Return whether an expression may contain policies other than the AWS managed ones that it names."""
    plain = re.sub(r"\$\{(?:data\.aws_partition|local\.\w*partition|var\.\w*partition)[\w.\[\]]*\}", "aws", written)
    rest = re.sub(r"\b\w++(?=\s*+=)|\b(?:toset|compact)\(|[\s\[\]{}(),=]", "", _OF_AWS.sub("", plain))
    return bool(rest) or not _OF_AWS.search(plain)


def _is_given_away(made: MadeRole, blocks: TerraformBlocks) -> bool:
    """Return whether a block passes the role to a module that nodelint does not read, which may attach policies to
    it.
    """
    for block in blocks.blocks:
        source = _SOURCE.search(block.text) if block.address.startswith("module.") else None
        if source is not None and not source[1].startswith(".") and f"{made.block.address}." in block.text:
            return True
    return False


def list_added_statements(call: BlockText, blocks: TerraformBlocks) -> list[Statement] | None:
    """Return the statements that files add to the controller's role of a module call. None if one of them is not
    known.
    """
    role = re.compile(rf"\b{re.escape(call.address)}(?:\[[^\]]*\])?(?:\.karpenter)?\.iam_role_(?:name|arn)\b")
    added: list[Statement] = []
    for block in blocks.blocks:
        given = _ROLE.search(block.text) if block.kind in _ATTACHING else None
        if given is not None and (role.search(given[1]) or _may_be_controllers(block, given[1])):
            statements = _list_attached(block, blocks)
            if not statements or any(statement.actions is None for statement in statements):
                return None
            added += statements
        elif block.address.startswith("module.") and f"{call.address}.iam_role_name" in block.text:
            return None  # a module that may attach more to the role
    return added


def _may_be_controllers(block: BlockText, role: str) -> bool:
    """Return whether a policy may be for the role of the controller, which another module or a local names."""
    return "karpenter" in f"{block.address} {block.text}".lower() and "node" not in role.lower()


def _list_attached(block: BlockText, blocks: TerraformBlocks) -> list[Statement]:
    """Return the statements of the policy that a block attaches. Empty if a part of the policy is not found."""
    blocks_by_address = {other.address: other for other in blocks.find_beside(block.source.path)}
    found, waiting, seen = [], [block], {block.address}
    while waiting:
        part = waiting.pop()
        source, start = part.source, part.at.start
        end = source.text.find("\n}", part.at.end)
        written = [s for s in list_statements(source) if start <= s.at.start < end]
        for at, policy in named_policies(source):
            written += list_statements(policy) if start <= at.start < end else ()
        named = set(_POLICY.findall(part.text))
        if not named <= set(blocks_by_address) or not (written or named) or "policy_documents" in part.text:
            return []
        found += written
        waiting += [blocks_by_address[name] for name in named - seen]
        seen |= named
    return found
