"""The controller's policy allows it to pass any role, or to end any instance, of the whole account.

With `iam:PassRole` on `*`, whoever controls the controller, or may create an EC2NodeClass, starts instances with any
role of the account that trusts EC2, also one of an administrator. With `ec2:TerminateInstances` on `*` the controller
may end instances of other clusters and teams. Karpenter's own policy names the role of the nodes, and ends only
instances with the cluster's tags. A second statement with limits does not help: AWS allows what any statement allows.

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
"""

import re

from nodelint.api import Context, Finding, Findings, Source, Span, iam_statements, rule

_EFFECTS = {
    "iam:PassRole": "the controller may start instances with any role that trusts EC2",
    "ec2:TerminateInstances": "the controller may end any instance of the account",
}
_HELP = {
    "iam:PassRole": "name the role of the nodes as its resource",
    "ec2:TerminateInstances": "add a condition about `aws:ResourceTag/kubernetes.io/cluster/<cluster>`",
}
_CONDITION = re.compile(r"(?i)\bcondition\b")


@rule(
    on=Source,
    group="hazard",
    severity="info",
    subject="security",
    mentions=["ec2:CreateFleet", "ec2:*"],
    source=[
        "https://karpenter.sh/docs/reference/cloudformation/",
        "https://docs.aws.amazon.com/IAM/latest/UserGuide/id_roles_use_passrole.html",
    ],
)
def check(source: Source, context: Context) -> Findings:
    statements = iam_statements.list_statements(source)
    if not any(statement.grants("ec2:CreateFleet") for statement in statements):
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


def _is_wide(statement: "iam_statements.Statement", action: str) -> bool:
    """Return whether a statement allows an action on all resources without a condition."""
    is_everything = statement.resources is not None and set(statement.resources) == {"*"}
    return is_everything and statement.grants(action) is True and _CONDITION.search(statement.text) is None
