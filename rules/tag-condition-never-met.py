"""A policy of the controller requires `aws:RequestTag` for calls that carry no tags, so AWS always refuses them.

A request contains a key `aws:RequestTag/...` only if the call passes tags. RunInstances, CreateFleet and
CreateLaunchTemplate pass tags for what they create. TerminateInstances, DeleteLaunchTemplate and most calls about
instance profiles pass none. Then the condition is not met, and the statement allows nothing: Karpenter launches nodes
that it can never delete. For existing resources, use `aws:ResourceTag/...`.

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

```yaml good
# file: karpenter.tf
data "aws_iam_policy_document" "controller" {
  statement {
    actions   = ["ec2:CreateFleet", "ec2:RunInstances"]
    resources = ["*"]
  }
  statement {
    actions   = ["ec2:TerminateInstances", "ec2:DeleteLaunchTemplate"]
    resources = ["*"]
    condition {
      test     = "StringEquals"
      variable = "aws:ResourceTag/kubernetes.io/cluster/main"
      values   = ["owned"]
    }
  }
}
resource "aws_iam_role_policy" "karpenter" {
  policy = data.aws_iam_policy_document.controller.json
}
```
"""

import re
from collections.abc import Callable, Iterator

from nodelint.api import Context, Finding, Findings, Source, Span, rule, terraform_trace

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
"""What Karpenter calls without tags in the request."""
_LONGEST = 20_000


@rule(
    on=Source,
    group="correctness",
    severity="warning",
    subject="security",
    mentions=["aws:RequestTag"],
    source=[
        "https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonec2.html",
        "https://karpenter.sh/docs/reference/cloudformation/",
    ],
)
def check(source: Source, context: Context) -> Findings:
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


def _find_statements(source: Source) -> Iterator[tuple[Span, str]]:
    """The statements that allow something on a condition about tags of the request, each with the key's place."""
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
    """Yield the braces around a place, the innermost first."""
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
    """Return the place behind the brace that closes what is open at a place; None if none is near."""
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
    """Return a function that counts how often a text grants an action, by a pattern as well."""
    service, _, name = action.partition(":")
    prefixes = "|".join(re.escape(name[:n]) + r"\*" for n in range(len(name)))
    pattern = re.compile(rf"""(?i)["'](?:\*|{service}:(?:{name}|{prefixes}))["']""")
    resources = re.compile(r"""(?i)\b(?:not_?)?resources?["']?\s*+[=:]\s*+\[?\s*+["']\*["']""")
    return lambda text: len(pattern.findall(resources.sub("", text)))
