"""The policy of the interruption queue lets everybody send messages.

Karpenter believes the messages in its queue: it drains and replaces the node that a message names. If the principal
of the policy is `*` and no condition restricts it, any AWS account can send such messages, and they end nodes.

EventBridge needs only the principals `events.amazonaws.com` and `sqs.amazonaws.com`. If the principal must stay `*`,
a condition on `aws:SourceArn` or `aws:SourceAccount` restricts it.

There is no fix: only the author knows which services send to the queue.

```yaml bad
# file: main.tf
resource "aws_sqs_queue_policy" "karpenter" {
  queue_url = aws_sqs_queue.karpenter.id
  policy = jsonencode({
    Statement = [{
      Effect    = "Allow"
      Principal = "*"
      Action    = "sqs:SendMessage"
      Resource  = aws_sqs_queue.karpenter.arn
    }]
  })
}
```

```yaml good diff=bad
-      Principal = "*"
+      Principal = { Service = ["events.amazonaws.com", "sqs.amazonaws.com"] }
```
"""

import re

from nodelint.api import Context, Finding, Findings, Source, Span, iam_statements, rule, terraform_trace

_EVERYBODY = re.compile(
    r"""(?i)\bprincipals?["']?\s*+(?:[=:]\s*+)?(?:["']?\*["'\s]|\{\s*+(?:type\s*+=\s*+"(?:\*|AWS)"\s*+identifiers|"""
    r"""["']?AWS["']?)\s*+[=:]\s*+\[?\s*+["']?\*["'\s])"""
)
_CONDITION = re.compile(r"(?i)\bcondition\b")
_OF_KARPENTER = re.compile(r"(?i)karpenter|interruption")


@rule(
    on=Source,
    group="hazard",
    subject="security",
    mentions=["sqs:SendMessage", "sqs:*", "SQS:SendMessage"],
    source=[
        "provider:pkg/controllers/interruption/controller.go@v1.14.1:111",
        "https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-basic-examples-of-sqs-policies.html",
    ],
)
def check(source: Source, context: Context) -> Findings:
    if source.built is not None:
        return
    for statement in iam_statements.list_statements(source):
        is_open = statement.grants("sqs:SendMessage") is True and _EVERYBODY.search(statement.text) is not None
        if is_open and _CONDITION.search(statement.text) is None and _is_of_karpenter(statement.at):
            yield Finding(
                at=Span(source, statement.at.start, statement.at.end),
                message="everybody may send messages to the interruption queue",
                note="Karpenter drains and replaces the node that a message names",
                help="allow only the principals `events.amazonaws.com` and `sqs.amazonaws.com`",
            )


def _is_of_karpenter(at: Span) -> bool:
    """Return whether the Terraform block around a statement concerns Karpenter. True in other files."""
    text = at.source.text
    if not at.source.path.endswith(terraform_trace.ENDINGS):
        return True
    end = text.find("\n}", at.end)
    return _OF_KARPENTER.search(text, text.rfind("\n}", 0, at.start) + 1, end if end >= 0 else len(text)) is not None
