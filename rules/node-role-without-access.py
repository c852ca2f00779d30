"""Terraform creates the role of the nodes next to the cluster but gives it no access, so nodes never join.

A cluster with `authentication_mode = "API"` does not read the ConfigMap `aws-auth`. A node may register only if an
access entry (`aws_eks_access_entry` of type `EC2_LINUX` or `EC2_WINDOWS`) names its role. EKS creates such an entry
for managed node groups. The module `karpenter` of terraform-aws-modules/eks creates one as well. Other roles need
their own entry.

The rule reads `aws_eks_cluster`, and the module `terraform-aws-modules/eks/aws` from version 21 on if it is set to
`API` (its default is `API_AND_CONFIG_MAP`). It reports nothing if an access entry of the folder may name the role, if
a node group has the role, or if another folder may create the entry.

An entry without a `type` is one of type `STANDARD`, for people and tools. Nodes with it have no name of a node and
are not in the group `system:nodes`. The rule reports it if Terraform creates the entry for the role of the class.

A cluster in the mode `CONFIG_MAP` accepts nodes only by `mapRoles` of `aws-auth`. A cluster in `API_AND_CONFIG_MAP`
accepts both. If the repository contains `aws-auth`, as YAML or in Terraform, and each row clearly names another role,
the rule reports that as well. The severity is info unless the mode is stated, because an entry may exist
elsewhere.

Where Terraform makes both the cluster and the role of Karpenter's nodes, in whatever folders, and no file holds an
access entry for nodes (`EC2_LINUX`), `aws-auth`, or a module that makes either, nothing gives the role access: a
warning for a cluster in the mode `API`, else info.

```yaml bad
# file: main.tf
resource "aws_eks_cluster" "this" {
  name     = "main"
  role_arn = aws_iam_role.cluster.arn
  vpc_config {
    subnet_ids = var.subnet_ids
  }
  access_config {
    authentication_mode = "API"
  }
}
resource "aws_iam_role" "node" {
  name               = "karpenter-node"
  assume_role_policy = data.aws_iam_policy_document.ec2.json
}
resource "kubectl_manifest" "class" {
  yaml_body = <<-YAML
    apiVersion: karpenter.k8s.aws/v1
    kind: EC2NodeClass
    metadata:
      name: default
    spec:
      role: ${aws_iam_role.node.name}
      amiSelectorTerms: [{alias: al2023@v20260714}]
      subnetSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
      securityGroupSelectorTerms: [{id: sg-0f3a91c2b7d45e608}]
  YAML
}
```

```yaml good diff=bad
   }
 }
+resource "aws_eks_access_entry" "node" {
+  cluster_name  = aws_eks_cluster.this.name
+  principal_arn = aws_iam_role.node.arn
+  type          = "EC2_LINUX"
+}
```

```yaml bad
# file: aws-auth.yaml
apiVersion: v1
kind: ConfigMap
metadata: {name: aws-auth, namespace: kube-system}
data:
  mapRoles: |
    - rolearn: arn:aws:iam::111122223333:role/managed-nodes
      username: system:node:{{EC2PrivateDNSName}}
      groups: [system:bootstrappers, system:nodes]
# file: class.yaml
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: default
spec:
  role: karpenter-nodes
  amiSelectorTerms: [{alias: al2023@v20260714}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
  securityGroupSelectorTerms: [{id: sg-0f3a91c2b7d45e608}]
```

```yaml good diff=bad
-    - rolearn: arn:aws:iam::111122223333:role/managed-nodes
+    - rolearn: arn:aws:iam::111122223333:role/karpenter-nodes
```
"""

import os
import re
from collections.abc import Sequence
from functools import partial

from nodelint.api import (
    UNKNOWN,
    Also,
    Context,
    EC2NodeClass,
    Finding,
    Findings,
    Node,
    Source,
    aws_auth,
    karpenter_calls,
    node_roles,
    rule,
    terraform_blocks,
    terraform_trace,
)

