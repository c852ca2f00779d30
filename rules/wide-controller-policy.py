"""The controller may pass any role or end any instance of the account, or a role of Karpenter may do everything.

With `iam:PassRole` on `*`, whoever controls the controller, or may create an EC2NodeClass, starts instances with any
role of the account that trusts EC2, also one of an administrator. With `ec2:TerminateInstances` on `*` the controller
may end instances of other clusters and teams. Karpenter's own policy names the role of the nodes, and ends only
instances with the cluster's tags. A second statement with limits does not help: AWS allows what any statement allows.

The rule also reports a policy of Karpenter's that allows all actions, and `AdministratorAccess` on a role of
Karpenter. On the role of the nodes, every pod that reaches the metadata service of its node gets these rights.

```yaml bad
# file: policy.json
{
  "Statement": [
    {"Effect": "Allow", "Action": ["ec2:CreateFleet", "iam:PassRole"], "Resource": "*"}
  ],
  "Comment": "karpenter"
}
```

```yaml good
# file: policy.json
{
  "Statement": [
    {"Effect": "Allow", "Action": "ec2:CreateFleet", "Resource": "*"},
    {"Effect": "Allow", "Action": "iam:PassRole", "Resource": "arn:aws:iam::111122223333:role/KarpenterNodeRole-main"}
  ],
  "Comment": "karpenter"
}
```

```yaml bad
# file: main.tf
resource "aws_iam_role" "karpenter_nodes" {
  name = "KarpenterNodeRole-main"
  managed_policy_arns = [
    "arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy",
    "arn:aws:iam::aws:policy/AdministratorAccess",
  ]
}
```

```yaml good diff=bad
-    "arn:aws:iam::aws:policy/AdministratorAccess",
```
"""

import os
import re

from nodelint.api import (
    Context,
    Finding,
    Findings,
    Source,
    Span,
    iam_statements,
    rule,
    terraform_blocks,
    terraform_trace,
)

_EFFECTS = {
    "iam:PassRole": "the controller may start instances with any role that trusts EC2",
    "ec2:TerminateInstances": "the controller may end any instance of the account",
}
_HELP = {
    "iam:PassRole": "name the role of the nodes as its resource",
    "ec2:TerminateInstances": "add a condition about `aws:ResourceTag/kubernetes.io/cluster/<cluster>`",
}
_CONDITION = re.compile(r"(?i)\bcondition\b")
_NOT_ACTION = re.compile(r"""["']?(?i:not_?actions?)["']?[ \t]*[=:]""")
_PRINCIPAL = re.compile(r"(?i)\bprincipals?\b")
"""Text of a statement of a resource's policy, or of a role's trust."""
_ADMINISTRATOR = re.compile(r'"arn:[^"\n]*:iam::aws:policy/AdministratorAccess"')


@rule(
    on=Source,
    group="hazard",
    severity="info",
    subject="security",
    mentions=["ec2:CreateFleet", "ec2:*", "Effect", "statement", "AdministratorAccess"],
    source=[
        "https://karpenter.sh/docs/reference/cloudformation/",
        "https://docs.aws.amazon.com/IAM/latest/UserGuide/id_roles_use_passrole.html",
        "https://docs.aws.amazon.com/eks/latest/best-practices/identity-and-access-management.html",
    ],
)
def check(source: Source, context: Context) -> Findings:
    if source.path.endswith(terraform_trace.ENDINGS) and _ADMINISTRATOR.search(source.text) is not None:
        yield from _check_roles(source, context.run_files.terraform)
    statements = iam_statements.list_statements(source)
    everything = next((statement for statement in statements if _allows_everything(statement, source)), None)
    if everything is not None:
        yield Finding(
            at=everything.at,
            message="the controller may do everything in the account",
            severity="warning",
            help="allow only the actions that Karpenter needs: take its own policy, or the one of the module",
        )
        return
    if not any(_names_fleet(statement) for statement in statements):
        return
    found = [(action, statement) for action in _EFFECTS for statement in statements if _is_wide(statement, action)]
    if not found:
        return
    action, statement = found[0]
    others = {name for name, _ in found} - {action}
    yield Finding(
        at=Span(source, statement.at.start, statement.at.end),
        message=f"`{action}` is allowed on `*` without a condition: {_EFFECTS[action]}",
        note=f"so is `{others.pop()}`" if others else None,
        help=_HELP[action],
    )


