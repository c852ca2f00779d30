"""The controller may pass another role than the one of the nodes, so EC2 refuses to launch them.

EC2 launches an instance with a role only for somebody who may pass the role: `iam:PassRole` on its ARN. If the policy
of Karpenter's controller names another role, each launch fails with `UnauthorizedOperation`, and pods stay pending.

The rule compares the roles that Terraform lets the controller pass with the role of an EC2NodeClass that the same
root module creates, and the roles in a policy of JSON or YAML with the classes in its folder. It reports nothing if
one of the roles is not known.

There is no fix: either the policy or the class is wrong.

```yaml bad
# file: main.tf
resource "aws_iam_role" "nodes" {
  name = "main-karpenter-nodes"
}
resource "aws_iam_policy" "karpenter" {
  policy = jsonencode({
    Statement = [
      {
        Effect    = "Allow"
        Action    = ["ec2:*", "eks:DescribeCluster", "iam:*InstanceProfile*", "pricing:*", "ssm:*", "sqs:*"]
        Resource  = "*"
        Condition = { StringEquals = { "aws:RequestedRegion" = "eu-west-1" } }
      },
      { Effect = "Allow", Action = "iam:PassRole", Resource = "arn:aws:iam::111122223333:role/KarpenterNodes" },
    ]
  })
}
# file: class.yaml
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: default
spec:
  role: main-karpenter-nodes
  amiSelectorTerms: [{alias: al2023@v20260714}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
```

```yaml good diff=bad
-      { Effect = "Allow", Action = "iam:PassRole", Resource = "arn:aws:iam::111122223333:role/KarpenterNodes" },
+      { Effect = "Allow", Action = "iam:PassRole", Resource = aws_iam_role.nodes.arn },
```
"""

import os
import re

from nodelint.api import (
    Also,
    Context,
    EC2NodeClass,
    Finding,
    Findings,
    Source,
    Span,
    iam_statements,
    messages,
    node_roles,
    rule,
    terraform_trace,
)

_PASS = "iam:PassRole"
_ROLE_ARN = re.compile(r"arn:aws[\w-]*:iam::\d*:role/(?:[^/\s]+/)*([^/\s]+)")
_ROLE_ARNS = re.compile(r"\b(?:karpenter_controller_)?node_iam_role_arns[ \t]*+=[ \t]*+\[([^\]\[]*+)\]")
_RESOURCES = re.compile(r'(?i)(?<![\w.])"?resources?"?[ \t]*[=:][ \t]*(?:\[(?P<list>[^\[\]]*)\]|(?P<one>[^\n,}]+))')


@rule(
    on=Source,
    group="correctness",
    subject="security",
    mentions=[_PASS, "node_iam_role_arns"],
    source=[
        "https://docs.aws.amazon.com/IAM/latest/UserGuide/id_roles_use_passrole.html",
        "https://karpenter.sh/docs/reference/cloudformation/",
    ],
)
def check(source: Source, context: Context) -> Findings:
    if source.built is not None:
        return
    if not source.path.endswith(terraform_trace.ENDINGS):
        yield from _check_names(source, context)
        return
    for block in context.run_files.terraform.find_in(source.path):
        yield from _check_profiles(block)
    passing = _find_passing(source)
    if passing is None:
        return
    blocks = context.run_files.terraform
    written = _list_resources(passing.text)
    for node_class in context.run_files.objects_near(source, EC2NodeClass):
        role = node_class.node.find("spec", "role")
        made = node_roles.find_made_role(role, blocks) if role is not None else None
        if role is None or made is None or not blocks.may_share_root(made.block.source.path, source.path):
            continue
        if written and all(node_roles.names_role(text, source.path, made, blocks) is False for text in written):
            yield Finding(
                at=passing.at,
                message=f"the controller may not pass `{made.block.address}`, the role of the nodes: EC2 refuses "
                "each launch",
                also=[Also(role, "the role of the nodes"), Also(made.block.at, "creates the role")],
                help=f"allow `{_PASS}` on the role of the nodes",
            )
            return


def _check_names(source: Source, context: Context) -> Findings:
    """Yield a finding for a policy in JSON or YAML that lets the controller pass only roles of other names than those
    of the classes in its folder.
    """
    passing = _find_passing(source)
    arns = [_ROLE_ARN.fullmatch(text.strip("\"'")) for text in _list_resources(passing.text)] if passing else []
    names = {arn[1] for arn in arns if arn is not None}
    if passing is None or not names or None in arns or any("*" in name or "$" in name for name in names):
        return
    roles = [found.node.find("spec", "role") for found in context.run_files.objects_near(source, EC2NodeClass)]
    folder = os.path.dirname(source.path)
    if not roles or any(role is None or not isinstance(role.value, str) or role.value in names for role in roles):
        return
    near = [role for role in roles if role is not None and os.path.dirname(role.source.path) == folder]
    if near and len(near) == len(roles):
        yield Finding(
            at=passing.at,
            message=f"the controller may not pass `{messages.short(str(near[0].value), 40)}`, the role of the nodes: "
            "EC2 refuses each launch",
            also=[Also(near[0], "the role of the nodes")],
            help=f"allow `{_PASS}` on the role of the nodes",
        )


def _find_passing(source: Source) -> "iam_statements.Statement | None":
    """Return the only statement of a file that lets the controller pass roles. None if another one may do so."""
    statements = iam_statements.list_statements(source)
    passing = [statement for statement in statements if statement.grants(_PASS) is not False]
    launches = any(statement.grants("ec2:CreateFleet") for statement in statements)
    # A policy that may allow more in a way that is not read allows perhaps this.
    return passing[0] if len(passing) == 1 and launches and passing[0].actions is not None else None


def _check_profiles(block: "terraform_trace.BlockText") -> Findings:
    """Yield a finding for a call of the module for IAM that lets the controller pass only instance profiles."""
    for found in _ROLE_ARNS.finditer(block.source.text, block.at.end, block.at.end + len(block.text) + 100):
        texts = [text.strip() for text in found[1].split(",") if text.strip()]
        if texts and all(text.startswith("aws_iam_instance_profile.") for text in texts):
            yield Finding(
                at=Span(block.source, *found.span(1)),
                message="this is the ARN of an instance profile: the controller may not pass the role of the nodes",
                note="EC2 refuses each launch",
                help="write the ARN of the `aws_iam_role` in the instance profile",
            )


def _list_resources(statement: str) -> list[str]:
    """Return the expressions of the resources of a statement; none if they cannot be told apart."""
    found = _RESOURCES.search(statement)
    if found is None or "*" in found[0] or re.search(r"(?i)not_?resources?", statement) is not None:
        return []
    if found["list"] is None:
        return [found["one"].strip()]
    return [text for part in re.split(r"[,\n]", found["list"]) if (text := part.strip())]