_MODE = r'(?m)\bauthentication_mode\s*=\s*"API"'
_OTHER_ACCESS = r"(?i)access[-_ ]?entr|identity[-_]?mapping|modules/karpenter\b|eks-blueprints-addon"
_ONLY_MAP = r'(?m)\bauthentication_?[mM]ode["\']?\s*[=:]\s*["\']?CONFIG_MAP\b'
_MODE_WITH_ENTRIES = r'(?m)\bauthentication_?[mM]ode["\']?\s*[=:]\s*["\']?API'
_BY_ENTRY = r"(?i)EC2_(?:LINUX|WINDOWS)|create-access-entry"
_ANY_ACCESS = rf"{_BY_ENTRY}|aws[-_]auth|map_?roles|identity[-_]?mapping"
_AUTH_MODULE = r'(?m)^[ \t]*source[ \t]*=[ \t]*"\.[^"\n]*aws[-_]auth[^"\n]*"'
_WITH_ENTRIES = 20
"""The first major version of terraform-aws-modules/eks whose clusters accept access entries by default."""
_NODE_GROUPS = ("aws_eks_node_group", "aws_eks_fargate_profile")


@rule(
    on=Source,
    group="correctness",
    severity="warning",
    subject="security",
    mentions=["karpenter.k8s.aws/v1"],
    source=[
        "https://docs.aws.amazon.com/eks/latest/userguide/access-entries.html",
        "https://karpenter.sh/docs/getting-started/getting-started-with-karpenter/",
    ],
)
def check(source: Source, context: Context) -> Findings:
    specs = [spec for obj in context.run_files.classes_of(source) if (spec := obj.node.get("spec")) is not None]
    roles = [role for spec in specs if (role := spec.get("role")) is not None]
    if roles:
        yield from _without_row(roles, context)
    if not specs or not context.run_files.has_terraform:
        return
    blocks = context.run_files.terraform
    clusters = node_roles.list_clusters(blocks)
    profiles = [profile for spec in specs if (profile := spec.get("instanceProfile")) is not None]
    for role in [*roles, *profiles] if clusters else ():
        made = _find_made(role, blocks)
        if made is None:
            continue
        if node_roles.find_access(made, blocks) is False:
            yield from _without_entry(role, made, context)
        else:
            yield from _of_people(role, made, blocks)


def _of_people(role: Node, made: "node_roles.MadeRole", blocks: "terraform_trace.TerraformBlocks") -> Findings:
    """Yield a finding for a role whose access entry has the type `STANDARD`.

    This type is for people, and nodes with such an entry do not join.
    """
    for entry, kind in node_roles.list_types(made, blocks):
        if kind == "STANDARD":
            yield Finding(
                at=role,
                message="the access entry of this role has type `STANDARD`: its nodes do not join the cluster",
                note="EKS gives nodes their name and the group `system:nodes` only by an entry of type `EC2_LINUX`",
                also=[Also(entry.at, "this access entry has type `STANDARD`")],
                help='set `type = "EC2_LINUX"`, without access policies',
                once=True,
            )


def _without_entry(role: Node, made: "node_roles.MadeRole", context: Context) -> Findings:
    """Yield a finding for a role that has no access entry and is not the role of a node group.

    The rule reports nothing if `aws-auth` may give the role access.
    """
    blocks = context.run_files.terraform
    folder = os.path.dirname(made.block.source.path)
    near = node_roles.find_root(made, blocks)
    clusters = [block for block in near if node_roles.is_cluster(block)]
    own_clusters = [block for block in clusters if os.path.dirname(block.source.path) == folder]
    ours = own_clusters if len(own_clusters) == 1 else clusters
    only_entries = all(re.search(_MODE, block.text) for block in ours)
    paths = {block.source.path for block in near}
    if any(_may_admit(file, only_entries, blocks) for file in blocks.files if file.path in paths):
        return
    stating = context.run_files.files_with(re.compile(_BY_ENTRY if only_entries else _ANY_ACCESS), around=True)
    if any(not file.path.endswith((".md", *terraform_blocks.ENDINGS)) for file in stating):
        return
    # Rows of `aws-auth` are often added by hand to a cluster of the old way.
    has_entries = only_entries or all(_accepts_entries(block) for block in ours)
    address = made.block.address
    yield Finding(
        at=role,
        message=f"no access entry names the role of `{address}`: its nodes never join the cluster"
        if only_entries
        else f"nothing here gives the role of `{address}` access to the cluster: its nodes never join without it",
        severity=None if has_entries else "info",
        also=[
            Also(made.block.at, "creates the role"),
            Also(ours[0].at, "accepts access entries only (`API`)" if only_entries else "this is the cluster"),
        ],
        help="add `aws_eks_access_entry` with the role's ARN and type `EC2_LINUX`",
        once=True,
    )


