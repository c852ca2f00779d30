"""Fields that the schema does not have: the field that was meant, or the object to which they belong."""

from __future__ import annotations

from collections.abc import Iterable

from nodelint.apiserver import problems as schema_words
from nodelint.apiserver.problems import SchemaProblem
from nodelint.apiserver.schema_node import SchemaNode
from nodelint.apiserver.walk_state import WalkState
from nodelint.text import MappingEntry, Node


def fields(state: WalkState, node: Node, shape: SchemaNode, path: str) -> dict[str, str | None]:
    """Report a mapping's unknown fields. Return each with the name of the field that was meant, or None."""
    renamed: dict[str, str | None] = {}
    if shape.extra is not None and shape.moved:
        return _of_a_map(state, node, shape, path)
    if shape.extra is not None or shape.preserve or state.loose or not (shape.type or shape.has_fields):
        return renamed
    present: set[str | None] = set()
    for entry in node.entries:
        name = entry.name
        if name is None or name in shape.properties:
            continue
        if state.partial and name.startswith("$"):  # a directive of a strategic merge patch
            renamed[name] = None
        else:
            present = present or {other.name for other in node.entries}
            renamed[name] = _suggest_field(state, entry, name, shape, path, present)
    return renamed


def _of_a_map(state: WalkState, node: Node, shape: SchemaNode, path: str) -> dict[str, str | None]:
    """Report the mappings in a map of scalars that older APIs had there. Return their names, each with None."""
    renamed: dict[str, str | None] = {}
    for entry in node.entries:
        if entry.name is not None and entry.name in shape.moved and entry.value.kind == "mapping":
            message = f"`{entry.name}` is not a known field: {shape.moved[entry.name]}"
            state.found.append(SchemaProblem("unknown", entry.key, f"{path}.{entry.name}", message, belongs=path))
            renamed[entry.name] = None
    return renamed


def _suggest_field(
    state: WalkState, entry: MappingEntry, name: str, shape: SchemaNode, path: str, present: Iterable[str | None]
) -> str | None:
    at = f"{path}.{name}" if path else name
    moved = shape.moved.get(name)
    suggestion = belongs = None
    if _wraps(entry, name, shape, path, present):
        message, belongs = f"`{name}` is not a known field: its content belongs in {path}", path
    elif _is_metadata(state, name, path):
        message, belongs = f"`{name}` is not a known field: it belongs under `metadata`", "metadata"
    elif moved is not None:
        message, belongs = f"`{name}` is not a known field: {moved}", state.shape.place_of(name)
    else:
        suggestion = shape.near_names.nearest(name)
        if suggestion is not None:
            message = f"`{name}` is not a known field (did you mean `{suggestion}`?)"
            if not _could_be(state, entry.value, _known_shape(shape, suggestion)):
                suggestion = None  # only a hint: the suggested field would not accept the value
        elif (
            not (path.endswith("metadata") and name in _OF_METADATA)
            and (belongs := state.shape.place_of(name)) is not None
        ):
            message = f"`{name}` is not a known field: it belongs in {belongs or 'the top level'}"
        else:
            message = f"`{name}` is not a known field" + (f" of {path}" if path else "")
    message = schema_words.fit(message)
    state.found.append(SchemaProblem("unknown", entry.key, at, message, suggestion=suggestion, belongs=belongs))
    return suggestion if suggestion not in present else None


_OF_METADATA = ("name", "namespace", "labels", "annotations")


def _is_metadata(state: WalkState, name: str, path: str) -> bool:
    """Return whether a field belongs to `metadata`: it is a name, or follows `metadata:` without an indent."""
    if state.partial or path not in ("", "spec") or name not in _OF_METADATA or (path and name != "name"):
        return False
    metadata = state.root.get("metadata")
    if metadata is not None and metadata.kind != "mapping" and metadata.value is not None:
        return False
    if metadata is not None and metadata.get(name) is not None:
        return False
    names = [entry.name for entry in state.root.entries]
    if name == "name" or "metadata" not in names:
        return name == "name"
    first, at = names.index("metadata") + 1, names.index(name)
    return first <= at and all(name in _OF_METADATA for name in names[first:at])


def _wraps(entry: MappingEntry, name: str, shape: SchemaNode, path: str, present: Iterable[str | None]) -> bool:
    """Return whether the content of a field belongs to the mapping around it, as in `spec.spec`."""
    inner = [member.name for member in entry.value.entries] if entry.value.kind == "mapping" else []
    missing = [field for field in shape.required if field not in present]
    return (
        bool(path and inner)
        and all(name is not None and name not in present and shape.field(name) is not None for name in inner)
        and (name == schema_words.last(path) or any(field in missing for field in inner))
    )


def _could_be(state: WalkState, node: Node, shape: SchemaNode) -> bool:
    """Return whether a value has a field's type, or can obviously be converted to it."""
    if node.kind != "scalar":
        return shape.type in ("", "object" if node.kind == "mapping" else "array")
    return node.value is None or all(problem.suggestion is not None for problem in state.tried(node, shape))


def _known_shape(shape: SchemaNode, name: str) -> SchemaNode:
    found = shape.field(name)
    assert found is not None  # the name comes from the shape's own fields
    return found


def drop_moved_fields(state: WalkState) -> None:
    """Drop the reports of missing fields for which another problem reports the field at a wrong place."""
    strays = [
        f"{problem.belongs}.{name}"
        for problem in state.found
        if problem.layer == "unknown" and problem.belongs
        for name in _brought_fields(problem)
    ]
    if strays:
        state.found = [
            problem
            for problem in state.found
            if not problem.missing or not any(f"{stray}.".startswith(f"{problem.path}.") for stray in strays)
        ]


def _brought_fields(problem: SchemaProblem) -> list[str]:
    """Return the names of the fields that the object gets if the unknown field of a problem is moved to the place
    to which it belongs: the field itself, or the fields in its value.
    """
    holder = problem.node.parent
    value = holder.get(problem.node.text) if holder is not None else None
    if value is not None and problem.path == f"{problem.belongs}.{schema_words.last(problem.path)}":
        return [entry.name or "" for entry in value.entries]
    return [schema_words.last(problem.path)]
