"""Read the JSON in which Terraform and Pulumi print a plan or a state.

Such a file has the same object several times: as it was, as it will be, and as a provider stores it. Only the object
as it will be is read. Values that the tool does not know yet are unknown.
"""

from __future__ import annotations

from collections.abc import Iterator

from nodelint.text.nodes import Document, MappingEntry, Node, SourceText
from nodelint.text.unknown_value import UNKNOWN

_PULUMI_UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
"""What Pulumi writes for a value that is not computed (`UnknownStringValue` of its SDK)."""
_PULUMI_SIGNATURE = "4dabf18193072939515e22adb298388d"
"""The key of a mapping that stands for a secret, or for another special value (`resource.SigKey` of Pulumi's SDK)."""
_STORED_AGAIN = {"manifest": "object", "yaml_body": "yaml_body_parsed", "values": "metadata"}
"""Attributes of Terraform's resources, each with the attribute in which the provider stores the value again."""


def is_program_output(source: SourceText) -> bool:
    """Return whether a file is a plan or a state of Terraform or Pulumi, or a template that `cdk synth` wrote."""
    return source.once("program output", lambda: any(map(_is_printed, source.documents)))


def hide_repeated_objects(root: Node) -> None:
    """Mark the repeated parts of a plan or a state as shared, so that nothing reads them, and unknown values."""
    kind = _kind(root)
    if kind == "plan":
        _hide_in_plan(root)
    elif kind == "stack":
        _hide_in_stack(root)


def _kind(root: Node) -> str | None:
    if root.style != "flow" or root.kind != "mapping":
        return None
    if root.get("format_version") is not None or root.get("lineage") is not None:
        return "plan"
    deployment, steps = root.get("deployment"), root.get("steps")
    if (deployment is not None and deployment.get("manifest") is not None) or (
        steps is not None and any(step.get("urn") is not None for step in steps.items)
    ):
        return "stack"
    return None


def _is_printed(document: Document) -> bool:
    root = document.root
    return root is not None and document.host is None and (_kind(root) is not None or _is_of_cdk(root))


def _is_of_cdk(root: Node) -> bool:
    resources = root.get("Resources")
    types = [entry.value.get("Type") for entry in resources.entries] if resources is not None else []
    return any(kind is not None and str(kind.value).startswith("Custom::AWSCDK") for kind in types)


def _hide(node: Node | None) -> None:
    for below in node.walk() if node is not None else ():
        below.shared = True


def _hide_in_plan(root: Node) -> None:
    planned = root.get("planned_values")
    if planned is not None:
        for entry in root.entries:
            if entry.value is not planned:
                _hide(entry.value)
    unknown = {}
    changes = root.get("resource_changes")
    for change in changes.items if changes is not None else ():
        address, after = change.get("address"), change.find("change", "after_unknown")
        if address is not None and after is not None:
            unknown[address.value] = after
    for node in root.walk():
        if node.kind != "mapping" or node.shared:
            continue
        values = node.get("values") or node.get("attributes")
        if values is None or values.kind != "mapping":
            continue
        for written, stored in _STORED_AGAIN.items():
            if values.get(written) is not None:
                _hide(values.get(stored))
        address = node.get("address")
        if address is not None and address.value in unknown:
            _mark_unknown(values, unknown[address.value])


def _mark_unknown(values: Node, unknown: Node) -> None:
    """Add the values that Terraform leaves out because it does not know them yet."""
    pending = [(values, unknown)]
    while pending:
        value, marked = pending.pop()
        for entry in marked.entries:
            found = value.get(entry.name) if entry.name is not None and value.kind == "mapping" else None
            if found is not None:
                pending.append((found, entry.value))
            elif entry.value.value is True and value.kind == "mapping" and entry.name is not None:
                key = Node(value.source, value.start, value.start, "scalar", "double", entry.name)
                added = Node(value.source, value.start, value.start, "scalar", "double", UNKNOWN)
                key.parent = added.parent = value
                value.entries.append(MappingEntry(key, added, entry.name))
        for item, mark in zip(value.items, marked.items, strict=False):
            pending.append((item, mark))
        if marked.value is True and value.kind == "scalar":
            value.value = UNKNOWN


def _hide_in_stack(root: Node) -> None:
    for state in _states(root):
        inputs = state.get("inputs")
        if inputs is not None and inputs.entries:
            _hide(state.get("outputs"))
    for node in root.walk():
        if node.kind == "scalar" and node.value in (_PULUMI_UNKNOWN, "[secret]"):
            node.value = UNKNOWN
        elif node.kind == "mapping" and node.get(_PULUMI_SIGNATURE) is not None:
            node.kind, node.value, node.entries = "scalar", UNKNOWN, []


def _states(root: Node) -> Iterator[Node]:
    """Yield the states of resources. Hide those of deleted resources, and old ones."""
    deployment, steps = root.get("deployment"), root.get("steps")
    _hide(deployment.get("pending_operations") if deployment is not None else None)
    resources = deployment.get("resources") if deployment is not None else None
    for resource in resources.items if resources is not None else ():
        is_deleted = resource.get("delete")
        if is_deleted is not None and is_deleted.value is True:
            _hide(resource)
        yield resource
    for step in steps.items if steps is not None else ():
        _hide(step.get("oldState"))
        new = step.get("newState")
        if new is not None:
            yield new
