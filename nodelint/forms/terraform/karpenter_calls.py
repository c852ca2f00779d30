"""Read calls of public Terraform modules that create Karpenter's IAM roles, and the effects of their arguments."""

from __future__ import annotations

import re
from functools import cached_property

from nodelint.base.types import TYPE_CHECKING
from nodelint.forms.terraform.terraform_blocks import BlockText, own_arguments

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nodelint.forms.terraform.terraform_trace import TerraformBlocks

__all__ = ["KarpenterCall", "is_karpenter_call", "list_karpenter_calls", "majors_of"]

_OF_EKS = re.compile(r'(?m)^[ \t]*source[ \t]*=[ \t]*"(?:[\w.-]+/)?terraform-aws-modules/eks/aws//modules/karpenter"')
_OF_ADDONS = re.compile(r'(?m)^[ \t]*source[ \t]*=[ \t]*"(?:[\w.-]+/)?aws-ia/eks-blueprints-addons/aws"')
_VERSION = re.compile(r'(?m)^[ \t]*version[ \t]*=[ \t]*"([^"\n]*)"')
_CONSTRAINT = re.compile(r"(=|!=|>=|<=|>|<|~>)?\s*v?(\d{1,4})((?:\.\d+)*)")
NEVER = float("inf")


class KarpenterCall:
    """A call of a public module that creates Karpenter's IAM roles.

    Its properties are None if they are not known.
    """

    def __init__(self, block: BlockText, blocks: TerraformBlocks) -> None:
        self.block = block
        self.is_addons = _OF_ADDONS.search(block.text) is not None
        self.given = own_arguments(block.text)
        self._blocks = blocks
        self._path = block.source.path

    @cached_property
    def majors(self) -> tuple[float, float] | None:
        """Return the oldest and the newest major version that the call allows. None if they are not known."""
        return majors_of(self.block)

    def allows_majors(self, oldest: int, newest: float = NEVER) -> bool:
        """Return whether only major versions from `oldest` to `newest` of terraform-aws-modules/eks are allowed."""
        majors = self.majors
        return not self.is_addons and majors is not None and oldest <= majors[0] and majors[1] <= newest

    def flag(self, name: str, default: bool) -> bool | None:
        """Return the boolean value of an argument, or `default` if the call does not set it.

        None if it is not known.
        """
        written = self.given.get(name, "null")
        return default if written == "null" else self._blocks.flag(written, self._path)

    @property
    def makes_node_role(self) -> bool | None:
        """Return whether the call creates the role of the nodes. None if that is not known."""
        if self.is_addons:
            create = self._of_nodes("create_iam_role")
            return create is None or (self._blocks.flag(create, self._path))
        if self.allows_majors(18, 19):
            return self.flag("create_iam_role", True)
        return self.flag("create_node_iam_role", True) if self.allows_majors(20) else None

    @property
    def node_role_arn(self) -> str | None:
        """Return the expression that the call passes as the ARN of the nodes' role. None if it passes none."""
        if self.is_addons:
            return self._of_nodes("iam_role_arn")
        return self.given.get("iam_role_arn" if self.allows_majors(18, 19) else "node_iam_role_arn")

    @property
    def node_role_name(self) -> tuple[str, bool] | None:
        """Return the name of the nodes' role that the call creates, and whether Terraform adds a random suffix to it.

        The name is a quoted string, possibly with references. None if the call creates no role, or if its name is not
        known.
        """
        if self.makes_node_role is not True:
            return None
        if self.is_addons:
            name = self._of_nodes("iam_role_name")
            prefix = self._of_nodes("iam_role_use_name_prefix")
            has_suffix = True if prefix is None else self._blocks.flag(prefix, self._path)
        else:
            key = "iam_role" if self.allows_majors(18, 19) else "node_iam_role"
            name, has_suffix = self.given.get(f"{key}_name"), self.flag(f"{key}_use_name_prefix", True)
        if has_suffix is None:
            return None
        cluster = self.given.get("cluster_name", "")
        if name is not None and name != "null":
            filled = self._blocks.fill(name, self._path)
        else:
            inner = cluster[1:-1] if cluster.startswith('"') else f"${{{cluster}}}"
            written = f'"{"karpenter" if self.is_addons else "Karpenter"}-{inner}"'
            filled = self._blocks.fill(written, self._path) if cluster else ""
        return (filled, has_suffix) if filled.startswith('"') else None

    @property
    def makes_entry(self) -> bool | None:
        """Return whether the call creates an access entry for the nodes' role. None if that is not known."""
        if self.is_addons or self.allows_majors(18, 19):
            return False
        return self.flag("create_access_entry", True) if self.allows_majors(20) else None

    @property
    def trusts_web_identity(self) -> bool | None:
        """Return whether the controller's role trusts the OIDC provider (IRSA). None if that is not known."""
        if self.is_addons:
            return True
        if self.allows_majors(18, 19):
            return self.flag("create_irsa", True)
        if self.allows_majors(21):
            documents = ("iam_role_override_assume_policy_documents", "iam_role_source_assume_policy_documents")
            return None if any(name in self.given for name in documents) else False
        return self.flag("enable_irsa", False) if self.allows_majors(20, 20) else None

    @property
    def makes_association(self) -> bool | None:
        """Return whether the call creates an EKS Pod Identity association for the controller's role.

        None if that is not known.
        """
        if self.is_addons or self.allows_majors(18, 19):
            return False
        if self.allows_majors(20, 20):
            made = (self.flag("enable_pod_identity", True), self.flag("create_pod_identity_association", False))
            return False if False in made else None if None in made else True
        return self.flag("create_pod_identity_association", True) if self.allows_majors(21) else None

    def _of_nodes(self, key: str) -> str | None:
        """Return the expression of a key in the argument `karpenter_node`. None if there is none."""
        written = self.given.get("karpenter_node", "")
        return own_arguments(written.strip()[1:-1]).get(key) if written.startswith("{") else None


