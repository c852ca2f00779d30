"""Find interruption queues of Terraform to which nothing sends events, or that accept none."""

from __future__ import annotations

import re

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.forms.terraform.terraform_blocks import own_arguments

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nodelint.forms.terraform.terraform_blocks import BlockText
    from nodelint.forms.terraform.terraform_trace import TerraformBlocks

__all__ = ["SilentQueue", "find_silent_queues"]

_OF_KARPENTER = re.compile(r"(?i)karpenter|interruption")
_DEAD_LETTERS = re.compile(r"(?i)dlq|dead")
_ORDER = re.compile(r"\bdepends_on\s*=\s*\[[^\]]*\]")
_SERVICE = re.compile(r"\b[a-z]+\.amazonaws\.com\b")
_OPEN = re.compile(
    r'"?Principal"?\s*[=:]\s*"\*"|"\*"\s*\]|\bAWS"?\s*[=:]|\bvar\.|\blocal\.|\bfile\w*\(|templatefile|_policy_documents|\bfor\b'
)
"""A pattern of policies that may name EventBridge in another way."""
_INTERRUPTIONS = re.compile(r"aws\.ec2|aws\.health")
_EVENT_MODULE = re.compile(r"(?i)eventbridge|modules/karpenter\b|eks-blueprints")
_SENDING = {"aws_cloudwatch_event_target": "arn", "aws_sns_topic_subscription": "endpoint"}
"""Resources that send to a queue, each with the argument that names it."""


class SilentQueue(NamedTuple):
    """A queue that gets no events.

    - `block`: the resource that creates it.
    - `target`: what sends to it although it may not. None if nothing sends to it.
    - `policy`: its policy, which does not name EventBridge. None if it has none.
    - `rule`: a rule of EventBridge without a target. None if there is none.
    """

    block: BlockText
    target: BlockText | None
    policy: BlockText | None = None
    rule: BlockText | None = None


def find_silent_queues(path: str, blocks: TerraformBlocks) -> Iterator[SilentQueue]:
    """Yield the queues for Karpenter in a file that get no events. Those that may get some are left out."""
    for block in blocks.find_in(path):
        if block.kind != "aws_sqs_queue":
            continue
        given = own_arguments(block.text)
        label = f"{block.address} {given.get('name', '')}"
        if _OF_KARPENTER.search(label) is None or _DEAD_LETTERS.search(label) is not None:
            continue
        if _is_given_away(block, blocks):
            continue
        targets = [
            other
            for other in blocks.blocks
            if other.kind in _SENDING
            and _may_be(own_arguments(other.text).get(_SENDING[other.kind], ""), other, block, blocks)
        ]
        if not targets:
            yield SilentQueue(block, None, rule=_find_rule_without_target(blocks))
        elif "policy" not in given and not any("role_arn" in target.text for target in targets):
            policies = [other for other in blocks.blocks if other.kind == "aws_sqs_queue_policy"]
            ours = [p for p in policies if _may_be(own_arguments(p.text).get("queue_url", ""), p, block, blocks)]
            of_events = any(target.kind == "aws_cloudwatch_event_target" for target in targets)
            if not ours:
                yield SilentQueue(block, targets[0])
            elif of_events and all(_shuts_out_events(policy, blocks) for policy in ours):
                yield SilentQueue(block, targets[0], ours[0])


def _find_rule_without_target(blocks: TerraformBlocks) -> BlockText | None:
    """Return a rule of EventBridge about interruptions, if no block of the files creates a target."""
    if any(
        block.kind == "aws_cloudwatch_event_target" or _EVENT_MODULE.search(block.text) for block in blocks.blocks
    ):
        return None
    rules = (block for block in blocks.blocks if block.kind == "aws_cloudwatch_event_rule")
    return next((rule for rule in rules if _INTERRUPTIONS.search(rule.text)), None)


def _shuts_out_events(policy: BlockText, blocks: TerraformBlocks) -> bool:
    """Return whether the policy of a queue certainly names services, and EventBridge is not one of them."""
    written = own_arguments(policy.text).get("policy", "")
    document = blocks.trace(written, policy.source.path)
    if document is not None:
        block = blocks.find(document)
        written = block.text if block is not None and block.address.startswith("data.aws_iam_policy_document") else ""
    if not _SERVICE.search(written) or _OPEN.search(written):
        return False
    return "events" not in written


def _may_be(written: str, of: BlockText, queue: BlockText, blocks: TerraformBlocks) -> bool:
    """Return whether an expression may be the ARN or the URL of a queue."""
    found = blocks.trace(written, of.source.path)
    block = blocks.find(found) if found is not None else None
    return block is None or block == queue or block.address.startswith(("module.", "data."))


def _is_given_away(queue: BlockText, blocks: TerraformBlocks) -> bool:
    """Return whether an output or a module call has the queue or its ARN, so that code elsewhere may let
    events in.
    """
    whole = re.compile(rf"\b{re.escape(queue.address)}(?![\w-])(?:\[[^\]]*\])?+(?:\.arn\b|(?!\.))")
    calls = (block.text for block in blocks.find_beside(queue.source.path) if block.address.startswith("module."))
    outputs = (value for _, value, _ in blocks.list_outputs_of_folder(queue.source.path))
    return any(whole.search(_ORDER.sub("", text)) is not None for text in (*calls, *outputs))
