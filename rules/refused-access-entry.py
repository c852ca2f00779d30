"""Terraform creates an access entry for a role that has one already, or for a cluster that accepts none: it fails.

If a cluster accepts access entries, EKS creates one for the role of each managed node group. Another entry for the
role is refused (`ResourceInUseException: The specified access entry resource is already in use on this cluster`). The
module `terraform-aws-modules/eks/aws//modules/karpenter` creates an entry from version 20 on, also for a role of its
argument `node_iam_role_arn`. For a role that has an entry, set `create_access_entry = false`. Whether a plan fails at
once depends on the order in which Terraform creates the node group and the entry.

EKS also creates an entry for the principal that creates the cluster, unless
`bootstrap_cluster_creator_admin_permissions = false`. Another entry for `data.aws_caller_identity` is refused.

There is no fix: the author chooses which of the two entries stays.

A cluster in the mode `CONFIG_MAP` accepts no access entries at all. It is the mode of an `aws_eks_cluster` without
`access_config`, and of version 19 of the module and older ones.

```yaml bad
# file: karpenter.tf
resource "aws_eks_node_group" "system" {
  cluster_name  = "main"
  node_role_arn = aws_iam_role.nodes.arn
}
resource "aws_iam_role" "nodes" {
  name = "nodes"
}
resource "aws_eks_access_entry" "karpenter" {
  cluster_name  = "main"
  principal_arn = aws_iam_role.nodes.arn
  type          = "EC2_LINUX"
}
```

```yaml good
# file: karpenter.tf
resource "aws_eks_node_group" "system" {
  cluster_name  = "main"
  node_role_arn = aws_iam_role.nodes.arn
}
resource "aws_iam_role" "nodes" {
  name = "nodes"
}
```

```yaml bad
# file: karpenter.tf
resource "aws_eks_cluster" "main" {
  name = "main"
}
resource "aws_iam_role" "karpenter_nodes" {
  name = "karpenter-nodes"
}
resource "aws_eks_access_entry" "karpenter" {
  cluster_name  = "main"
  principal_arn = aws_iam_role.karpenter_nodes.arn
  type          = "EC2_LINUX"
}
```

```yaml good diff=bad
   name = "main"
+  access_config {
+    authentication_mode = "API_AND_CONFIG_MAP"
+  }
```
"""

import re
from collections.abc import Iterator, Sequence

from nodelint.api import (
    Also,
    Context,
    Finding,
    Findings,
    Source,
    karpenter_calls,
    node_roles,
    rule,
    terraform_blocks,
    terraform_trace,
)

_MODE = re.compile(r"(?m)^[ \t]*authentication_mode[ \t]*=[ \t]*([^\n#]*)")
_BOOTSTRAP = re.compile(r"(?m)^[ \t]*bootstrap_cluster_creator_admin_permissions[ \t]*=[ \t]*+(?!true\b)")
_CREATOR = re.compile(r"data\.aws_(?:caller_identity|iam_session_context)\.")
_PER_ITEM = re.compile(r"(?m)^[ \t]*(?:count|for_each)[ \t]*=")
_FIRST_WITH_ENTRIES = 20
_ROLE_OUTPUTS = {"iam_role_arn", "iam_role_name"}


class _Entry:
    """An access entry: the block that creates it, the expression of its role, and a key that is equal for entries of
    the same role.
    """

    def __init__(self, block: "terraform_trace.BlockText", written: str, key: object) -> None:
        self.block, self.written, self.key = block, written, key