def _accepts_entries(cluster: "terraform_trace.BlockText") -> bool:
    """Return whether a cluster accepts access entries: its block sets an authentication mode with API, or a module
    version with this default.
    """
    majors = karpenter_calls.majors_of(cluster)
    return re.search(_MODE_WITH_ENTRIES, cluster.text) is not None or (
        majors is not None and majors[0] >= _WITH_ENTRIES
    )


def _find_made(role: Node, blocks: "terraform_trace.TerraformBlocks") -> "node_roles.MadeRole | None":
    """Return the Terraform block that creates the role of a class, or the role of its instance profile.

    None if the block is not known for certain.
    """
    is_role = role.parent is None or role.parent.get("role") is role
    found = node_roles.find_made_role(role, blocks) if is_role or role.value is UNKNOWN else None
    if found is not None or not isinstance(role.value, str):
        return found
    made = node_roles.list_made_roles(blocks)
    if is_role:
        named = [
            candidate for candidate in made if candidate.find_name(blocks) and candidate.may_have(role.value, blocks)
        ]
        # The roles of a module that adds a suffix have no name that a class could state: `role-of-another-name`.
        return named[0] if len(named) == 1 else made[0] if len(made) == 1 and made[0].call is not None else None
    profiles = [block for block in blocks.blocks if block.kind == "aws_iam_instance_profile"]
    ours = [
        candidate
        for candidate in made
        for profile in profiles
        if any(
            candidate.is_role_of(blocks.trace(text, profile.source.path))
            for text in terraform_trace.find_arguments(profile.text, "role")[:1]
        )
        and any(
            terraform_trace.may_be_text(text, role.value) and text.startswith('"')
            for name in terraform_trace.find_arguments(profile.text, "name")[:1]
            for text in [blocks.fill(name, profile.source.path)]
        )
    ]
    return ours[0] if len(ours) == 1 else None


def _may_admit(file: Source, only_entries: bool, blocks: "terraform_trace.TerraformBlocks") -> bool:
    """Return whether a Terraform file may give a role access in a form that the rule does not read, such as a row or
    a text of `aws-auth`.
    """
    text = file.text
    for block in blocks.find_in(file.path):
        # Entries that are read name another role, and so do the modules whose calls are read.
        if block.kind == "aws_eks_access_entry" or karpenter_calls.is_karpenter_call(block):
            text = text.replace(block.text, "")
        elif _makes_no_row(block):
            text = text.replace(block.text, "").replace(block.address.partition(".")[2], "")
    if re.search(_BY_ENTRY if only_entries else _ANY_ACCESS, text) is None:
        return False
    return only_entries or not _is_uncalled_map(file, blocks)


def _is_uncalled_map(file: Source, blocks: "terraform_trace.TerraformBlocks") -> bool:
    """Return whether a file belongs to a module for `aws-auth` that is called, but never with a role."""
    calls = blocks.calls_of(terraform_trace.folder_of(file.path))
    return bool(calls) and all(map(_makes_no_row, calls))


def _makes_no_row(call: "terraform_trace.BlockText") -> bool:
    """Return whether a block calls a local module for `aws-auth` and passes no role."""
    of_module = re.search(_AUTH_MODULE, call.text)
    return of_module is not None and "role" not in call.text.replace(of_module[0], "").lower()


