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
_SENDING = {"aws_cloudwatch_event_target": "arn", "aws_sns_topic_subscription": "endpoint"}
"""Resources that send to a queue, each with the argument that names it."""


class SilentQueue(NamedTuple):
    """A queue that gets no events.

    - `block`: the resource that creates it.
    - `target`: what sends to it although it has no policy. None if nothing sends to it.
    """

    block: BlockText
    target: BlockText | None


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
            yield SilentQueue(block, None)
        elif "policy" not in given and not any("role_arn" in target.text for target in targets):
            policies = (other for other in blocks.blocks if other.kind == "aws_sqs_queue_policy")
            if not any(_may_be(own_arguments(p.text).get("queue_url", ""), p, block, blocks) for p in policies):
                yield SilentQueue(block, targets[0])


def _may_be(written: str, of: BlockText, queue: BlockText, blocks: TerraformBlocks) -> bool:
    """Return whether an expression may be the ARN or the URL of a queue."""
    found = blocks.trace(written, of.source.path)
    block = blocks.find(found) if found is not None else None
    return block is None or block == queue or block.address.startswith(("module.", "data."))


def _is_given_away(queue: BlockText, blocks: TerraformBlocks) -> bool:
    """Return whether a module call or an output has the ARN of the queue for others, or the queue as a whole."""
    whole = re.compile(rf"\b{re.escape(queue.address)}(?![\w-])(?:\[[^\]]*\])?+(?:\.arn\b|(?!\.))")
    calls = (block.text for block in blocks.find_beside(queue.source.path) if block.address.startswith("module."))
    outputs = (value for _, value, _ in blocks.list_outputs_of_folder(queue.source.path))
    return any(whole.search(_ORDER.sub("", text)) is not None for text in (*calls, *outputs))
