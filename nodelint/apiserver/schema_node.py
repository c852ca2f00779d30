"""A node of a schema in one Karpenter release.

Reads the JSON Schema in `schemas/` (`$ref`, `propertyNames`, `x-karpenter-*`) and the OpenAPI v3 schema of a
CustomResourceDefinition. Everything is read on first use.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from functools import cache, cached_property

from nodelint.apiserver.near_names import NearNames
from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.data import shipped
from nodelint.model.releases import Version

if TYPE_CHECKING:
    from typing import Any

    Raw = dict[str, Any]
else:
    Raw = dict


Written = tuple[int, str]
"""The column in which a collection begins, and its text."""

LONGEST_KEPT = 2_000
"""The most characters of a text whose verdict is cached."""
_LONGEST_TEXT = 100
_MOST_KEPT = 500
_COMBINING = frozenset(("allOf", "anyOf", "oneOf", "not"))


class Validation(NamedTuple):
    """A CEL rule. The releases from `since` on, before `until`, have it."""

    rule: str
    message: str
    message_expression: str | None
    field_path: tuple[str, ...]
    since: Version | None
    until: Version | None


class Window(NamedTuple):
    """The releases that have a field or value: from `since` on, before `until`. None for no bound."""

    since: Version | None
    until: Version | None

    def __contains__(self, release: object) -> bool:
        assert isinstance(release, Version)
        return (self.since is None or release >= self.since) and (self.until is None or release < self.until)


_ALWAYS = Window(None, None)
_OTHERWISE = frozenset(("default", "x-karpenter-before", "x-karpenter-after", "$ref"))
"""Keywords of a schema that can give a field a default."""


class SchemaNode:
    """The schema of one value: its keywords, the schemas of its fields or entries, and its CEL rules."""

    def __init__(self, raw: Raw, root: Raw, release: Version | None) -> None:
        raw = _settled(raw, root, release)
        self.raw = raw
        self._root = root
        self._release = release
        self.foreign = release is None
        """True if the schema is from a CRD of the user, and not a bundled one."""
        kind = raw.get("type")
        self.int_or_string = raw.get("x-kubernetes-int-or-string") is True
        self.type: str = kind if isinstance(kind, str) else ""
        self.wanted = "int-or-string" if self.int_or_string else self.type
        self.nullable = raw.get("nullable") is True
        self.preserve = (
            raw.get("x-kubernetes-preserve-unknown-fields") is True or raw.get("additionalProperties") is True
        )
        properties = raw.get("properties")
        self.properties: Mapping[str, Raw] = properties if isinstance(properties, dict) else {}
        self.required: list[str] = raw.get("required") or []
        self.default = "default" in raw
        self.values: Mapping[str, Mapping[str, str]] = raw.get("x-karpenter-values") or {}
        self.moved: Mapping[str, str] = raw.get("x-karpenter-moved") or {}
        self.window = _window(raw)
        self.comes_or_goes = self.window != _ALWAYS
        """True if some releases lack the field or value."""
        self.shapes: dict[str, SchemaNode] = {}
        """The schemas of the fields that were read so far, by name."""
        self.combined = not (self.int_or_string or _COMBINING.isdisjoint(raw))
        self.bounded = "maxProperties" in raw or "minProperties" in raw
        self.sound: dict[Written | None, Any] = {}
        """The values that rules see of collections without problems, by column and text."""
        self.sound_texts: set[str] = set()
        """Texts without problems, if the schema has no CEL rules."""

    def keep(self, written: Written, value: Any) -> None:
        """Cache the value of a collection without problems, so that an equal text is not checked again."""
        if len(self.sound) >= _MOST_KEPT:
            self.sound.clear()
        self.sound[written] = value

    def keep_text(self, text: str) -> None:
        """Cache a text value without problems, so that an equal value is not checked again. Nothing is cached if the
        schema has CEL rules.
        """
        if not self.rules and len(text) < _LONGEST_TEXT:
            if len(self.sound_texts) >= _MOST_KEPT:
                self.sound_texts.clear()
            self.sound_texts.add(text)

    def field(self, name: str) -> SchemaNode | None:
        """Return the schema of a field. None if the schema does not name it."""
        found = self.shapes.get(name)
        if found is None:
            raw = self.properties.get(name)
            if raw is None:
                return None
            found = self.shapes[name] = self._child(raw)
        return found

    def place_of(self, name: str) -> str | None:
        """Return the path, from here, of the only object that has a field of this name. None if there is none or
        several.
        """
        found = self._places.get(name, [])
        return found[0] if len(found) == 1 else None

    def has_below(self, name: str) -> bool:
        """Return whether this object, or one in it, has a field of this name."""
        return name in self._places

    @cached_property
    def _places(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        pending = [(self, "")]
        while pending:
            shape, path = pending.pop()
            for name in shape.fields:
                child = shape.field(name)
                at = f"{path}.{name}" if path else name
                if child is None or at == "metadata":  # its fields are those of every object
                    continue
                found.setdefault(name, []).append(path)
                while child.items is not None:
                    child, at = child.items, at + "[]"
                if child.has_fields:
                    pending.append((child, at))
                for field in child._once_closed() if child.preserve else ():
                    found.setdefault(field, []).append(at)
        return found

    def _once_closed(self) -> Iterator[str]:
        """Yield the fields that an open map had in earlier releases, whose API server knew them by name."""
        for earlier in (self.raw.get("x-karpenter-before") or {}).values():
            yield from _settled(earlier, self._root, None).get("properties") or ()

    @property
    def fields(self) -> list[str]:
        """Return the names of all fields, including those of other releases."""
        return list(self.properties)

    @cached_property
    def names_of_release(self) -> list[str]:
        """Return the names of the fields that the target release has."""
        return [name for name in self.properties if (shape := self.field(name)) and self.has_release(shape)]

    @cached_property
    def near_names(self) -> NearNames:
        """Return the names of the target release's fields, with an index to find the one that a misspelled name
        means.
        """
        return NearNames(self.names_of_release)

    @property
    def has_fields(self) -> bool:
        """Return whether the schema lists fields of the object by name."""
        return bool(self.properties)

    @cached_property
    def defaults(self) -> list[tuple[str, SchemaNode]]:
        """Return the fields for which the API server has a default, with their schemas."""
        found = []
        for name, raw in self.properties.items():
            if not _OTHERWISE.isdisjoint(raw):
                shape = self.field(name)
                if shape is not None and shape.default and self.has_release(shape):
                    found.append((name, shape))
        return found

    def has_release(self, shape: SchemaNode) -> bool:
        """Return whether the target release has the field or value of another schema node."""
        return self._release is None or self._release in shape.window

    @cached_property
    def extra(self) -> SchemaNode | None:
        """Return the schema of a map's values. None if the object is not a map."""
        return self._optional("additionalProperties")

    @cached_property
    def items(self) -> SchemaNode | None:
        """Return the schema of a list's entries. None if the schema has none."""
        return self._optional("items")

    @cached_property
    def names(self) -> SchemaNode | None:
        """Return the schema of a map's keys. None if the schema has none."""
        return self._optional("propertyNames")

    def branches(self, keyword: str) -> list[SchemaNode]:
        """Return the schemas under `allOf`, `anyOf` or `oneOf`, or the single one under `not`."""
        raw = self.raw.get(keyword)
        if isinstance(raw, dict):
            return [self._child(raw)]
        return [self._child(branch) for branch in raw or [] if isinstance(branch, dict)]

    @cached_property
    def rules(self) -> tuple[Validation, ...]:
        """Return the CEL rules of the target release, without those about updates (`oldSelf`)."""
        return tuple(self._validations())

    def _validations(self) -> Iterator[Validation]:
        for raw in self.raw.get("x-kubernetes-validations") or []:
            rule = raw["rule"]
            window = _window(raw)
            if "oldSelf" in rule or (self._release is not None and self._release not in window):
                continue
            yield Validation(
                rule,
                raw.get("message") or f"failed rule: {rule}",
                raw.get("messageExpression"),
                _steps(raw.get("fieldPath") or ""),
                *window,
            )

    def _child(self, raw: Raw) -> SchemaNode:
        return SchemaNode(raw, self._root, self._release)

    def _optional(self, keyword: str) -> SchemaNode | None:
        raw = self.raw.get(keyword)
        return self._child(raw) if isinstance(raw, dict) else None