def list_karpenter_calls(blocks: TerraformBlocks) -> Sequence[KarpenterCall]:
    """Return the calls that create Karpenter's roles. Calls that are disabled are left out."""
    found: Sequence[KarpenterCall] = blocks.once(list_karpenter_calls, lambda: tuple(_find_calls(blocks)))
    return found


def _find_calls(blocks: TerraformBlocks) -> Iterator[KarpenterCall]:
    for block in filter(is_karpenter_call, blocks.blocks):
        call = KarpenterCall(block, blocks)
        switches = ("enable_karpenter", "create") if call.is_addons else ("create",)
        if not any(call.flag(name, True) is False for name in switches):
            yield call


def is_karpenter_call(block: BlockText) -> bool:
    """Return whether a block calls a public module that creates Karpenter's roles."""
    return block.address.startswith("module.") and (
        _OF_EKS.search(block.text) is not None
        or (_OF_ADDONS.search(block.text) is not None and "enable_karpenter" in block.text)
    )


def majors_of(block: BlockText) -> tuple[float, float] | None:
    """Return the oldest and the newest major version that a module call allows.

    None if it has no version, or if the version cannot be read.
    """
    written = _VERSION.search(block.text)
    if written is None:
        return None
    oldest: float = 0
    newest: float = NEVER
    for part in written[1].split(","):
        found = _CONSTRAINT.fullmatch(part.strip())
        if found is None:
            return None
        sign, major, rest = found[1] or "=", int(found[2]), found[3]
        if sign in ("=", "~>", ">=", ">"):
            oldest = max(oldest, major)
        if sign == "=" or (sign == "~>" and rest) or sign == "<=" or (sign == "<" and rest.strip(".0")):
            newest = min(newest, major)
        elif sign == "<":
            newest = min(newest, major - 1)
    return (oldest, newest) if oldest <= newest else None
