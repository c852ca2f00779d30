"""A policy of the controller requires `aws:RequestTag` for calls that carry no tags, so AWS always refuses them.

A request contains a key `aws:RequestTag/...` only if the call passes tags. RunInstances, CreateFleet and
CreateLaunchTemplate pass tags for what they create. TerminateInstances, DeleteLaunchTemplate and most calls about
instance profiles pass none. Then the condition is not met, and the statement allows nothing: Karpenter launches nodes
that it can never delete. For existing resources, use `aws:ResourceTag/...`.

RunInstances also needs permission for what it uses: the launch template, the image, subnets and security groups. The
request tags none of these, so a condition about `RequestTag` is not met for them, and AWS refuses each launch.

A condition about `ResourceTag` is never met if no instance has the tag. Karpenter tags its instances with
`karpenter.sh/nodepool`, `karpenter.k8s.aws/ec2nodeclass` and `kubernetes.io/cluster/<cluster>`. The tag `Name` is the
name of the node (`ip-10-0-0-1...`), unless `tags` of the EC2NodeClass set it. Only the instances of a Provisioner, an
API that ended with 0.32, have the tag `karpenter.sh/provisioner-name`. `StringEquals` takes `*` as a plain character:
patterns need `StringLike`. The rule reports `TerminateInstances` if each statement that allows it has such a
condition.

What a call creates has no tags before the call. So a condition about `ResourceTag` refuses each
`CreateLaunchTemplate` and `CreateInstanceProfile`: use `aws:RequestTag/...` for these.

The rule reads statements of `aws_iam_policy_document`, and policies in JSON or `jsonencode`. It reports nothing if
another statement of the files grants the call without the condition.

```yaml bad
# file: karpenter.tf
data "aws_iam_policy_document" "controller" {
  statement {
    actions   = ["ec2:CreateFleet", "ec2:RunInstances", "ec2:TerminateInstances", "ec2:DeleteLaunchTemplate"]
    resources = ["*"]
    condition {
      test     = "StringEquals"
      variable = "aws:RequestTag/kubernetes.io/cluster/main"
      values   = ["owned"]
    }
  }
}
resource "aws_iam_role_policy" "karpenter" {
  policy = data.aws_iam_policy_document.controller.json
}
```

```yaml good diff=bad
-    actions   = ["ec2:CreateFleet", "ec2:RunInstances", "ec2:TerminateInstances", "ec2:DeleteLaunchTemplate"]
+    actions   = ["ec2:CreateFleet", "ec2:RunInstances"]
+    resources = ["*"]
+  }
+  statement {
+    actions   = ["ec2:TerminateInstances", "ec2:DeleteLaunchTemplate"]
@@
-      variable = "aws:RequestTag/kubernetes.io/cluster/main"
+      variable = "aws:ResourceTag/kubernetes.io/cluster/main"
```

```yaml bad
# file: policy.json
{
  "Statement": [
    {"Effect": "Allow", "Action": "ec2:CreateFleet", "Resource": "*"},
    {
      "Effect": "Allow",
      "Action": "ec2:TerminateInstances",
      "Resource": "*",
      "Condition": {"StringLike": {"ec2:ResourceTag/karpenter.sh/provisioner-name": "*"}}
    }
  ]
}
# file: class.yaml
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: default
spec:
  instanceProfile: nodes
  amiSelectorTerms: [{alias: al2023@v20260714}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
```

```yaml good diff=bad
-      "Condition": {"StringLike": {"ec2:ResourceTag/karpenter.sh/provisioner-name": "*"}}
+      "Condition": {"StringLike": {"ec2:ResourceTag/karpenter.sh/nodepool": "*"}}
```
"""

import re
from collections.abc import Callable, Iterator, Sequence

from nodelint.api import (
    Context,
    EC2NodeClass,
    Finding,
    Findings,
    Source,
    Span,
    controller_permissions,
    iam_statements,
    rule,
    terraform_trace,
)