def _settled(raw: Raw, root: Raw, release: Version | None) -> Raw:
    """Return the schema with its `$ref` resolved and the keywords of the release."""
    reference = raw.get("$ref")
    if isinstance(reference, str):
        target: Any = root
        for step in reference.removeprefix("#/").split("/"):
            target = target[step]
        raw = {**target, **{k: v for k, v in raw.items() if k != "$ref"}}
    if release is None:
        return raw
    before, after = raw.get("x-karpenter-before") or {}, raw.get("x-karpenter-after") or {}
    changed = [before[border] for border in sorted(before, key=parsed, reverse=True) if release < parsed(border)]
    changed += [after[border] for border in sorted(after, key=parsed) if release >= parsed(border)]
    if changed:
        raw = dict(raw)
        for keywords in changed:
            raw.update(_settled(keywords, root, release))
        raw = {keyword: value for keyword, value in raw.items() if value is not None}
    return raw


def _window(raw: Raw) -> Window:
    since, until = raw.get("x-karpenter-since"), raw.get("x-karpenter-until")
    if since is None and until is None:
        return _ALWAYS
    return Window(since and parsed(since), until and parsed(until))


@cache
def parsed(text: str) -> Version:
    """Return a Karpenter release as a schema writes it."""
    return Version.parse(text)


def _steps(path: str) -> tuple[str, ...]:
    return tuple(step for step in path.split(".") if step)


def load(name: str) -> Any:
    """Return a bundled schema by its name, such as `nodepool-v1`."""
    with open(os.path.join(shipped("schemas"), f"{name}.schema.json"), "rb") as file:
        return json.load(file)
