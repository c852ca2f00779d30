"""Terraform creates the role of the nodes next to the cluster but gives it no access, so nodes never join.

A cluster with `authentication_mode = "API"` does not read the ConfigMap `aws-auth`. A node may register only if an
access entry (`aws_eks_access_entry` of type `EC2_LINUX` or `EC2_WINDOWS`) names its role. EKS creates such an entry
for managed node groups. The module `karpenter` of terraform-aws-modules/eks creates one as well. Other roles need
their own entry.

The rule reads `aws_eks_cluster`, and the module `terraform-aws-modules/eks/aws` from version 21 on if it is set to
`API` (its default is `API_AND_CONFIG_MAP`). It reports nothing if an access entry of the folder may name the role, if
a node group has the role, or if another folder may create the entry.

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
  name = "main"
  access_config {
    authentication_mode = "API"
  }
}
resource "aws_iam_role" "node" {
  name = "karpenter-node"
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
      securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
  YAML
}
```

```yaml good
# file: main.tf
resource "aws_eks_cluster" "this" {
  name = "main"
  access_config {
    authentication_mode = "API"
  }
}
resource "aws_eks_access_entry" "node" {
  cluster_name  = aws_eks_cluster.this.name
  principal_arn = aws_iam_role.node.arn
  type          = "EC2_LINUX"
}
resource "aws_iam_role" "node" {
  name = "karpenter-node"
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
      securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
  YAML
}
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
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
```

```yaml good
# file: aws-auth.yaml
apiVersion: v1
kind: ConfigMap
metadata: {name: aws-auth, namespace: kube-system}
data:
  mapRoles: |
    - rolearn: arn:aws:iam::111122223333:role/karpenter-nodes
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
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
```
"""

import os
import re
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import takewhile

from nodelint.api import (
    UNKNOWN,
    Also,
    Context,
    EC2NodeClass,
    Finding,
    Findings,
    Node,
    Source,
    Span,
    rule,
    terraform_blocks,
    terraform_trace,
)

_MODE = r'(?m)\bauthentication_mode\s*=\s*"API"'
_ENTRIES = r"(?m)^[ \t]*access_entries\s*="
_CLUSTER = r'(?m)^[ \t]*source\s*=\s*"[^"\n]*(?:terraform-aws-modules/eks/aws|terraform-aws-eks(?:\.git)?)["?]'
_BRINGS_ENTRY = r"modules/karpenter\b|access[-_]entr|blueprints"
_ROLE = r"aws_iam_role\.[\w-]+\.arn"
_OTHER_ACCESS = r"(?i)access[-_ ]?entr|identity[-_]?mapping|modules/karpenter\b|eks-blueprints-addon"
_ONLY_MAP = r'(?m)\bauthentication_?[mM]ode["\']?\s*[=:]\s*["\']?CONFIG_MAP\b'
_MODE_WITH_ENTRIES = r'(?m)\bauthentication_?[mM]ode["\']?\s*[=:]\s*["\']?API'
_MAP = r"\bmapRoles\b|\baws_auth_roles\b"
_ROW = r"""(?m)\brole_?arn["']?[ \t]*+[=:][ \t]*+([^\n,}]++)"""
_LINE_START = r"(?m)^([ \t]*+)(?=[^\s#\-\]})])"
_ANY_ACCESS = (
    r"(?i)EC2_(?:LINUX|WINDOWS)|aws[-_]auth|map_?roles|identity[-_]?mapping|//modules/karpenter\b|eks-blueprints"
)
_OUTPUT = r'(?m)^output[ \t]+"([\w-]+)"[ \t]*\{([^}]{0,2000})'
_PLAIN_ARN = r"arn:aws[\w-]*:iam::\d+:role/(?:[\w+=,.@/-]+/)?([\w+=,.@-]+)"
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
    reported = False
    for role in roles:
        made = _find_role(role, blocks)
        if made is None:
            continue
        folder = os.path.dirname(made.source.path)
        every = [block for block in blocks.blocks if _is_cluster(block)]
        clusters = [block for block in every if os.path.dirname(block.source.path) == folder]
        if len(clusters) != 1 or not re.search(_MODE, clusters[0].text):
            continue
        # Of several clusters each has its entries beside it; those of the only one may stand in another folder.
        near = [b for b in blocks.blocks if len(every) == 1 or os.path.dirname(b.source.path) == folder]
        if any(_may_admit(block, made.address) for block in near):
            continue
        yield Finding(
            at=role,
            message=f"no access entry names `{made.address}`: nodes with this role never join the cluster",
            also=[Also(clusters[0].at, "accepts access entries only (`API`)"), Also(made.at, "the role")],
            help="add `aws_eks_access_entry` with the role's ARN and type `EC2_LINUX`",
        )
        reported = True
    if not reported:
        profiles = [profile for spec in specs if (profile := spec.get("instanceProfile")) is not None]
        yield from _without_anything([*roles, *profiles], context, blocks)


