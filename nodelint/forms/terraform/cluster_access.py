"""Find clusters that Terraform creates and to whose API the files give nobody access, also not their creator."""

from __future__ import annotations

import re
from collections.abc import Iterator

from nodelint.base.tuples import NamedTuple
from nodelint.forms.terraform.helm_provider import newest_provider
from nodelint.forms.terraform.karpenter_calls import majors_of
from nodelint.forms.terraform.karpenter_roots import TerraformRoot
from nodelint.forms.terraform.terraform_blocks import BlockText, own_arguments
from nodelint.forms.terraform.terraform_trace import TerraformBlocks, folder_of

__all__ = ["ClosedCluster", "find_closed_clusters"]

_ACCESS_CONFIG = re.compile(r"(?m)^[ \t]*access_config[ \t]*\{([^{}]*)\}")
_CREATOR = "bootstrap_cluster_creator_admin_permissions"
_MODE = re.compile(r'authentication_mode[ \t]*=[ \t]*"(API|API_AND_CONFIG_MAP)"')
_MODULE = re.compile(r'(?m)^[ \t]*source[ \t]*=[ \t]*"(?:registry\.terraform\.io/)?terraform-aws-modules/eks/aws"')
_SINCE_MAJOR = 20
_FIRST_WITH_CREATOR = (5, 58)
"""The first version of the AWS provider that makes the creator an administrator by default.

Before hashicorp/terraform-provider-aws#38295 an `access_config` without the argument sent `false`.
"""
_PROVIDER = re.compile(r'(?m)^provider[ \t]+"(?:helm|kubernetes|kubectl)"[ \t]*\{')
_OF_CLUSTER = re.compile(r"aws_eks_cluster|\bmodule\.[\w-]+\.|get-token")
_APPLIED = re.compile(r"helm_release|kubernetes_\w+|kubectl_manifest")
_OF_NODES = re.compile(r'"(?:EC2|FARGATE|HYBRID|HYPERPOD)\w*"')
_OTHER_WAY = re.compile(
    r"access[-_ ]?entr|associate-access-policy|aws-auth|identity-?mapping|(?i:map_?(?:roles|users))"
)
"""Text of a block that may give access in a way that is not read."""


class ClosedCluster(NamedTuple):
    """A cluster whose creator gets no access.

    - `block`: the resource or the module call that creates it.
    - `user`: a resource that needs access to it.
    - `is_module`: whether it is a call of terraform-aws-modules/eks.
    """

    block: BlockText
    user: BlockText
    is_module: bool


def find_closed_clusters(path: str, blocks: TerraformBlocks) -> Iterator[ClosedCluster]:
    """Yield the clusters in a file whose root module gives nobody access and applies something to them."""
    for block in blocks.find_in(path):
        if block.kind != "aws_eks_cluster" and not (
            block.address.startswith("module.") and _MODULE.search(block.text)
        ):
            continue
        for root in blocks.list_roots_of(path):
            if _is_closed(block, root, blocks):
                user = _find_user(block, root, blocks)
                if user is not None:
                    yield ClosedCluster(block, user, not block.kind)
                    break


def _is_closed(cluster: BlockText, root: TerraformRoot, blocks: TerraformBlocks) -> bool:
    """Return whether a cluster certainly does not make its creator an administrator."""
    if not cluster.kind:
        majors, given = majors_of(cluster), own_arguments(cluster.text)
        if majors is None or majors[0] < _SINCE_MAJOR or given.get("access_entries", "{}") != "{}":
            return False
        creator = given.get("enable_cluster_creator_admin_permissions", "false")
        return blocks.flag(creator, cluster.source.path) is False
    config = _ACCESS_CONFIG.search(cluster.text)
    if config is None or _MODE.search(config[1]) is None:
        return False
    written = own_arguments(config[1]).get(_CREATOR)
    if written is not None:
        return blocks.flag(written, cluster.source.path) is False
    version = newest_provider(root.folder, "aws", blocks.module_files)
    return version is not None and version.is_before(_FIRST_WITH_CREATOR)


def _find_user(cluster: BlockText, root: TerraformRoot, blocks: TerraformBlocks) -> BlockText | None:
    """Return a resource of the root module that needs access to its only cluster.

    None if there is none, or if something in the root module may give access.
    """
    providers = [
        found.start()
        for file in blocks.files
        if folder_of(file.path) == root.folder
        for found in _PROVIDER.finditer(file.text)
        if _OF_CLUSTER.search(file.text[found.end() : file.text.find("\n}", found.end())]) is not None
    ]
    near = [block for block in blocks.blocks if folder_of(block.source.path) in root.folders]
    if not providers or any(_may_give_access(block) for block in near if block is not cluster):
        return None
    if any(block.kind == "aws_eks_cluster" or _MODULE.search(block.text) for block in near if block is not cluster):
        return None
    users = [block for block in near if block.kind and _APPLIED.fullmatch(block.kind)]
    ours = (
        block for block in users if block.kind == "helm_release" and "karpenter" in f"{block.address} {block.text}"
    )
    return next(ours, next(iter(users), None))


def _may_give_access(block: BlockText) -> bool:
    if block.kind == "aws_eks_access_entry":
        return _OF_NODES.fullmatch(own_arguments(block.text).get("type", "")) is None
    if block.kind in ("kubernetes_config_map", "kubernetes_config_map_v1_data", "kubectl_manifest"):
        return False
    return block.kind == "aws_eks_access_policy_association" or _OTHER_WAY.search(block.text) is not None