_KEY = re.compile(r"aws:RequestTag/[\w./:${}-]+")
_ACTIONS = re.compile(r"""(?i)\bactions?["']?\s*+[=:]\s*+(?:\[([^\][]{0,5000})\]|["']([^"'\n]{0,500})["'])""")
_DENY = re.compile(r"""(?i)["']?effect["']?\s*[=:]\s*["']deny["']""")
_OPERATOR = re.compile(r"""(?:\btest\s*=\s*["']?|["']?)\b((?:For\w+Values:)?(?:String|Arn)\w+|Null)\b""")
_WITHOUT_TAGS = (
    "ec2:TerminateInstances",
    "ec2:DeleteLaunchTemplate",
    "iam:AddRoleToInstanceProfile",
    "iam:RemoveRoleFromInstanceProfile",
    "iam:DeleteInstanceProfile",
    "iam:GetInstanceProfile",
    "iam:PassRole",
)
"""Actions that Karpenter calls without tags in the request."""
_LONGEST = 20_000
_RUN = "ec2:RunInstances"


@rule(
    on=Source,
    group="correctness",
    severity="warning",
    subject="security",
    mentions=["aws:RequestTag", ":ResourceTag/"],
    source=[
        "https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonec2.html",
        "https://karpenter.sh/docs/reference/cloudformation/",
        "provider:pkg/controllers/nodeclaim/tagging/controller.go@v1.14.1:107",
        "https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_condition_operators.html",
    ],
)
def check(source: Source, context: Context) -> Findings:
    if source.holds(":ResourceTag/"):
        yield from _about_resources(source, context)
        yield from _about_created_resources(source, context)
    if source.holds("aws:RequestTag") and source.holds("RunInstances"):
        yield from _about_used_resources(source, context)
    statements = list(_find_statements(source))
    if not statements:
        return
    folder = terraform_trace.folder_of(source.path)
    files = {file.path: file for file in (*context.run_files.terraform.files, *context.files)}
    texts = [file.text for path, file in files.items() if terraform_trace.folder_of(path) == folder]
    for at, text in statements:
        named = set(_name_actions(text))
        never = [name for name in _WITHOUT_TAGS if name in named]
        never = [name for name in never if sum(map(_count(name), texts)) <= sum(map(_count(name), [text]))]
        if not never:
            continue
        first = never[0].partition(":")[2]
        listed = (
            " and ".join(f"`{name.partition(chr(58))[2]}`" for name in never[:2])
            if len(never) < 3
            else f"these {len(never)} actions"
        )
        yield Finding(
            at=at,
            message=f"no request for {listed} has an `aws:RequestTag`: the statement never allows it",
            note="Karpenter launches nodes that it cannot delete" if first == "TerminateInstances" else None,
            help="give "
            + ", ".join(f"`{name}`" for name in never)
            + " a statement of their own, with `aws:ResourceTag` as its condition",
        )


_USED = ("launch-template", "image", "subnet", "security-group")
"""Kinds of existing resources that RunInstances uses."""
_WIDE = re.compile(r"AmazonEC2FullAccess|AdministratorAccess|PowerUserAccess|(?:source|override)_policy_documents")


def _about_used_resources(source: Source, context: Context) -> Findings:
    """Yield a finding if each statement that allows RunInstances for existing resources has a condition about the
    tags of the request.
    """
    near = list(controller_permissions.list_statements_near(source, context))
    launching = [statement for statement in near if statement.grants(_RUN) is not False]
    files = {id(statement.at.source): statement.at.source for statement in near}
    if any(_WIDE.search(file.text) for file in files.values()) or controller_permissions.is_policy_module_in_use(
        context
    ):
        return
    for kind in _USED:
        allowing = [statement for statement in launching if statement.covers(kind) is not False]
        if all(s.grants(_RUN) and s.covers(kind) and _needs_tag(s.text, _KEY) for s in allowing):
            for statement in allowing:
                if statement.at.source.path == source.path:
                    named = kind.replace("-", " ")
                    yield Finding(
                        at=Span(source, statement.at.start, statement.at.end),
                        message=f"the condition on `aws:RequestTag` refuses each launch: it tags no {named}",
                        help="allow it with `aws:ResourceTag` for launch templates, and without a tag condition for "
                        "images, subnets and security groups",
                    )
                    return


_CREATING = {
    "ec2:CreateLaunchTemplate": "Karpenter launches no node",
    "iam:CreateInstanceProfile": "the EC2NodeClass is never ready",
}
"""Actions that create a resource, with the consequence if they are refused."""


