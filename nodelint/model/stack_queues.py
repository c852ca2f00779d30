"""Find interruption queues in templates of CloudFormation: their names, and those that get or accept no events."""

from __future__ import annotations

import re

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.model.finding import Span

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from nodelint.text import MappingEntry, Node, Source

__all__ = ["SilentStackQueue", "find_silent_queues", "list_queue_names"]

_OF_KARPENTER = re.compile(r"(?i)karpenter|interruption")
_DEAD_LETTERS = re.compile(r"(?i)dlq|dead")
_MADE_ELSEWHERE = re.compile(r"AWS::CloudFormation::(?:Stack|Macro)\b|Fn::(?:Transform|ForEach)|!Transform")
_READERS = ("AWS::IAM::", "AWS::CloudWatch::", "AWS::Events::Rule", "AWS::SQS::QueuePolicy")
"""Types of resources that name a queue and let nothing else send to it."""


class SilentStackQueue(NamedTuple):
    """A queue that gets no events.

    - `at`: the name of its resource.
    - `target`: the target that sends to it although it may not. None if nothing sends to it.
    - `policy`: its policy, which does not allow EventBridge. None if it has none.
    - `rule`: a rule of EventBridge without a target. None if there is none.
    """

    at: Span
    target: Span | None = None
    policy: Span | None = None
    rule: Span | None = None


class _Resource(NamedTuple):
    at: Span
    kind: str
    node: Node

    def find(self, key: str) -> Node | None:
        """Return a property. None if it is not set."""
        return self.node.find("Properties", key)

    @property
    def text(self) -> str:
        return self.node.source.text[self.node.start : self.node.end]


def _make_resource(entry: MappingEntry) -> _Resource:
    return _Resource(
        Span(entry.key.source, entry.key.start, entry.key.end), _text_of(entry.value.get("Type")), entry.value
    )


def find_silent_queues(source: Source) -> Iterator[SilentStackQueue]:
    """Yield the queues for Karpenter in the templates of a file that get no events.

    Queues that may get events are left out. So are templates that a macro or a nested template completes.
    """
    for document in source.documents:
        resources = document.root.get("Resources") if document.root is not None else None
        if document.root is None or resources is None or document.root.get("Transform") is not None:
            continue
        if _MADE_ELSEWHERE.search(source.text, document.root.start, document.root.end) is not None:
            continue
        made = {str(entry.name): _make_resource(entry) for entry in resources.entries}
        for name, queue in made.items():
            label = f"{name} {_text_of(queue.find('QueueName'))}"
            if queue.kind != "AWS::SQS::Queue" or _OF_KARPENTER.search(label) is None:
                continue
            if _DEAD_LETTERS.search(label) is None and not _is_given_away(name, made, document.root):
                yield from _judge(name, queue, made)


def list_queue_names(source: Source) -> Iterator[tuple[str | None, Span]]:
    """Yield the name and the place of each queue for Karpenter in the templates of a file.

    The name is a quoted string, in which references are written `${...}`. It is None if it is not known.
    """
    for document in source.documents:
        resources = document.root.get("Resources") if document.root is not None else None
        for entry in resources.entries if resources is not None else ():
            queue = _make_resource(entry)
            written = queue.find("QueueName")
            label = f"{entry.name} {_text_of(written)}"
            if queue.kind != "AWS::SQS::Queue" or _OF_KARPENTER.search(label) is None or _DEAD_LETTERS.search(label):
                continue
            is_plain = written is not None and isinstance(written.value, str) and written.tag in (None, "", "!Sub")
            yield (f'"{written.value}"' if is_plain and written is not None else None), queue.at