def _names_fleet(statement: "iam_statements.Statement") -> bool:
    """Return whether a statement names `ec2:CreateFleet`, so that it is for Karpenter. False for `*`, which any
    policy may have.
    """
    return statement.grants("ec2:CreateFleet") is True and "*" not in (statement.actions or ())


def _is_wide(statement: "iam_statements.Statement", action: str) -> bool:
    """Return whether a statement allows an action on everything."""
    return _is_on_everything(statement) and statement.grants(action) is True


def _is_on_everything(statement: "iam_statements.Statement") -> bool:
    is_everything = statement.resources is not None and set(statement.resources) == {"*"}
    return is_everything and _CONDITION.search(statement.text) is None


def _allows_everything(statement: "iam_statements.Statement", source: Source) -> bool:
    """Return whether a statement of a policy for Karpenter's controller allows all actions, or all except a few."""
    if not statement.allows or not _is_on_everything(statement) or _PRINCIPAL.search(statement.text) is not None:
        return False
    is_inverse = _NOT_ACTION.search(statement.text) is not None
    return ("*" in (statement.actions or ()) or is_inverse) and _is_of_controller(statement, source)


def _is_of_controller(statement: "iam_statements.Statement", source: Source) -> bool:
    """Return whether the block or the file name of a statement names the policy of Karpenter's controller."""
    if not source.path.endswith(terraform_trace.ENDINGS):
        label = os.path.basename(source.path)
    else:
        at = statement.at.start
        holding = [
            block
            for block in terraform_blocks.find_blocks(source)
            if block.at.start < at < source.text.find("\n}", block.at.end)
        ]
        label = f"{holding[0].address} {_name_of(holding[0])}" if holding else ""
    return "karpenter" in label.lower() and "node" not in label.lower()


def _name_of(block: "terraform_blocks.BlockText") -> str:
    given = terraform_blocks.own_arguments(block.text)
    return given.get("name") or given.get("name_prefix") or ""


def _check_roles(source: Source, blocks: "terraform_trace.TerraformBlocks") -> Findings:
    """Yield a finding for each role of Karpenter with the policy of administrators."""
    for block in terraform_blocks.find_blocks(source):
        found = _ADMINISTRATOR.search(block.text)
        if found is None:
            continue
        role = block
        if block.kind == "aws_iam_role_policy_attachment":
            traced = blocks.trace(terraform_blocks.own_arguments(block.text).get("role", ""), source.path)
            role = (blocks.find(traced) if traced is not None else None) or block
        label = f"{role.address} {_name_of(role)} {_source_of(role)}".lower()
        is_role = role.kind == "aws_iam_role" or _source_of(role).endswith("aws//modules/karpenter")
        if "karpenter" not in label or not is_role:
            continue
        start = source.text.find(found[0], block.at.end)
        of_nodes = "node" in label or re.search(r"\bnode_iam_role_additional_policies\b", block.text) is not None
        yield Finding(
            at=Span(source, start, start + len(found[0])),
            message="every pod that reaches the metadata service of a node gets the rights of an administrator"
            if of_nodes
            else "the controller may do everything in the account",
            severity="warning",
            help="remove the policy" if of_nodes else "attach Karpenter's own policy instead",
        )


def _source_of(block: "terraform_blocks.BlockText") -> str:
    return terraform_blocks.own_arguments(block.text).get("source", "").strip('"')
