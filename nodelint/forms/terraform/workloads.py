"""Read workloads in Terraform blocks, such as `resource "kubernetes_deployment_v1"`, as Kubernetes objects.

The provider `hashicorp/kubernetes` writes fields in snake case, and a block for each item of a list: `toleration {
... }` twice is `tolerations` with two items (its schema: kubernetes/schema_pod_spec.go).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from nodelint.base.tuples import NamedTuple
from nodelint.forms.terraform.hcl import DEEPEST, HclError, HclReader, Text
from nodelint.text.nodes import MappingEntry, Node, SourceText
from nodelint.text.unknown_value import UNKNOWN

_KINDS = {
    "deployment": ("apps/v1", "Deployment"),
    "stateful_set": ("apps/v1", "StatefulSet"),
    "daemonset": ("apps/v1", "DaemonSet"),
    "daemon_set": ("apps/v1", "DaemonSet"),
    "replication_controller": ("v1", "ReplicationController"),
    "job": ("batch/v1", "Job"),
    "cron_job": ("batch/v1", "CronJob"),
    "pod": ("v1", "Pod"),
}
WORKLOAD_RESOURCE = rf'resource[ \t]+"kubernetes_(?P<kind>{"|".join(_KINDS)})(?:_v[0-9]\w*)?"'
"""Pattern of a Terraform resource that creates pods."""

_LISTS = {
    **{name: f"{name}s" for name in ("container", "init_container", "volume", "toleration", "port", "volume_mount")},
    **{name: f"{name}s" for name in ("topology_spread_constraint", "node_selector_term", "readiness_gate")},
    **{name: f"{name}s" for name in ("volume_device", "volume_claim_template", "item")},
    **dict.fromkeys(("env", "env_from", "match_expressions", "match_fields", "host_aliases", "image_pull_secrets")),
    "preferred_during_scheduling_ignored_during_execution": None,
}
"""Blocks that are items of a list, with the name of the list. None if the list has the name of the block."""
_POD_AFFINITIES = ("pod_affinity", "pod_anti_affinity")
_REQUIRED = "required_during_scheduling_ignored_during_execution"
_MAPS = frozenset(
    ("labels", "annotations", "match_labels", "node_selector", "limits", "requests", "overhead", "csi_attributes")
)
"""Fields with keys of the user's choice."""
_NOT_FIELDS = frozenset(("timeouts", "lifecycle", "provisioner", "connection", "depends_on", "provider", "count"))
"""Attributes that Terraform itself reads, in addition to `for_each` and `wait_for_...`."""
_ACRONYMS = {"Ip": "IP", "Pid": "PID", "Ipc": "IPC", "Uid": "UID"}


class WorkloadBlock(NamedTuple):
    """A resource that creates pods: its object, and the range of its block."""

    node: Node
    start: int
    end: int


def read_workloads(source: SourceText, words: Text) -> Iterator[WorkloadBlock | HclError]:
    """Yield the workloads in the blocks of a text, and the errors of those that cannot be read."""
    reader = _BlockReader(source, words.tokens)
    tokens = words.tokens
    for index, token in enumerate(tokens):
        if token.kind != "id" or not source.text.startswith("resource", token.start):
            continue
        head = re.compile(WORKLOAD_RESOURCE).match(source.text, token.start)
        if head is None or [reader.kind(index + n) for n in (1, 2, 3)] != ["str", "str", "{"]:
            continue
        try:
            node = reader.resource(index, *_KINDS[head["kind"]])
        except HclError as error:
            yield error
        else:
            yield WorkloadBlock(node, token.start, node.end)


class _BlockReader(HclReader):
    """Reads a block and its nested blocks as the object that the provider creates."""

    def resource(self, index: int, api_version: str, kind: str) -> Node:
        """Return the object of the resource whose first token is at `index`. Raise `HclError`."""
        body, _ = self.block(index + 3, 0, "")
        made = Node(self.source, self.tokens[index].start, body.end, "mapping", "hcl-blocks")
        for name, value in (("apiVersion", api_version), ("kind", kind)):
            key, node = self.node(index + 1, index + 1, value=name), self.node(index + 1, index + 1, value=value)
            self._enter(made, name, key, node)
        for entry in body.entries:
            self._enter(made, entry.name, entry.key, entry.value)
        return made

    def block(self, index: int, depth: int, around: str) -> tuple[Node, int]:
        """Return the block whose `{` is at `index`, and the index after its `}`.

        `around` is the name of the block.
        """
        if depth > DEEPEST:
            raise self.odd(index)
        first = index
        made = Node(self.source, self.tokens[first].start, self.tokens[first].end, "mapping", "hcl-blocks")
        index = self.past_lines(index + 1)
        while self.kind(index) != "}":
            word, is_dynamic = self.word(index), False
            if self.kind(index) != "id":
                raise self.odd(index)
            start = index
            if self.kind(index + 1) == "=":
                value, after = self.value(index + 2, ("nl", "}"), depth + 1)
                if word not in _NOT_FIELDS and not (depth == 0 and word.startswith(("for_each", "wait_for"))):
                    key = self.node(start, start, value=_field(word))
                    self._enter(made, str(key.value), key, value)
            else:
                if self.kind(index + 1) == "str" and self.kind(index + 2) == "{":
                    is_dynamic, word = word == "dynamic", str(self.string(self.tokens[index + 1]))
                    index += 1
                if self.kind(index + 1) != "{":
                    raise self.odd(index + 1)
                if word in _MAPS:
                    value, after = self.object(index + 1, depth + 1)
                else:
                    value, after = self.block(index + 1, depth + 1, word)
                if is_dynamic:
                    value = Node(self.source, value.start, value.end, "scalar", "plain", UNKNOWN)
                if word not in _NOT_FIELDS:
                    self._enter_block(made, word, self.node(start, start, value=""), value, around)
            index = self.past_lines(after)
            if index == after and self.kind(index) != "}":
                raise self.odd(index)
        made.end = self.tokens[index].end
        return made, index + 1

    def word(self, index: int) -> str:
        """Return the text of the token at an index. Empty after the last token."""
        return self.text[self.tokens[index].start : self.tokens[index].end] if index < len(self.tokens) else ""

    def _enter_block(self, made: Node, word: str, key: Node, value: Node, around: str) -> None:
        """Add the content of a block: as the next item of its list, or as the value of its field."""
        if word not in _LISTS and not (word == _REQUIRED and around in _POD_AFFINITIES):
            key.value = _field(word)
            self._enter(made, key.value, key, value)
            return
        key.value = _field(_LISTS.get(word) or word)
        entry = next((entry for entry in made.entries if entry.name == key.value), None)
        if entry is None:
            items = Node(self.source, value.start, value.end, "sequence", "hcl-blocks")
            self._enter(made, key.value, key, items)
        else:
            items = entry.value
            items.end = value.end
        value.parent = items
        items.items.append(value)

    def _enter(self, made: Node, name: str | None, key: Node, value: Node) -> None:
        key.parent = value.parent = made
        made.entries.append(MappingEntry(key, value, name))


def _field(word: str) -> str:
    """Return the API name of a field: `hostPort` for `host_port`, `hostIPC` for `host_ipc`."""
    first, *others = word.split("_")
    capitals = [part.capitalize() for part in others]
    return first + "".join(_ACRONYMS.get(part, part) for part in capitals)
