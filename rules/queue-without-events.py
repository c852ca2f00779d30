"""The interruption queue gets no events, so Karpenter gets no notice of interruptions.

Karpenter only reads the queue. EventBridge has to fill it: a rule for the warning of spot interruptions, and rules
for rebalance recommendations, changes of the state of instances, and events of AWS Health. Each rule needs a target
with the ARN of the queue. The queue needs a policy that allows `events.amazonaws.com` to send: without it EventBridge
drops the events. In both cases the controller starts and reports no error, but spot nodes end without being drained.

The rule reads Terraform and templates of CloudFormation, also those that CDK writes. It reports nothing if another
module or an output holds the ARN of the queue: something else may fill it.

There is no fix: several resources are missing.

```yaml bad
# file: main.tf
resource "aws_sqs_queue" "karpenter" {
  name = "karpenter-main"
}
```

```yaml good
# file: main.tf
resource "aws_sqs_queue" "karpenter" {
  name = "karpenter-main"
}
resource "aws_sqs_queue_policy" "karpenter" {
  queue_url = aws_sqs_queue.karpenter.url
  policy    = data.aws_iam_policy_document.karpenter_queue.json
}
resource "aws_cloudwatch_event_rule" "spot" {
  event_pattern = jsonencode({
    source      = ["aws.ec2"]
    detail-type = ["EC2 Spot Instance Interruption Warning"]
  })
}
resource "aws_cloudwatch_event_target" "spot" {
  rule = aws_cloudwatch_event_rule.spot.name
  arn  = aws_sqs_queue.karpenter.arn
}
data "aws_iam_policy_document" "karpenter_queue" {
  statement {
    actions   = ["sqs:SendMessage"]
    resources = [aws_sqs_queue.karpenter.arn]
    principals {
      type        = "Service"
      identifiers = ["events.amazonaws.com"]
    }
  }
}
```
"""

import re

from nodelint.api import (
    Also,
    Context,
    Finding,
    Findings,
    Source,
    queue_events,
    rule,
    stack_queues,
    terraform_trace,
)

_EVENTS = re.compile(r"Spot Instance Interruption|aws\.health")
_MADE_ELSEWHERE = re.compile(rf"{_EVENTS.pattern}|SQS::Queue(?:Inline)?Policy|sqs_queue_policy|set-queue-attributes")
"""What another file contains that may complete the queue of a template."""


@rule(
    on=Source,
    group="hazard",
    severity="warning",
    subject="spot",
    mentions=["aws_sqs_queue", "AWS::SQS::Queue"],
    tags=["root-module"],
    source=[
        "https://karpenter.sh/docs/concepts/disruption/#interruption",
        "https://karpenter.sh/docs/reference/cloudformation/",
        "https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-use-resource-based.html",
    ],
)
def check(source: Source, context: Context) -> Findings:
    if source.built is not None:
        return
    if not source.path.endswith(terraform_trace.ENDINGS):
        yield from _check_stacks(source, context)
        return
    for found in queue_events.find_silent_queues(source.path, context.run_files.terraform):
        if found.policy is not None:
            yield Finding(
                at=found.policy.at,
                message="the policy of the queue does not name EventBridge, which may not send to it",
                note="Karpenter gets no notice of interruptions",
                also=[Also(found.block.at, "creates the queue")],
                help="allow `events.amazonaws.com` to send messages",
            )
        elif found.rule is not None:
            yield Finding(
                at=found.rule.at,
                message="no EventBridge rule has a target: the queue gets no events, and Karpenter no notice",
                also=[Also(found.block.at, "creates the queue")],
                help="add an `aws_cloudwatch_event_target` with the ARN of the queue for each rule",
            )
        elif found.target is not None:
            yield Finding(
                at=found.block.at,
                message="the queue has no policy: EventBridge may not send to it, and Karpenter gets no notice",
                also=[Also(found.target.at, "sends to the queue")],
                help="add an `aws_sqs_queue_policy` that allows `events.amazonaws.com` to send messages",
            )
        elif not any(_EVENTS.search(file.text) for file in context.run_files.terraform.files) and (
            not context.run_files.is_in_files(_EVENTS, around=True)
        ):
            yield Finding(
                at=found.block.at,
                message="no EventBridge rule sends to the queue: Karpenter gets no notice of interruptions",
                help="add rules and targets for the events of EC2 and AWS Health, and a policy of the queue",
            )


def _check_stacks(source: Source, context: Context) -> Findings:
    """Yield a finding for each queue of a template that gets no events, if no other file may send some."""
    silent = list(stack_queues.find_silent_queues(source)) if "AWS::SQS::Queue" in source.text else []
    if not silent or any(file is not source for file in context.run_files.files_with(_MADE_ELSEWHERE, around=True)):
        return
    for found in silent:
        if found.policy is not None:
            yield Finding(
                at=found.policy,
                message="the policy of the queue does not name EventBridge, which may not send to it",
                note="Karpenter gets no notice of interruptions",
                also=[Also(found.at, "creates the queue")],
                help="allow `events.amazonaws.com` to send messages",
            )
        elif found.target is not None:
            yield Finding(
                at=found.at,
                message="the queue has no policy: EventBridge may not send to it, and Karpenter gets no notice",
                also=[Also(found.target, "sends to the queue")],
                help="add an `AWS::SQS::QueuePolicy` that allows `events.amazonaws.com` to send messages",
            )
        elif found.rule is not None:
            yield Finding(
                at=found.rule,
                message="no EventBridge rule has a target: the queue gets no events, and Karpenter no notice",
                also=[Also(found.at, "creates the queue")],
                help="add the ARN of the queue to the `Targets` of each rule",
            )
        else:
            yield Finding(
                at=found.at,
                message="no EventBridge rule sends to the queue: Karpenter gets no notice of interruptions",
                help="add rules with targets for the events of EC2 and AWS Health, and a policy of the queue",
            )