def _about_created_resources(source: Source, context: Context) -> Findings:
    """Yield a finding if each statement that allows to create a resource has a condition about its tags."""
    if not any(source.holds(action.partition(":")[2]) for action in _CREATING):
        return
    near = list(controller_permissions.list_statements_near(source, context))
    files = {id(statement.at.source): statement.at.source for statement in near}
    has_role = any(obj.node.find("spec", "role") for obj in context.run_files.objects_near(source, EC2NodeClass))
    if any(_WIDE.search(file.text) for file in files.values()) or controller_permissions.is_policy_module_in_use(
        context
    ):
        return
    for action, consequence in _CREATING.items():
        allowing = [statement for statement in near if statement.grants(action) is not False]
        if action.startswith("iam:") and not has_role:
            continue
        if all(statement.grants(action) and _needs_tag(statement.text, _RESOURCE_KEY) for statement in allowing):
            for statement in allowing:
                if statement.at.source.path == source.path:
                    yield Finding(
                        at=Span(source, statement.at.start, statement.at.end),
                        message=f"the condition on `ResourceTag` refuses each `{action.partition(':')[2]}`: what it "
                        "creates has no tags yet",
                        severity="error",
                        note=consequence,
                        help=f"give `{action}` a statement of its own, with `aws:RequestTag` as its condition",
                    )
                    break


def _needs_tag(statement: str, pattern: re.Pattern[str]) -> bool:
    """Return whether a statement allows nothing if a request lacks a condition key that matches a pattern."""
    for key in pattern.finditer(statement):
        operators = _OPERATOR.findall(statement[: key.start()])
        if operators and operators[-1].startswith(("String", "Arn")) and "IfExists" not in operators[-1]:
            return "Not" not in operators[-1]
    return False


def _find_statements(source: Source) -> Iterator[tuple[Span, str]]:
    """Yield each statement that allows actions on a condition about request tags, with the place of the condition
    key.
    """
    seen = set()
    for match in _KEY.finditer(source.text):
        for start, end in _enclosing(source.text, match.start()):
            text = source.text[start:end]
            if _ACTIONS.search(text) is None:
                operators = _OPERATOR.findall(source.text[max(start - 40, 0) : end])
                if any("IfExists" in name or name.startswith(("ForAll", "Null")) for name in operators):
                    break
                continue
            if start not in seen and _DENY.search(text) is None:
                seen.add(start)
                yield Span(source, *match.span()), text
            break


def _enclosing(text: str, at: int) -> Iterator[tuple[int, int]]:
    """Yield the start and the end of each pair of braces around a place, the innermost first."""
    depth, start, end, first = 0, at, at, max(at - _LONGEST, 0)
    while start > first:
        start -= 1
        if text[start] == "}":
            depth += 1
        elif text[start] == "{":
            if depth:
                depth -= 1
                continue
            close = _closing(text, end)
            if close is None:
                return
            end = close
            yield start, end


def _closing(text: str, at: int) -> int | None:
    """Return the place after the brace that closes the block around a place.

    None if no brace near the place closes it.
    """
    depth = 0
    for place in range(at, min(at + _LONGEST, len(text))):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if depth < 0:
            return place + 1
    return None


def _name_actions(statement: str) -> Iterator[str]:
    for listed, single in _ACTIONS.findall(statement):
        yield from re.findall(r"""["']([\w:*]+)["']""", listed) or ([single] if single else [])


def _count(action: str) -> Callable[[str], int]:
    """Return a function that counts how often a text grants an action, directly or by a pattern."""
    service, _, name = action.partition(":")
    prefixes = "|".join(re.escape(name[:n]) + r"\*" for n in range(len(name)))
    pattern = re.compile(rf"""(?i)["'](?:\*|{service}:(?:{name}|{prefixes}))["']""")
    resources = re.compile(r"""(?i)\b(?:not_?)?resources?["']?\s*+[=:]\s*+\[?\s*+["']\*["']""")
    return lambda text: len(pattern.findall(resources.sub("", text)))


