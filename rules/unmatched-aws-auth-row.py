"""A row of `aws-auth` has an ARN that no node has: of an instance profile, or of a role with its path.

EKS compares the ARN of a row with the role of the caller, without the path of the role. A row with
`role/platform/nodes` matches nobody: write `role/nodes`. A node calls with the role in its instance profile, so the
ARN of the profile matches nobody either. Nodes with that role never join, and Karpenter deletes them after 15
minutes.

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

from nodelint.api import Also, Context, Finding, Findings, Source, Span, aws_auth, rule, terraform_blocks

_PROFILE = re.compile(r":instance-profile/")
_PATH = re.compile(r":role/((?:[\w+=,.@-]+/)+)([^\s/\"']+)$")
_ROOT = ('"/"', "null")


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
    rows = list(aws_auth.list_arns(source))
    for written, at in rows:
        path = _PATH.search(written)
        if path is not None and any(other.endswith(f":role/{path[2]}") for other, _ in rows):
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


def _of_reference(written: str, at: Span, context: Context) -> Findings:
    """Yield a finding for a row whose ARN is that of an instance profile, or of a role with a path."""
    blocks = context.run_files.terraform
    found = blocks.trace(written, at.source.path)
    block = blocks.find(found) if found is not None and found.attributes == ("arn",) else None
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


def _of_profile(at: Span, made: Also | None) -> Findings:
    yield Finding(
        at=at,
        message="this is the ARN of an instance profile: a row of `aws-auth` with it matches no node",
        also=[made] if made is not None else [],
        help="write the ARN of the role in the instance profile",
    )
