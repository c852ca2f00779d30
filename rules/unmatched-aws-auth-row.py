"""A row of `aws-auth` does not let nodes join: its ARN, its user name or its groups are not those of a node.

EKS compares the ARN of a row with the role of the caller, without the path of the role. A row with
`role/platform/nodes` matches nobody: write `role/nodes`. A node calls with the role in its instance profile, so the
ARN of the profile matches nobody either. Nodes with that role never join, and Karpenter deletes them after 15
minutes.

EKS gives the node the user name and the groups of the row. The API server lets a node register if its user name is
`system:node:` with the name of the node, which `{{EC2PrivateDNSName}}` stands for, and if it is in the group
`system:nodes`. A row with `{{SessionName}}` is for Fargate.

The rule reads literal ARNs, and references to roles and instance profiles of Terraform's files.

There is no fix: only the author knows which role was meant.

```yaml bad
apiVersion: v1
kind: ConfigMap
metadata: {name: aws-auth, namespace: kube-system}
data:
  mapRoles: |
    - rolearn: arn:aws:iam::111122223333:instance-profile/karpenter-nodes
      username: system:node:{{EC2PrivateDNSName}}
      groups: [system:bootstrappers, system:nodes]
```

```yaml good
apiVersion: v1
kind: ConfigMap
metadata: {name: aws-auth, namespace: kube-system}
data:
  mapRoles: |
    - rolearn: arn:aws:iam::111122223333:role/karpenter-nodes
      username: system:node:{{EC2PrivateDNSName}}
      groups: [system:bootstrappers, system:nodes]
```

```yaml bad
# file: main.tf
resource "aws_iam_role" "karpenter_nodes" {
  name = "karpenter-nodes"
  path = "/platform/"
}
module "auth" {
  source  = "terraform-aws-modules/eks/aws//modules/aws-auth"
  version = "20.37.2"
  aws_auth_roles = [
    {
      rolearn  = aws_iam_role.karpenter_nodes.arn
      username = "system:node:{{EC2PrivateDNSName}}"
      groups   = ["system:bootstrappers", "system:nodes"]
    },
  ]
}
```

```yaml good
# file: main.tf
resource "aws_iam_role" "karpenter_nodes" {
  name = "karpenter-nodes"
}
module "auth" {
  source  = "terraform-aws-modules/eks/aws//modules/aws-auth"
  version = "20.37.2"
  aws_auth_roles = [
    {
      rolearn  = aws_iam_role.karpenter_nodes.arn
      username = "system:node:{{EC2PrivateDNSName}}"
      groups   = ["system:bootstrappers", "system:nodes"]
    },
  ]
}
```
"""

import re

from nodelint.api import (
    Also,
    Context,
    EC2NodeClass,
    Finding,
    Findings,
    Source,
    Span,
    aws_auth,
    messages,
    node_roles,
    rule,
    terraform_blocks,
)

_PROFILE = re.compile(r":instance-profile/")
_PATH = re.compile(r":role/((?:[\w+=,.@-]+/)+)([^\s/\"']+)$")
_NO_ARN = (("id",), ("name",), ("unique_id",))
_ROOT = ('"/"', "null")
_USERNAME, _OF_FARGATE = "system:node:{{EC2PrivateDNSName}}", "system:node:{{SessionName}}"
_NODES, _MASTERS = "system:nodes", "system:masters"
_OF_NODES = frozenset({_NODES, "system:bootstrappers"})


