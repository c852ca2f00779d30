"""Find the IAM roles that Terraform creates for nodes, and whether the files give them access to the cluster."""

from __future__ import annotations

import re

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.forms.terraform.karpenter_calls import KarpenterCall, is_karpenter_call, list_karpenter_calls
from nodelint.forms.terraform.terraform_blocks import BlockText, own_arguments
from nodelint.forms.terraform.terraform_trace import BlockReference, folder_of, may_be_text
from nodelint.text import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from nodelint.forms.terraform.terraform_trace import TerraformBlocks
    from nodelint.text import Node

__all__ = [
    "MadeRole",
    "find_access",
    "find_made_role",
    "find_profile",
    "find_root",
    "is_cluster",
    "is_profile",
    "list_clusters",
    "list_entries",
    "list_made_roles",
    "list_node_groups",
    "list_profiles",
    "list_types",
    "names_role",
]

_CLUSTER = re.compile(r'(?m)^[ \t]*source[ \t]*=[ \t]*"[^"\n]*terraform-aws-(?:modules/eks/aws|eks(?:\.git)?)["?]')
_SOURCE = re.compile(r'(?m)^[ \t]*source[ \t]*=[ \t]*"([^"\n]*)"')
_ARN_NAME = re.compile(r'^"(?:arn:[^"]*|[^":]*):role/(?:[^"/]+/)*([^"/]+)"$')
_REFERENCE = re.compile(
    r"\b(?:module|aws_iam_role|local|var)\.[\w-]+(?:\[[^\][\n]*\])?(?:\.[\w-]+(?:\[[^\][\n]*\])?)*"
)
_NODE_GROUPS = ("aws_eks_node_group", "aws_eks_fargate_profile")
_OF_GROUPS = ("node_role_arn", "pod_execution_role_arn")
_OUTPUTS = re.compile(r"^(?:node_iam_role|role_(?:arn|name)|node_role)")


class MadeRole(NamedTuple):
    """An IAM role for nodes.

    - `block`: the resource that creates it, or the module call.
    - `call`: the call of a public module for Karpenter, None for anything else.
    """

    block: BlockText
    call: KarpenterCall | None = None

    def is_role_of(self, reference: BlockReference | None) -> bool:
        """Return whether a reference leads to the role."""
        block = self.block
        if reference is None or (reference.address, reference.folder) != (
            block.address,
            folder_of(block.source.path),
        ):
            return False
        return self.call is None or any(_OUTPUTS.match(name) for name in reference.attributes)

    def may_have(self, name: str, blocks: TerraformBlocks) -> bool:
        """Return whether the role may be named `name`. True if its name is not known."""
        written = self.find_name(blocks)
        return written is None or may_be_text(written, name)

    def find_name(self, blocks: TerraformBlocks) -> str | None:
        """Return the name of the role as a quoted string, possibly with references. None if it is not known."""
        if self.call is not None:
            named = self.call.node_role_name
            return None if named is None or named[1] else named[0]
        given = own_arguments(self.block.text)
        key = next((key for key in ("name", "role_name", "iam_role_name") if key in given), None)
        filled = blocks.fill(given[key], self.block.source.path) if key is not None else ""
        return filled if filled.startswith('"') else None


def find_made_role(role: Node, blocks: TerraformBlocks) -> MadeRole | None:
    """Return the role that an EC2NodeClass names, by a reference, by its name or by an instance profile.

    None if no file, or more than one, may create it.
    """
    calls = list_karpenter_calls(blocks)
    profile = find_profile(role, blocks)
    if profile is not None or role.value is UNKNOWN:
        written = role.source.text[role.start : role.end]
        found = (
            blocks.trace(own_arguments(profile.text).get("role", ""), profile.source.path)
            if profile is not None
            else blocks.trace(written, role.source.path)
        )
        block = blocks.find(found) if found is not None else None
        if block is None:
            return None
        call = next((call for call in calls if call.block == block), None)
        made = MadeRole(block, call)
        if block.kind == "aws_iam_role" or _is_role_module(block):
            return made
        return made if call is not None and call.makes_node_role and made.is_role_of(found) else None
    if not isinstance(role.value, str) or is_profile(role):
        return None
    by_name: Mapping[str, Sequence[MadeRole]] = blocks.once(find_made_role, lambda: _group_by_name(blocks))
    named = by_name.get(f'"{role.value}"', ())
    return named[0] if len(named) == 1 else None


def is_profile(role: Node) -> bool:
    """Return whether a value of a class is its `instanceProfile`, and not its `role`."""
    return role.parent is not None and role.parent.get("instanceProfile") is role


