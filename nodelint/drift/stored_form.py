"""An object as the API server of a release stores it: unknown fields pruned, nulls dropped, defaults filled in."""

from __future__ import annotations

from nodelint.apiserver import Schemas, check
from nodelint.apiserver.problems import holds_unknown, whole
from nodelint.apiserver.schema_node import SchemaNode
from nodelint.base.types import TYPE_CHECKING
from nodelint.drift.hashstructure import Unhashable
from nodelint.model.finding import Span, span_of, written_place
from nodelint.model.manifest import Object
from nodelint.model.open_parts import NO_OPEN_PARTS, find_open_parts
from nodelint.model.partial_objects import is_unclaimed_patch
from nodelint.model.releases import Version, is_newer
from nodelint.text import UnknownValue
from nodelint.text.missing import is_null

if TYPE_CHECKING:
    from typing import Any

    from nodelint.drift.hashstructure import Path
    from nodelint.model.open_parts import OpenParts
    from nodelint.text import Node


class Placeholder(UnknownValue):
    """A placeholder with its text: two placeholders with equal text have the same value."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Placeholder) and other.text == self.text

    def __hash__(self) -> int:
        return hash(self.text)


class OpenMap(Placeholder):
    """A map with entries that are not known: template code adds them, or their keys hold placeholders.

    `written` are the entries whose keys the file writes out, `known` those of them whose values are known. `keys` are
    the keys with placeholders; None if code may add any entry.
    """

    def __init__(self, text: str, written: dict[str, Any], keys: tuple[Placeholder, ...] | None = None) -> None:
        super().__init__(text)
        self.written = written
        self.known = {name: value for name, value in written.items() if not holds_unknown(value)}
        self.keys = keys


def placeholder_text(node: Node) -> str:
    """Return the text of an unknown value. In a rendered manifest, unknown parts are replaced by the code that
    produces them.

    Two such texts are equal only if both contain the same code.
    """
    text = node.unquoted
    source = node.source
    if source.built is None:
        return text
    from nodelint.forms.lib.made_nodes import UNSET

    if UNSET not in text:
        return text
    first = node.start + node.text.index(text)
    parts = text.split(UNSET)
    found = parts[0]
    at = first + len(parts[0])
    for part in parts[1:]:
        origin = span_of(written_place(Span(source, at, at + len(UNSET))))
        code = " ".join(origin.source.text[origin.start : origin.end].split())
        found += (code if code.startswith(("{{", "${")) else f"${{{code}}}") + part
        at += len(UNSET) + len(part)
    return found


def stored_object(obj: Object, release: Version, schemas: Schemas) -> dict[str, Any]:
    """Return an object as the API server stores it. Placeholders become `Placeholder`.

    This function does not check whether the API server accepts the object. Raise Unhashable if the release does not
    serve the object's API version, if a key is a placeholder, and if only a part of the object is known. The result
    is cached, so it must not be changed.
    """
    return obj.once("stored", (release, schemas), lambda: _read_stored(obj, release, schemas))


def _read_stored(obj: Object, release: Version, schemas: Schemas) -> dict[str, Any]:
    shape = schemas.shape(obj.kind, obj.version, release)
    if shape is None or not shape.has_release(shape):
        raise Unhashable((), f"Karpenter {release} serves no {obj.kind} in `{obj.api_version}`")
    if obj.version != "v1":
        raise Unhashable((), f"a webhook converts `{obj.api_version}` to v1 before it is stored; write it as v1")
    if obj.source.part or obj.document.part:
        raise Unhashable((), "it is a patch of an overlay, and a part of an object only")
    if is_unclaimed_patch(obj.node, obj.kind, obj.document):
        raise Unhashable((), "it is a part of an object only, and no kustomization.yaml names its file as a patch")
    parts = list_open_parts(obj)
    if parts is None:
        raise Unhashable((), "a part of it depends on template code that nodelint does not evaluate; render it first")
    value = _value(obj.node, shape, (), parts)
    assert isinstance(value, dict)  # an object is a mapping
    return value


def list_open_parts(obj: Object) -> OpenParts | None:
    """Return the parts of an object that depend on template code. None if any part may."""
    if not obj.partial:
        return NO_OPEN_PARTS
    if obj.of_values:
        return None
    return obj.once("open parts", (), lambda: find_open_parts(obj.node, obj.kind, obj.document))


def left_out(obj: Object, release: Version, schemas: Schemas) -> dict[str, Any]:
    """Return the fields of an object, by path, that `stored_object` drops although the release may have them.

    These are fields that no known release has, if the release is newer than all known ones.
    """
    if not is_newer(release):
        return {}
    found: dict[str, Any] = {}
    for problem in check(obj, release, schemas):
        if problem.layer == "unknown" and problem.node.parent is not None:
            node = problem.node.parent.get(str(problem.node.value))
            found[problem.path] = node.plain() if node is not None else None
    return found


def _value(node: Node, shape: SchemaNode | None, path: Path, parts: OpenParts) -> Any:
    if id(node) in parts.values:
        return _make_placeholder(parts.values[id(node)])
    if node.kind == "mapping":
        is_map = shape is not None and not shape.has_fields
        if is_map and (id(node) in parts.gaining or any(entry.name is None for entry in node.entries)):
            gained = parts.gaining.get(id(node))
            extra = shape.extra if shape is not None else None
            written = {e.name: _value(e.value, extra, path, parts) for e in node.entries if e.name is not None}
            if gained is not None:
                return OpenMap(_make_placeholder(node, gained).text, written)
            keys = tuple(Placeholder(placeholder_text(e.key)) for e in node.entries if e.name is None)
            return OpenMap(_make_placeholder(node).text, written, keys)
        return _mapping(node, shape, path, parts)
    if node.kind == "sequence":
        items = shape.items if shape is not None else None
        return [
            _default(items)
            if items is not None and is_null(item) and items.default
            else _value(item, items, (*path, i), parts)
            for i, item in enumerate(node.items)
        ]
    return Placeholder(placeholder_text(node)) if isinstance(node.value, UnknownValue) else whole(node.value)


def _make_placeholder(*places: Node | Span) -> Placeholder:
    """Return a placeholder for the text of some places: placeholders of the same code are equal."""
    return Placeholder(" ".join(" ".join(at.source.text[at.start : at.end] for at in places).split()))


def _mapping(node: Node, shape: SchemaNode | None, path: Path, parts: OpenParts) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for entry in node.entries:
        if entry.name is None:
            raise Unhashable(path, f"the key `{entry.key.unquoted}` is a placeholder with an unknown value")
        child = _child(shape, entry.name)
        if child is None and not (shape is None or shape.preserve or not (shape.type or shape.has_fields)):
            continue
        is_open = id(entry.value) in parts.values
        null = not is_open and is_null(entry.value) and child is not None and not child.nullable
        if not null:
            value[entry.name] = _value(entry.value, child, (*path, entry.name), parts)
        elif child is not None and child.default:
            value[entry.name] = _default(child)
    if shape is not None and id(node) in parts.gaining:
        further = _make_placeholder(parts.gaining[id(node)])
        value.update((name, further) for name in shape.names_of_release if name not in value)
    for name, child in shape.defaults if shape is not None else ():
        if name not in value:
            value[name] = _default(child)
    return value


def _child(shape: SchemaNode | None, name: str) -> SchemaNode | None:
    """Return the schema of a field, or of a map's value. None if the release does not know the field."""
    if shape is None:
        return None
    field = shape.field(name)
    if field is not None:
        return field if shape.has_release(field) else None
    return shape.extra


def _default(shape: SchemaNode) -> Any:
    return _filled(shape, shape.raw["default"])


def _filled(shape: SchemaNode | None, value: Any) -> Any:
    """Return a default value in which missing fields have their defaults."""
    if shape is None:
        return value
    if isinstance(value, dict):
        made = {name: _filled(_child(shape, name), item) for name, item in value.items()}
        for name, child in shape.defaults:
            if name not in made:
                made[name] = _default(child)
        return made
    if isinstance(value, list):
        return [_filled(shape.items, item) for item in value]
    return value