_RESOURCE_KEY = re.compile(r"(?:aws|ec2):ResourceTag/([\w./-]+)")
_TEST = re.compile(r"\b((?:For\w+Values:)?(?:String|Arn)\w+|Null)\b")
_VALUES = re.compile(
    r"""["']?\s*+[=:]?\s*+(?:values\s*=\s*)?(\[[^\][]{0,2000}\]|"[^"\n]*"|'[^'\n]*'|[^\s{}\[\]"']+)"""
)
_NODE_NAMES = ("ip-10-0-0-1.eu-west-1.compute.internal", "i-0123456789abcdef0")
"""Examples of the names that Karpenter gives instances: the names of their nodes."""
_FORMER_TAG = "karpenter.sh/provisioner-name"
_TERMINATE = "ec2:TerminateInstances"


def _about_resources(source: Source, context: Context) -> Findings:
    """Yield a finding if each statement that allows Karpenter to terminate instances has a condition that is never
    met.
    """
    folder = terraform_trace.folder_of(source.path)
    files = {
        file.path: file for file in (*context.run_files.terraform.files, *context.run_files.files_of_run, source)
    }
    near = [file for path, file in files.items() if terraform_trace.folder_of(path) == folder]
    statements = [s for file in near for s in iam_statements.list_statements(file)]
    if not any(statement.grants("ec2:CreateFleet") for statement in statements):
        return
    ending = [statement for statement in statements if statement.grants(_TERMINATE) is not False]
    classes = context.run_files.objects_near(source, EC2NodeClass)
    reasons = [_find_reason(statement, classes, context) for statement in ending]
    for statement, reason in zip(ending, reasons, strict=True) if all(reasons) and classes else ():
        if reason is not None and statement.at.source.path == source.path:
            yield Finding(
                at=Span(source, statement.at.start, statement.at.end),
                message=f"{reason}: `TerminateInstances` is never allowed",
                note="Karpenter launches nodes that it cannot delete",
                help="use `StringLike` with the pattern `*` for `aws:ResourceTag/karpenter.sh/nodepool`",
            )
            return


def _find_reason(
    statement: "iam_statements.Statement", classes: "Sequence[EC2NodeClass]", context: Context
) -> str | None:
    """Return why a condition of a statement is never met, as a clause. None if the condition may be met."""
    if statement.actions is None or "Deny" in _DENY.findall(statement.text):
        return None
    for key in _RESOURCE_KEY.finditer(statement.text):
        operators = _TEST.findall(statement.text[: key.start()])
        operator = operators[-1] if operators else ""
        written = _VALUES.match(statement.text, key.end())
        if operator not in ("StringEquals", "StringLike") or written is None:
            continue
        path = statement.at.source.path
        texts = re.findall(r"""["']([^"']*)["']""", written[1]) or [written[1]]
        values = [context.run_files.terraform.fill(f'"{text}"', path).strip('"') for text in texts]
        if not values or any("$" in value or "{" in value for value in values):
            continue
        if key[1] == _FORMER_TAG:
            return f"no instance of a NodePool has the tag `{_FORMER_TAG}`"
        if operator == "StringEquals" and all(re.search(r"[*?]", value) for value in values):
            return f"`StringEquals` compares the tag with `{values[0]}` as it is written"
        names = _list_names(classes) if key[1] == "Name" else None
        if names and not any(_is_like(name, value) or _is_node_name(value) for name in names for value in values):
            return f"no instance is named `{values[0]}`"
    return None


def _list_names(classes: "Sequence[EC2NodeClass]") -> list[str] | None:
    """Return the names of the instances of some classes. If a class sets no name, these are examples of node names.

    None if a name is not known.
    """
    names: list[str] = []
    for node_class in classes:
        tag = node_class.node.find("spec", "tags", "Name")
        tags = node_class.node.find("spec", "tags")
        if tag is None and (tags is None or tags.kind == "mapping"):
            names += _NODE_NAMES
        elif tag is not None and isinstance(tag.value, str):
            names.append(tag.value)
        else:
            return None
    return names


def _is_node_name(pattern: str) -> bool:
    """Return whether a pattern may match names of nodes."""
    return re.match(r"ip-|i-|\*\.", pattern) is not None


def _is_like(name: str, pattern: str) -> bool:
    written = re.escape(pattern).replace(r"\*", ".*").replace(r"\?", ".")
    return re.fullmatch(written, name) is not None