def find_profile(profile: Node, blocks: TerraformBlocks) -> BlockText | None:
    """Return the `aws_iam_instance_profile` that a class names, by a reference or by its `instanceProfile`.

    None if no file, or more than one, may create it.
    """
    if profile.value is UNKNOWN:
        found = blocks.trace(profile.source.text[profile.start : profile.end], profile.source.path)
        block = blocks.find(found) if found is not None else None
        return block if block is not None and block.kind == "aws_iam_instance_profile" else None
    if not isinstance(profile.value, str) or not is_profile(profile):
        return None
    named = [block for block, name in list_profiles(blocks) if name == f'"{profile.value}"']
    return named[0] if len(named) == 1 else None


def list_profiles(blocks: TerraformBlocks) -> Sequence[tuple[BlockText, str]]:
    """Return each instance profile of the files with its name: a quoted string, possibly with references.

    The name is empty if it is not known.
    """
    found: Sequence[tuple[BlockText, str]] = blocks.once(list_profiles, lambda: tuple(_list_profiles(blocks)))
    return found


def _list_profiles(blocks: TerraformBlocks) -> Iterator[tuple[BlockText, str]]:
    for block in blocks.blocks:
        if block.kind == "aws_iam_instance_profile":
            filled = blocks.fill(own_arguments(block.text).get("name", ""), block.source.path)
            yield block, filled if filled.startswith('"') else ""


def _group_by_name(blocks: TerraformBlocks) -> dict[str, list[MadeRole]]:
    """Return the roles that the files may create, by their names as quoted strings."""
    roles = [MadeRole(block) for block in blocks.blocks if block.kind == "aws_iam_role" or _is_role_module(block)]
    roles += [MadeRole(call.block, call) for call in list_karpenter_calls(blocks) if call.makes_node_role]
    found: dict[str, list[MadeRole]] = {}
    for made in roles:
        name = made.find_name(blocks)
        if name is not None:
            found.setdefault(name, []).append(made)
    return found


def is_cluster(block: BlockText) -> bool:
    """Return whether a block creates an EKS cluster."""
    return block.kind == "aws_eks_cluster" or (
        block.address.startswith("module.") and _CLUSTER.search(block.text) is not None
    )


def list_clusters(blocks: TerraformBlocks) -> Sequence[BlockText]:
    """Return the blocks of the run that create an EKS cluster."""
    found: Sequence[BlockText] = blocks.once(list_clusters, lambda: tuple(filter(is_cluster, blocks.blocks)))
    return found


def find_root(made: MadeRole, blocks: TerraformBlocks) -> Sequence[BlockText]:
    """Return the blocks of the configuration that creates a role.

    These are the blocks of its folder, of the folders that call it, and of the modules that they call, if one of them
    creates a cluster; else all blocks of the run.
    """
    own = folder_of(made.block.source.path)
    found: Sequence[BlockText] = blocks.once((find_root, own), lambda: _find_root(own, blocks))
    return found


def _find_root(own: str, blocks: TerraformBlocks) -> Sequence[BlockText]:
    above, waiting = {own}, [own]
    while waiting:
        callers = {folder_of(call.source.path) for call in blocks.calls_of(waiting.pop())} - above
        above |= callers
        waiting += callers
    folders = {below for folder in above for below in blocks.folders_below(folder)}
    found = [block for block in blocks.blocks if folder_of(block.source.path) in folders]
    return found if any(map(is_cluster, found)) else blocks.blocks


def find_access(made: MadeRole, blocks: TerraformBlocks) -> bool | None:
    """Return whether the files give a role access to the cluster, by an access entry or a node group.

    None if that is not known. Rows of the ConfigMap `aws-auth` do not count.
    """
    own = made.block.address, made.block.source.path
    found: bool | None = blocks.once((find_access, own), lambda: _find_access(made, blocks))
    return found


def _find_access(made: MadeRole, blocks: TerraformBlocks) -> bool | None:
    answers: set[bool | None] = set()
    near = find_root(made, blocks)
    for _, written, path in (*list_entries(near), *list_node_groups(near)):
        answers.add(names_role(written, path, made, blocks))
    for call in list_karpenter_calls(blocks):
        if call.block not in near:
            continue
        if call.makes_node_role is not True and call.node_role_arn and call.makes_entry is not False:
            given = names_role(call.node_role_arn, call.block.source.path, made, blocks)
            answers.add(given if call.makes_entry else None if given is not False else False)
        if made.call is not None and call.block == made.block and call.makes_entry is not False:
            answers.add(call.makes_entry)
    for block in near:
        if _may_give_access(block, made, blocks):
            answers.add(None)
    return True if True in answers else None if None in answers else False


def list_entries(blocks: Sequence[BlockText]) -> Iterator[tuple[BlockText, str, str]]:
    """Yield (block, expression of the role, path of the file) for each access entry."""
    for block in blocks:
        if block.kind == "aws_eks_access_entry":
            yield block, own_arguments(block.text).get("principal_arn", ""), block.source.path