@rule(
    on=Source,
    group="correctness",
    subject="security",
    mentions=["aws_eks_access_entry", "modules/karpenter", "access_entries"],
    source=[
        "https://docs.aws.amazon.com/eks/latest/userguide/creating-access-entries.html",
        "https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateAccessConfigRequest.html",
        "https://github.com/terraform-aws-modules/terraform-aws-eks/blob/v21.18.0/modules/karpenter/main.tf",
    ],
)
def check(source: Source, context: Context) -> Findings:
    if not source.path.endswith(terraform_trace.ENDINGS):
        return
    blocks = context.run_files.terraform
    entries = list(_list_entries(blocks))
    for entry in entries:
        if entry.block.source is not source or node_roles.is_cluster(entry.block):
            continue
        cluster = _find_cluster(entry, blocks)
        other = _find_other(entry, entries, blocks)
        refused = _is_refusing(cluster) if cluster is not None else None
        if other is not None and not refused:
            yield _describe_other(entry, *other, blocks)
        elif cluster is not None and refused is None and _is_of_creator(entry, cluster, blocks):
            yield Finding(
                at=entry.block.at,
                message="the creator of the cluster has an access entry already: EKS refuses this one",
                severity="warning",
                also=[Also(cluster.at, "gives its creator access")],
                help="remove this access entry, or set `bootstrap_cluster_creator_admin_permissions = false`"
                if cluster.kind
                else "remove this access entry, or `enable_cluster_creator_admin_permissions`",
            )
        elif cluster is not None and refused is not None:
            yield Finding(
                at=entry.block.at,
                message="the cluster accepts no access entries (`CONFIG_MAP`): EKS refuses the entry",
                severity=None if refused else "warning",
                also=[Also(cluster.at, "in the mode `CONFIG_MAP`" if refused else "without `authentication_mode`")],
                help="set `authentication_mode` of the cluster to `API_AND_CONFIG_MAP` or `API`",
            )


def _is_of_creator(
    entry: _Entry, cluster: "terraform_trace.BlockText", blocks: "terraform_trace.TerraformBlocks"
) -> bool:
    """Return whether an entry is for the principal that runs Terraform, and its cluster gives that principal one."""
    found = blocks.trace(entry.written, entry.block.source.path) if entry.written else None
    if (
        found is None
        or not _CREATOR.match(f"{found.address}.")
        or found.attributes[-1:]
        not in (
            ("arn",),
            ("issuer_arn",),
        )
    ):
        return False
    if cluster.kind == "aws_eks_cluster":
        return _BOOTSTRAP.search(cluster.text) is None
    given = terraform_blocks.own_arguments(cluster.text)
    return given.get("enable_cluster_creator_admin_permissions") == "true"


def _list_entries(blocks: "terraform_trace.TerraformBlocks") -> Iterator[_Entry]:
    """Yield the access entries that the files create for known roles.

    Entries of modules come before those of resources.
    """
    for block in node_roles.list_clusters(blocks):
        given = terraform_blocks.own_arguments(block.text).get("access_entries", "")
        for written in terraform_trace.find_arguments(given, "principal_arn") if given.startswith("{") else ():
            yield _Entry(block, written, _key(written, block.source.path, blocks))
    for call in karpenter_calls.list_karpenter_calls(blocks):
        if call.makes_entry:
            path, folder = call.block.source.path, terraform_trace.folder_of(call.block.source.path)
            if call.makes_node_role:
                yield _Entry(call.block, "", (call.block.address, folder))
            elif call.makes_node_role is False and call.node_role_arn:
                yield _Entry(call.block, call.node_role_arn, _key(call.node_role_arn, path, blocks))
    for block, written, path in node_roles.list_entries(blocks.blocks):
        if not _PER_ITEM.search(block.text):
            yield _Entry(block, written, _key(written, path, blocks))


def _key(written: str, path: str, blocks: "terraform_trace.TerraformBlocks") -> object:
    """Return a value that is equal for expressions of the same role. None if the role is not known."""
    found = blocks.trace(written, path)
    block = blocks.find(found) if found is not None else None
    if found is None or block is None:
        return None
    if block.kind == "aws_iam_role":
        return found.address, found.folder
    if karpenter_calls.is_karpenter_call(block) and any(
        name.startswith("node_iam_role") for name in found.attributes
    ):
        return found.address, found.folder
    return None