def _without_row(roles: Sequence[Node], context: Context) -> Findings:
    """Yield a finding for roles without a row in the `aws-auth` of the files.

    The rule reports nothing if there is no `aws-auth`, or another file may give access.
    """
    # Words alone are found quickly, and most runs have none of them.
    if not any(context.run_files.is_in_files(word, around=True) for word in ("mapRoles", "aws_auth_roles")):
        return
    if not context.run_files.is_in_files(re.compile(aws_auth.MAP), around=True) or context.run_files.is_in_files(
        re.compile(_OTHER_ACCESS), around=True
    ):
        return
    blocks = context.run_files.terraform
    holding = context.run_files.files_with(re.compile(aws_auth.MAP), around=True)
    maps = aws_auth.find_nearest([found for file in holding for found in aws_auth.list_maps(file)], roles[0])
    yield from _with_wrong_row(roles, maps, context)
    listed = aws_auth.list_roles(maps)
    if None in listed or not any("system:nodes" in text for text, _ in maps) or aws_auth.is_filled(maps):
        return
    # A list with another class nearer to it is of that one's cluster.
    for obj in context.objects if len({os.path.dirname(at.source.path) for _, at in maps}) == 1 else ():
        other = obj.node.find("spec", "role") if isinstance(obj, EC2NodeClass) else None
        at, here = maps[0][1], roles[0]
        if other is not None and aws_auth.count_shared_folders(other, at) > aws_auth.count_shared_folders(here, at):
            return
    only = _is_mode_stated(re.compile(_ONLY_MAP), context) and not _is_mode_stated(
        re.compile(_MODE_WITH_ENTRIES), context
    )
    for role in roles:
        found = node_roles.find_made_role(role, blocks) if context.run_files.has_terraform else None
        made = found.block if found is not None and found.call is None else None
        names = {made.address} if made is not None else set()
        if found is not None and made is not None:
            names.add((found.find_name(blocks) or made.address).strip('"'))
        if isinstance(role.value, str):
            names.add(role.value)
        if not names or names & listed or (made is not None and any(_admits(b, made.address) for b in blocks.blocks)):
            continue
        yield Finding(
            at=role,
            message="no row of `aws-auth` names this role: nodes with it never join the cluster"
            if only
            else "no row of `aws-auth` names this role: nodes with it join only if an access entry names it",
            severity=None if only else "info",
            also=[Also(at, "only these roles may join") for _, at in maps[:1]],
            help="add its ARN to `mapRoles`, with the groups `system:bootstrappers` and `system:nodes`",
        )


def _with_wrong_row(roles: Sequence[Node], maps: Sequence[aws_auth.RoleList], context: Context) -> Findings:
    """Yield a finding for roles whose only row, in a file without the word Karpenter, does not let nodes join.

    `unmatched-aws-auth-row` reports rows in the files of the run.
    """
    judged = {file.path for file in context.files}
    paths = {at.source.path for _, at in maps} - judged
    files = context.run_files.files_with(re.compile(aws_auth.MAP), around=True) if paths else ()
    others = {file.path: file for file in files if file.path in paths}
    rows = [row for file in others.values() for row in aws_auth.list_rows(file)]
    for role in roles:
        ours = [row for row in rows if row.role == role.value]
        if len(ours) != 1:
            continue
        groups = ours[0].groups
        has_path = ours[0].arn.count("/") > 1
        if has_path or (groups is not None and groups.isdisjoint({"system:nodes", "system:masters"})):
            yield Finding(
                at=role,
                message="the row of this role in `aws-auth` has the path of the role: it matches no node"
                if has_path
                else "the row of this role in `aws-auth` lacks the group `system:nodes`: its nodes do not join",
                severity="error",
                also=[Also(ours[0].at, "this row")],
                help=f"write `role/{role.value}`"
                if has_path
                else "write `groups: [system:bootstrappers, system:nodes]`",
            )


def _is_mode_stated(pattern: re.Pattern[str], context: Context) -> bool:
    """Return whether a file of the run, or a Terraform block near the files, matches a pattern of an authentication
    mode.
    """
    return context.run_files.is_in_files(pattern, around=True) or any(
        file.once((_is_in_blocks, pattern), partial(_is_in_blocks, file, pattern))
        for file in context.run_files.terraform.files
    )


def _is_in_blocks(file: Source, pattern: re.Pattern[str]) -> bool:
    return any(pattern.search(block.text) for block in terraform_blocks.find_blocks(file))


def _admits(block: "terraform_trace.BlockText", role: str) -> bool:
    return (block.kind in _NODE_GROUPS or block.address.startswith("module.")) and f"{role}." in block.text