def _judge(name: str, queue: _Resource, made: Mapping[str, _Resource]) -> Iterator[SilentStackQueue]:
    """Yield the queue if it certainly gets no events."""
    rules = [resource for resource in made.values() if resource.kind == "AWS::Events::Rule"]
    aims = [(target, _find_aim(arn, made)) for rule in rules for target, arn in _list_targets(rule)]
    if all(aim not in (None, name) for _, aim in aims):
        without = next((rule.at for rule in rules if not aims and rule.find("Targets") is None), None)
        yield SilentStackQueue(queue.at, rule=without)
        return
    sending = [target for target, aim in aims if aim == name]
    may_send = any(aim is None or target.get("RoleArn") is not None for target, aim in aims)
    policies = [resource for resource in made.values() if resource.kind == "AWS::SQS::QueuePolicy"]
    ours = [policy for policy in policies if _may_be_of(policy, name, made)]
    if not may_send and all(_shuts_out_events(policy) for policy in ours):
        target = sending[0]
        yield SilentStackQueue(
            queue.at, Span(queue.at.source, target.start, target.end), policy=ours[0].at if ours else None
        )


def _list_targets(rule: _Resource) -> Iterator[tuple[Node, Node | None]]:
    """Yield (target, its ARN) for each target of a rule; an ARN of None for what is not known."""
    targets = rule.find("Targets")
    if targets is None:
        return
    if targets.kind != "sequence" or _is_tagged(targets):
        yield targets, None
    for target in targets.items:
        yield target, target.get("Arn") if target.kind == "mapping" else None


def _find_aim(node: Node | None, made: Mapping[str, _Resource]) -> str | None:
    """Return the name of the resource in the template to which a reference leads. None if it is not known."""
    if node is None:
        return None
    if node.kind == "mapping":
        given = node.get("Fn::GetAtt") or node.get("Ref") if len(node.entries) == 1 else None
    else:
        given = node if node.tag in ("!GetAtt", "!Ref") else None
    first = given.items[0] if given is not None and given.items else given
    name = _text_of(first).partition(".")[0] if first is not None and first.kind == "scalar" else ""
    return name if name in made else None


def _may_be_of(policy: _Resource, name: str, made: Mapping[str, _Resource]) -> bool:
    """Return whether a policy may be that of a queue."""
    queues = policy.find("Queues")
    if queues is None or queues.kind != "sequence" or _is_tagged(queues):
        return True
    return any(_find_aim(queue, made) in (None, name) for queue in queues.items)


def _shuts_out_events(policy: _Resource) -> bool:
    """Return whether a policy of a queue certainly allows other services than EventBridge only."""
    statements = policy.node.find("Properties", "PolicyDocument", "Statement")
    if statements is None or _is_tagged(statements):
        return False
    for statement in statements.items or [statements]:
        if _text_of(statement.get("Effect")) == "Deny":
            continue
        service = statement.find("Principal", "Service")
        principal = statement.get("Principal")
        if service is None or principal is None or len(principal.entries) != 1 or _is_tagged(service):
            return False
        for item in service.items or [service]:
            if item.kind != "scalar" or _is_tagged(item) or str(item.value).startswith("events."):
                return False
    return True


def _is_given_away(name: str, made: Mapping[str, _Resource], root: Node) -> bool:
    """Return whether an output, or a resource that may let others send, refers to a queue by more than its name."""
    named = re.compile(rf"(?<![\w:]){re.escape(name)}\b(?![\"'\s,.]{{1,80}}QueueName)")
    parts = [resource.text for other, resource in made.items() if not _is_reader(resource) and other != name]
    parts += [
        entry.value.source.text[entry.value.start : entry.value.end]
        for entry in root.entries
        if entry.name not in ("Resources", "Description", "Metadata")
    ]
    return any(named.search(part) is not None for part in parts)


def _is_reader(resource: _Resource) -> bool:
    return resource.kind.startswith(_READERS)


def _is_tagged(node: Node) -> bool:
    return (node.tag or "").startswith("!")


def _text_of(node: Node | None) -> str:
    return node.source.text[node.start : node.end].strip("\"'") if node is not None else ""