@rule(
    on=Source,
    group="correctness",
    subject="security",
    mentions=["mapRoles", "aws_auth_roles"],
    tags=["root-module"],
    source=[
        "https://docs.aws.amazon.com/eks/latest/userguide/auth-configmap.html",
        "https://github.com/kubernetes-sigs/aws-iam-authenticator/issues/268",
    ],
)
def check(source: Source, context: Context) -> Findings:
    rows = list(aws_auth.list_rows(source))
    for row in rows:
        written, at = row.arn, row.at
        path = _PATH.search(written)
        if path is not None and any(other.arn.endswith(f":role/{path[2]}") for other in rows):
            continue  # a second row without the path lets the role in
        if _PROFILE.search(written):
            yield from _of_profile(at, None)
        elif path is not None:
            yield Finding(
                at=at,
                message=f"a row of `aws-auth` names a role without its path: with `{path[1]}` it matches no node",
                help=f"write `role/{path[2]}`",
            )
        elif source.path.endswith(terraform_blocks.ENDINGS):
            yield from _of_reference(written, at, context)
        if len([other for other in rows if other.arn == written]) == 1:
            yield from _of_identity(row, source, context)


def _of_reference(written: str, at: Span, context: Context) -> Findings:
    """Yield a finding for a row whose ARN is that of an instance profile, or of a role with a path."""
    blocks = context.run_files.terraform
    found = blocks.trace(written, at.source.path)
    block = blocks.find(found) if found is not None and found.attributes == ("arn",) else None
    if (
        block is None
        and found is not None
        and found.attributes in _NO_ARN
        and found.address.startswith("aws_iam_role.")
    ):
        yield Finding(
            at=at,
            message="this is the name of the role: a row of `aws-auth` without its ARN matches no node",
            help=f"write `{found.address}.arn`",
        )
    if block is None:
        return
    path = terraform_blocks.own_arguments(block.text).get("path", "null") if block.kind == "aws_iam_role" else "null"
    if block.kind == "aws_iam_instance_profile":
        yield from _of_profile(at, Also(block.at, "creates the instance profile"))
    elif path not in _ROOT and path.startswith('"'):
        yield Finding(
            at=at,
            message="this ARN has the path of the role: a row of `aws-auth` with a path matches no node",
            also=[Also(block.at, "creates the role")],
            help="remove the path from the role or from the ARN, or use an access entry",
        )


def _of_identity(row: aws_auth.Row, source: Source, context: Context) -> Findings:
    """Yield a finding for a row of nodes whose user name or groups are not those of a node."""
    groups, username = row.groups or frozenset(), row.username
    if context.run_files.is_in_files("EC2_LINUX", around=True) or (username is None and row.groups is None):
        return  # an access entry may let the role in
    if username not in (None, _USERNAME) and not groups.isdisjoint(_OF_NODES) and _MASTERS not in groups:
        if username == _OF_FARGATE and ("system:node-proxier" in groups or not _is_of_class(row, source, context)):
            return
        yield Finding(
            at=row.at,
            message=f"the row gives nodes the user name `{messages.short(username or '', 50)}`: the API server "
            "refuses them",
            note="a node may only create and change the Node of its own name",
            help=f"write `{_USERNAME}`",
        )
    elif row.groups is not None and not {_NODES, _MASTERS} & groups and _is_of_class(row, source, context):
        yield Finding(
            at=row.at,
            message=f"the row of the nodes' role lacks the group `{_NODES}`: its nodes do not join the cluster",
            help="write `groups: [system:bootstrappers, system:nodes]`",
        )


def _is_of_class(row: aws_auth.Row, source: Source, context: Context) -> bool:
    """Return whether the role of a row is certainly the role of an EC2NodeClass."""
    blocks = context.run_files.terraform if context.run_files.has_terraform else None
    found = blocks.trace(row.arn, row.at.source.path) if blocks is not None else None
    name = re.search(r":role/([\w+=,.@-]+)$", row.arn)
    for node_class in context.run_files.objects_near(source, EC2NodeClass):
        role = node_class.node.find("spec", "role")
        if role is None:
            continue
        made = node_roles.find_made_role(role, blocks) if blocks is not None else None
        if (name is not None and role.value == name[1]) or (made is not None and made.is_role_of(found)):
            return True
    return False


def _of_profile(at: Span, made: Also | None) -> Findings:
    yield Finding(
        at=at,
        message="this is the ARN of an instance profile: a row of `aws-auth` with it matches no node",
        also=[made] if made is not None else [],
        help="write the ARN of the role in the instance profile",
    )