def _without_anything(roles: Sequence[Node], context: Context, blocks: "terraform_trace.TerraformBlocks") -> Findings:
    """Roles to which nothing in the files gives access, while Terraform makes the cluster and the role."""
    clusters = [block for block in blocks.blocks if _is_cluster(block)]
    made = [block for block in blocks.blocks if block.kind == "aws_iam_role" and _is_of_nodes(block)]
    stating = context.run_files.files_with(re.compile(_ANY_ACCESS), around=True) if clusters and made else ()
    if not clusters or not made or any(not file.path.endswith(".md") for file in stating):
        return
    if any(re.search(_ANY_ACCESS, file.text) for file in blocks.files) or any(map(_may_name_entries, blocks.blocks)):
        return
    for role in roles:
        ours = [block for block in made if _may_be_made_by(role, block, blocks)]
        if len(ours) != 1 or _is_given_elsewhere(ours[0], blocks):
            continue
        if any(b.kind == "aws_eks_access_entry" and _may_admit(b, ours[0].address) for b in blocks.blocks):
            continue
        only_entries = all(re.search(_MODE, block.text) for block in clusters)
        yield Finding(
            at=role,
            message="nothing here gives the role of the nodes access to the cluster: its nodes never join"
            if only_entries
            else "nothing here gives the role of the nodes access to the cluster: its nodes join only if it has it",
            severity=None if only_entries else "info",
            also=[Also(ours[0].at, "the role"), Also(clusters[0].at, "the cluster")],
            help="add `aws_eks_access_entry` with the role's ARN and type `EC2_LINUX`",
            once=True,
        )


def _is_of_nodes(block: "terraform_trace.BlockText") -> bool:
    """Whether a role is, by its names and its folder, that of Karpenter's nodes."""
    folder = os.path.basename(os.path.dirname(block.source.path))
    label = " ".join([folder, block.address, *terraform_trace.find_arguments(block.text, "name")[:1]]).lower()
    return "karpenter" in label and "node" in label and "WebIdentity" not in block.text


def _may_be_made_by(
    role: Node, block: "terraform_trace.BlockText", blocks: "terraform_trace.TerraformBlocks"
) -> bool:
    """Whether a class's role, or the role of its profile, may be one that a block makes, by its name as written."""
    if not isinstance(role.value, str):
        made = _find_role(role, blocks) if role.value is UNKNOWN else None
        return made is not None and made.address == block.address
    parent = role.parent
    if parent is None or parent.get("role") is role:
        named = [block]
    else:
        profiles = (
            other for other in blocks.find_beside(block.source.path) if other.kind == "aws_iam_instance_profile"
        )
        named = [profile for profile in profiles if f"{block.address}." in profile.text]
    written = [name for other in named for name in terraform_trace.find_arguments(other.text, "name")[:1]]
    return any(terraform_trace.may_be_text(text, role.value) for text in _follow_locals(written, block, blocks))


def _follow_locals(
    written: Sequence[str], near: "terraform_trace.BlockText", blocks: "terraform_trace.TerraformBlocks"
) -> Iterator[str]:
    """The texts that expressions are, those of locals in the place of their names; none for any other expression."""
    for text in written:
        if text.startswith('"'):
            yield text
        elif text.startswith("local."):
            name = re.compile(rf'(?m)^[ \t]*+{re.escape(text[6:])}[ \t]*+=[ \t]*+("[^"\n]*")')
            folder = os.path.dirname(near.source.path)
            for file in blocks.files:
                if os.path.dirname(file.path) == folder:
                    yield from name.findall(file.text)[:1]