def _find_other(
    entry: _Entry, entries: Sequence[_Entry], blocks: "terraform_trace.TerraformBlocks"
) -> "tuple[terraform_trace.BlockText, str] | None":
    """Return the block that creates another entry for the role, and a note on this entry. None if no block does."""
    traced = blocks.trace(entry.written, entry.block.source.path) if entry.written else None
    looked_up = (
        blocks.find(traced) if traced is not None and traced.address.startswith("data.aws_iam_role.") else None
    )
    if looked_up is not None:
        names = terraform_trace.find_arguments(looked_up.text, "name")[:1]
        traced = blocks.trace(names[0], looked_up.source.path) if names else None
    if traced is not None and "eks_managed_node_groups" in traced.attributes:
        group = blocks.find(traced)
        # A group of the module has a role of its own, unless another one is named for it.
        if group is not None and node_roles.is_cluster(group) and _ROLE_OUTPUTS & set(traced.attributes):
            return group, "EKS creates one for each managed node group"
    if entry.key is None:
        return None
    for block, written, path in node_roles.list_node_groups(blocks.blocks):
        # EKS keeps an entry that it finds: nothing is refused if the node group waits for it.
        waits = f"{entry.block.address}" in block.text and terraform_trace.folder_of(
            path
        ) == terraform_trace.folder_of(entry.block.source.path)
        is_same = block.kind == "aws_eks_node_group" and not waits and _key(written, path, blocks) == entry.key
        if is_same and blocks.may_share_root(entry.block.source.path, path):
            return block, f"EKS creates one for `{block.address}`"
    earlier = entries[: entries.index(entry)]
    return next(
        (
            (other.block, f"`{other.block.address}` creates one")
            for other in earlier
            if other.key == entry.key and blocks.may_share_root(entry.block.source.path, other.block.source.path)
        ),
        None,
    )


def _describe_other(
    entry: _Entry, other: "terraform_trace.BlockText", how: str, blocks: "terraform_trace.TerraformBlocks"
) -> Finding:
    is_call = karpenter_calls.is_karpenter_call(entry.block)
    is_later = _waits_for(entry.block, other, blocks)
    second = (
        "EKS refuses this one if the node group comes first"
        if other.kind == "aws_eks_node_group"
        else "EKS refuses the second one"
    )
    return Finding(
        at=entry.block.at,
        message="the role already has an access entry: EKS refuses this one"
        if is_later
        else f"this role has two access entries: {second}",
        note=how,
        severity=None if is_later or is_call else "warning",
        also=[Also(other.at, "has the role")],
        help="set `create_access_entry = false`" if is_call else "remove this access entry",
    )


def _waits_for(
    block: "terraform_trace.BlockText",
    other: "terraform_trace.BlockText",
    blocks: "terraform_trace.TerraformBlocks",
) -> bool:
    """Return whether Terraform creates a block after another one, because the block, or the call of its module,
    depends on the other.
    """
    folder, of_other = (terraform_trace.folder_of(b.source.path) for b in (block, other))
    if folder == of_other and re.search(rf"\b{re.escape(other.address)}\b", block.text):
        return True
    for call in blocks.calls_of(folder):
        depends = re.search(r"\bdepends_on\s*+=\s*+\[([^\][]*+)\]", call.text)
        named = re.findall(r"module\.[\w-]+", depends[1]) if depends is not None else []
        caller_folder = terraform_trace.folder_of(call.source.path)
        for address in named:
            if any(
                c.address == address and terraform_trace.folder_of(c.source.path) == caller_folder
                for c in blocks.calls_of(of_other)
            ):
                return True
    return False


def _find_cluster(entry: _Entry, blocks: "terraform_trace.TerraformBlocks") -> "terraform_trace.BlockText | None":
    """Return the block of the cluster of an entry: the cluster that the entry names, or the only one in its folder.

    None if the cluster is not known.
    """
    path = entry.block.source.path
    named = blocks.trace(terraform_blocks.own_arguments(entry.block.text).get("cluster_name", ""), path)
    block = blocks.find(named) if named is not None else None
    if block is not None and node_roles.is_cluster(block):
        return block
    clusters = [other for other in blocks.find_beside(path) if node_roles.is_cluster(other)]
    return clusters[0] if len(clusters) == 1 and named is None else None


def _is_refusing(cluster: "terraform_trace.BlockText") -> bool | None:
    """Return how a cluster treats access entries: True if it states that it refuses them, False if it refuses them by
    default, None if it does not refuse them or the version is not known.
    """
    mode = _MODE.search(cluster.text)
    if mode is not None:
        return True if mode[1].strip() == '"CONFIG_MAP"' else None
    if cluster.kind == "aws_eks_cluster":
        return None if "access_config" in cluster.text else False
    majors = karpenter_calls.majors_of(cluster)
    return False if majors is not None and majors[1] < _FIRST_WITH_ENTRIES else None