def list_types(made: MadeRole, blocks: TerraformBlocks) -> Iterator[tuple[BlockText, str]]:
    """Yield the access entries of a role, each with its type.

    Left out are those whose type is not known, and all of a role to which an access policy may give what nodes need.
    """
    near = find_root(made, blocks)
    for block in near:
        if block.kind == "aws_eks_access_policy_association":
            written = own_arguments(block.text).get("principal_arn", "")
            if names_role(written, block.source.path, made, blocks) is not False:
                return
    for block, written, path in list_entries(near):
        kind = own_arguments(block.text).get("type", '"STANDARD"')
        if kind.startswith('"') and "$" not in kind and names_role(written, path, made, blocks):
            yield block, kind.strip('"')


def list_node_groups(blocks: Sequence[BlockText]) -> Iterator[tuple[BlockText, str, str]]:
    """Yield (block, expression of the role, path of the file) for each managed node group and Fargate profile."""
    for block in blocks:
        if block.kind in _NODE_GROUPS:
            given = own_arguments(block.text)
            yield block, next((given[key] for key in _OF_GROUPS if key in given), ""), block.source.path


def names_role(written: str, path: str, made: MadeRole, blocks: TerraformBlocks) -> bool | None:
    """Return whether the value of an expression is a role. None if that is not known."""
    found = blocks.trace(written, path)
    if found is not None:
        block = blocks.find(found)
        if made.is_role_of(found):
            return True
        # A data source, or an output of a remote module, may be any role.
        is_other = found.address.startswith("aws_iam_role.") or (
            block is not None and not block.address.startswith("data.")
        )
        return False if is_other else None
    named = _ARN_NAME.match(blocks.fill(written, path))
    name = made.find_name(blocks)
    if named is None or name is None:
        return None
    return False if "${" not in named[1] and not may_be_text(name, named[1]) else None


def _may_give_access(block: BlockText, made: MadeRole, blocks: TerraformBlocks) -> bool:
    """Return whether a call of a remote module may give a role access: by the role or by unknown entries."""
    if not block.address.startswith("module.") or block == made.block:
        return False
    source = _SOURCE.search(block.text)
    if source is None or source[1].startswith(".") or is_karpenter_call(block):
        return False
    if re.search(r"\biam\b", source[1]):
        return False  # a policy that names the role
    if is_cluster(block):
        if re.match(r"(?:var|local|module|data)\.", own_arguments(block.text).get("access_entries", "")):
            return True
    elif re.search(r"access[-_]entr", f"{block.address} {source[1]}"):
        return True
    outputs = "|".join(map(re.escape, _list_outputs(made, blocks)))
    if outputs and re.search(rf"\b(?:module|dependency)\.[^\n]{{0,200}}\.(?:{outputs})\b", block.text):
        return True
    lines = [line for line in block.text.split("\n") if re.search(r"(?i)role|principal|access", line)]
    references = {reference for line in lines for reference in _REFERENCE.findall(line)}
    return any(made.is_role_of(blocks.trace(reference, block.source.path)) for reference in references)


def _list_outputs(made: MadeRole, blocks: TerraformBlocks) -> list[str]:
    """Return the names of the outputs in a role's folder whose value is the role."""
    outputs = blocks.list_outputs_of_folder(made.block.source.path)
    return [name for name, value, path in outputs if made.is_role_of(blocks.trace(value, path))]


def _is_role_module(block: BlockText) -> bool:
    """Return whether a block calls a remote module that creates a role for EC2 instances."""
    source = _SOURCE.search(block.text) if block.address.startswith("module.") else None
    if source is None or source[1].startswith("."):
        return False
    return re.search(r"\biam\b.{0,200}?\brole\b", source[1]) is not None and "ec2.amazonaws.com" in block.text


def list_made_roles(blocks: TerraformBlocks) -> Sequence[MadeRole]:
    """Return the roles that the files create for Karpenter's nodes, recognized by module or by name."""
    found = [MadeRole(call.block, call) for call in list_karpenter_calls(blocks) if call.makes_node_role]
    roles = (block for block in blocks.blocks if block.kind == "aws_iam_role")
    return [*found, *(MadeRole(block) for block in roles if _is_of_nodes(block))]


def _is_of_nodes(block: BlockText) -> bool:
    """Return whether a role is for Karpenter's nodes, by its name, its address and its folder."""
    folder = folder_of(block.source.path).replace("\\", "/").rpartition("/")[2]
    label = " ".join([folder, block.address, own_arguments(block.text).get("name", "")]).lower()
    return "karpenter" in label and "node" in label and "WebIdentity" not in block.text