def _may_name_entries(block: "terraform_trace.BlockText") -> bool:
    """Whether a block takes access entries, or their types, from elsewhere."""
    entries = terraform_trace.find_arguments(block.text, "access_entries")
    if any(re.match(r"(?:var|local|module|data)\.", text) for text in entries):
        return True
    types = terraform_trace.find_arguments(block.text, "type") if block.kind == "aws_eks_access_entry" else []
    return any(not text.startswith('"') for text in types)


def _is_given_elsewhere(made: "terraform_trace.BlockText", blocks: "terraform_trace.TerraformBlocks") -> bool:
    """Whether a node group or a module takes the role, by its address or by an output of its folder."""
    folder = os.path.dirname(made.source.path)
    near = [file for file in blocks.files if os.path.dirname(file.path) == folder]
    outputs = [name for file in near for name, body in re.findall(_OUTPUT, file.text) if f"{made.address}." in body]
    named = (
        re.compile(rf"\b(?:module|dependency)\.[^\n]{{0,200}}\.(?:{'|'.join(map(re.escape, outputs))})\b")
        if outputs
        else None
    )
    return any(
        (block.kind in _NODE_GROUPS or block.address.startswith("module."))
        and (f"{made.address}." in block.text or (named is not None and named.search(block.text) is not None))
        for block in blocks.blocks
    )


def _find_role(role: Node, blocks: "terraform_trace.TerraformBlocks") -> "terraform_trace.BlockText | None":
    """Return the `aws_iam_role` that a class names, by a reference or by its name; None if no file makes it."""
    if role.value is UNKNOWN:
        found = blocks.trace(role.source.text[role.start : role.end], role.source.path)
        made = blocks.find(found) if found is not None else None
        return made if made is not None and made.kind == "aws_iam_role" else None
    named = [
        block
        for block in blocks.blocks
        if block.kind == "aws_iam_role"
        and terraform_trace.find_arguments(block.text, "name")[:1] == [f'"{role.value}"']
    ]
    return named[0] if len(named) == 1 else None


def _is_cluster(block: "terraform_trace.BlockText") -> bool:
    return block.kind == "aws_eks_cluster" or (
        block.address.startswith("module.") and re.search(_CLUSTER, block.text) is not None
    )


def _may_admit(block: "terraform_trace.BlockText", role: str) -> bool:
    """Whether a block gives a role access to the cluster, or may: an entry may name it in a form that is not read."""
    if block.kind == "aws_eks_access_entry":
        named = terraform_trace.find_arguments(block.text, "principal_arn")
        # An entry that is written in another form, with `for_each` for instance, may name any role.
        return not named or any(not re.fullmatch(_ROLE, text) or f"{role}." in text for text in named)
    if block.kind in _NODE_GROUPS:
        return f"{role}." in block.text
    if not block.address.startswith("module."):
        return False
    return re.search(_BRINGS_ENTRY, block.text) is not None or (
        (re.search(_ENTRIES, block.text) is not None or not _is_cluster(block)) and f"{role}." in block.text
    )


def _without_row(roles: Sequence[Node], context: Context) -> Findings:
    """Yield a finding for roles that no row of `aws-auth` names, where one is here, and nothing else gives access."""
    # Words alone are found quickly, and most runs have none of them.
    if not any(context.run_files.is_in_files(word, around=True) for word in ("mapRoles", "aws_auth_roles")):
        return
    if not context.run_files.is_in_files(re.compile(_MAP), around=True) or context.run_files.is_in_files(
        re.compile(_OTHER_ACCESS), around=True
    ):
        return
    blocks = context.run_files.terraform
    holding = context.run_files.files_with(re.compile(_MAP), around=True)
    every = [found for file in holding for found in file.once(_list_maps, partial(_list_maps, file))]
    maps = _find_nearest(every, roles[0])
    listed = _list_roles(maps)
    # A list that a template fills may have any row.
    filled = (at.source.once((_is_filled, text), partial(_is_filled, text)) for text, at in maps)
    if None in listed or not any("system:nodes" in text for text, _ in maps) or any(filled):
        return
    # A list with another class nearer to it is of that one's cluster.
    for obj in context.objects if len({os.path.dirname(at.source.path) for _, at in maps}) == 1 else ():
        other = obj.node.find("spec", "role") if isinstance(obj, EC2NodeClass) else None
        at, here = maps[0][1], roles[0]
        if other is not None and _shared(other, at) > _shared(here, at):
            return
    only = _is_mode_stated(re.compile(_ONLY_MAP), context) and not _is_mode_stated(
        re.compile(_MODE_WITH_ENTRIES), context
    )
    for role in roles:
        made = _find_role(role, blocks) if context.run_files.has_terraform else None
        names = {made.address} if made is not None else set()
        if made is not None:
            names.update(text.strip('"') for text in terraform_trace.find_arguments(made.text, "name")[:1])
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
            also=[Also(at, "the roles that may join") for _, at in maps[:1]],
            help="add its ARN to `mapRoles`, with the groups `system:bootstrappers` and `system:nodes`",
        )


def _is_mode_stated(pattern: re.Pattern[str], context: Context) -> bool:
    """Whether a file of the run, or a block of Terraform beside them, matches a pattern."""
    return context.run_files.is_in_files(pattern, around=True) or any(
        file.once((_is_in_blocks, pattern), partial(_is_in_blocks, file, pattern))
        for file in context.run_files.terraform.files
    )


def _is_in_blocks(file: Source, pattern: re.Pattern[str]) -> bool:
    return any(pattern.search(block.text) for block in terraform_blocks.find_blocks(file))


def _find_nearest(maps: Sequence[tuple[str, Span]], near: Node) -> list[tuple[str, Span]]:
    """The lists that share the deepest folder with a class: each cluster of a repository has its own."""
    depths = [_shared(at, near) for _, at in maps]
    deepest = max(depths, default=0)
    return [found for found, depth in zip(maps, depths, strict=True) if depth == deepest]


def _shared(place: Node | Span, other: Node | Span) -> int:
    """How many folders the files of two places share."""
    folders = [s.once(_list_folders, partial(_list_folders, s.path)) for s in (place.source, other.source)]
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(*folders, strict=False)))


def _list_folders(path: str) -> list[str]:
    return os.path.dirname(os.path.abspath(path)).split(os.sep)


def _list_maps(file: Source) -> list[tuple[str, Span]]:
    return list(_find_maps(file))


def _list_roles(maps: Sequence[tuple[str, Span]]) -> set[str | None]:
    return {name for text, at in maps for name in at.source.once((_list_names, text), partial(_list_names, text))}


def _list_names(text: str) -> set[str | None]:
    return {_find_role_name(row) for row in re.findall(_ROW, text)}


def _admits(block: "terraform_trace.BlockText", role: str) -> bool:
    return (block.kind in _NODE_GROUPS or block.address.startswith("module.")) and f"{role}." in block.text


def _find_maps(file: Source) -> Iterator[tuple[str, Span]]:
    """The lists of roles of a file: the text of each, and its place."""
    for found in re.finditer(_MAP, file.text):
        start = found.start()
        line = file.text.rfind("\n", 0, start) + 1
        indent = len(file.text[line:start])
        end = len(file.text)
        for after in re.compile(_LINE_START).finditer(file.text, file.text.find("\n", found.end()) + 1 or end):
            if len(after[1]) <= indent:
                end = after.start()
                break
        yield file.text[start:end], Span(file, start, found.end())


def _is_filled(text: str) -> bool:
    """Whether other rows may be in a list than those that are written; the name of an instance is none."""
    plain = text.replace("{{EC2PrivateDNSName}}", "").replace("{{SessionName}}", "").replace("{{AccountID}}", "")
    return (
        re.search(r"\{\{|\bfor\b|\bconcat\b|\b(?:local|var|data|file\w*|templatefile)\b[.(]|%\{", plain) is not None
    )


def _find_role_name(row: str) -> str | None:
    """The role that a row names, by its name or its address in Terraform; None where that is not plain."""
    text = row.strip().strip("\"'")
    arn = re.fullmatch(_PLAIN_ARN, text)
    if arn is not None:
        return arn[1]
    reference = re.fullmatch(r"(?:\$\{)?(aws_iam_role\.[\w-]+)\.arn\}?", text)
    return reference[1] if reference is not None else None
