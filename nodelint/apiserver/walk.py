"""One walk over an object and its schema: its problems, and the value that CEL rules see.

The order is that of the API server: unknown fields, nulls dropped, defaults filled in, structure, and CEL rules. The
API server evaluates no rule if any value has the wrong type. Here, such a value is unknown to the rules, so that one
problem does not hide others.
"""

from __future__ import annotations

import re

from nodelint.apiserver import problems as schema_words
from nodelint.apiserver import rules as schema_rules
from nodelint.apiserver import unknown
from nodelint.apiserver.cel.text import escaped
from nodelint.apiserver.near_names import NearNames
from nodelint.apiserver.problems import SchemaProblem
from nodelint.apiserver.schema_node import LONGEST_KEPT, SchemaNode, Written, parsed
from nodelint.apiserver.walk_state import Job, WalkState
from nodelint.base.types import TYPE_CHECKING
from nodelint.model.releases import Version
from nodelint.text import UNKNOWN, Node, UnknownValue
from nodelint.text.missing import is_null
from nodelint.text.nodes import MappingEntry

if TYPE_CHECKING:
    from typing import Any


class Walk(WalkState):
    """A walk over one object. `run` returns its problems."""

    def run(self, node: Node | None = None, path: str = "") -> list[SchemaProblem]:
        """Return all problems that the API server would report for the object, or for its part `node` at `path`."""
        self.visit(node or self.root, self.shape, path)
        if self.found:
            self._settle_moves()
        self.structural = list(self.found)
        for job in self.jobs:
            self.found.extend(schema_rules.broken(job, self))
        if not self.found and not self.unknowns:
            for shape, written, value in self.judged:
                shape.keep(written, value)
        return self.found

    def _settle_moves(self) -> None:
        """Drop the reports of missing fields for which another problem reports the field at a wrong place."""
        strays = [
            f"{problem.belongs}.{name}"
            for problem in self.found
            if problem.layer == "unknown" and problem.belongs
            for name in self._brought(problem)
        ]
        if strays:
            self.found = [
                problem
                for problem in self.found
                if not problem.missing or not any(f"{stray}.".startswith(f"{problem.path}.") for stray in strays)
            ]

    def _brought(self, problem: SchemaProblem) -> list[str]:
        """Return the names of the fields that the object gets if the unknown field of a problem is moved to the place
        to which it belongs: the field itself, or the fields in its value.
        """
        holder = problem.node.parent
        value = holder.get(problem.node.text) if holder is not None else None
        if value is not None and problem.path == f"{problem.belongs}.{schema_words.last(problem.path)}":
            return [entry.name or "" for entry in value.entries]
        return [schema_words.last(problem.path)]

    def say(self, node: Node, path: str, message: str, **more: Any) -> None:
        """Record a problem of structure."""
        self.found.append(SchemaProblem("structure", node, path, schema_words.fit(message), **more))

    def _unsound(self, node: Node, path: str, message: str, **more: Any) -> Any:
        """Record a problem that stops the API server from evaluating rules. Return the value that rules see in
        place of the wrong one.
        """
        self.unknowns = True
        self.say(node, path, message, **more)
        return schema_words.UNSOUND

    # -- values

    def visit(self, node: Node, shape: SchemaNode, path: str) -> Any:
        """Return the value of a node as rules see it, and record its problems."""
        if node.kind == "scalar":
            return self._scalar(node, shape, path)
        written = self._memo_key(node)
        is_sound = shape.sound.get(written)
        if is_sound is not None:
            return is_sound
        if node.kind == "mapping":
            fits = self._typed(node, shape, path, "object")
            value = self._mapping(node, shape, path) if fits else schema_words.UNSOUND
        else:
            fits = self._typed(node, shape, path, "array")
            value = self._sequence(node, shape, path) if fits else schema_words.UNSOUND
        if shape.combined:
            self._combined(node, shape, path)
        if written is not None:
            self.judged.append((shape, written, value))
        return value

    def _scalar(self, node: Node, shape: SchemaNode, path: str) -> Any:
        text = node.value
        if type(text) is str and text in shape.sound_texts:
            return text
        before = len(self.found)
        value = self.scalar(node, text, shape, path)
        if shape.combined:
            self._combined(node, shape, path)
        if type(text) is str and len(self.found) == before:
            shape.keep_text(text)
        return value

    def _memo_key(self, node: Node) -> Written | None:
        """Return a collection's column and text as a cache key. None if an equal text may have another value or
        verdict.
        """
        source = node.source
        if self.partial or self.loose or source.masked:
            return None
        text = source.text[node.start : node.end]
        # Aliases and block scalars depend on what is around them, escapes on the format.
        if len(text) > LONGEST_KEPT or "*" in text or "|" in text or ">" in text or "\\" in text or "\r" in text:
            return None
        return node.start - source.flat.rfind("\n", 0, node.start), text

    def _typed(self, node: Node, shape: SchemaNode, path: str, kind: str) -> bool:
        wanted = shape.wanted
        if wanted and wanted != kind:
            at = self.head(node) if node.style == "block" else node
            self._unsound(at, path, schema_words.type_of(node, path, wanted), wanted=wanted)
            return False
        return True

    def scalar(self, node: Node, value: Any, shape: SchemaNode, path: str) -> Any:
        """Return a scalar's value with the type that the schema wants, and record its problems."""
        if isinstance(value, UnknownValue):
            self.unknowns = True
            return UNKNOWN
        if value is None and shape.nullable:
            return None
        value = schema_words.whole(value)
        wanted = shape.wanted
        if wanted and schema_words.kind(value) not in _FITS.get(wanted, (wanted,)):
            more = {"wanted": wanted, **self._of_the_type(node, value, shape, wanted)}
            return self._unsound(node, path, schema_words.type_of(node, path, wanted), **more)
        if self._of_another_release(node, value, shape, path):
            return value
        choices = shape.raw.get("enum")
        if choices is not None and not any(schema_words.same(value, choice) for choice in choices):
            from nodelint.apiserver import value_suggestions

            near = NearNames(choices).nearest(value) or value_suggestions.other_word(value, choices)
            few = () if near is not None or len(choices) > _MOST_OFFERED else tuple(map(str, choices))
            message = schema_words.describe_unlisted_value(value, path, choices, near)
            self.say(node, path, message, suggestion=near, choices=few)
        elif isinstance(value, str) and len(value) > (most := shape.raw.get("maxLength", len(value))):
            return self._unsound(node, path, schema_words.too_long(value, path, most))
        elif isinstance(value, str):
            self._text(node, value, shape, path)
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            self._number(node, value, shape, path)
            value = float(value) if shape.type == "number" else value
        if shape.rules:
            self.jobs.append(Job(shape, node, path, value))
        return value

    def _of_the_type(self, node: Node, value: Any, shape: SchemaNode, wanted: str) -> dict[str, Any]:
        """Return the values that were probably meant by a scalar of the wrong type: a `suggestion`, or `choices`."""
        from nodelint.apiserver import value_suggestions

        if wanted == "array" and isinstance(value, str) and shape.items is not None:
            return {} if self.tried(node, shape.items) else {"suggestion": value}
        choices, pattern = shape.raw.get("enum"), shape.raw.get("pattern")
        text = value_suggestions.switch(value, choices) or schema_words.converted(node, value, wanted)
        if text is None or (choices is not None and text not in choices):
            meant = value_suggestions.number_without_unit(value) if wanted == "integer" else None
            few = choices if choices is not None and len(choices) <= _MOST_OFFERED else ()
            return {"choices": (meant,) if meant is not None else tuple(map(str, few))}
        if wanted == "string" and pattern and not schema_rules.matches(text, pattern, shape):
            return _fitting(text, pattern, shape)
        return {"suggestion": text}

    def _of_another_release(self, node: Node, value: Any, shape: SchemaNode, path: str) -> bool:
        window = shape.values.get(value) if isinstance(value, str) else None
        if window is None:
            return False
        since, until = window.get("since"), window.get("until")
        return self.outside(
            node, path, f"`{value}`", parsed(since) if since else None, parsed(until) if until else None
        )

    def outside(self, node: Node, path: str, what: str, since: Version | None, until: Version | None) -> bool:
        """Record a problem if the target release lacks a field or value. Return whether it does."""
        if since is not None and self.release < since:
            message = schema_words.needs(what, since, self.release)
        elif until is not None and self.release >= until:
            message = f"{what} was removed in Karpenter {until}, the target is {self.release}"
        else:
            return False
        message = schema_words.fit(message)
        self.found.append(SchemaProblem("release", node, path, message, since=since, until=until))
        return True

    def _text(self, node: Node, value: str, shape: SchemaNode, path: str) -> None:
        raw = shape.raw
        least, pattern = raw.get("minLength"), raw.get("pattern")
        if least is not None and len(value) < least:
            self.say(node, path, schema_words.too_short(path, least))
        elif pattern and not schema_rules.matches(value, pattern, shape):
            words = raw.get("patternErrorMessage")
            more = _fitting(value, pattern, shape)
            self.say(
                node, path, schema_words.off_pattern(value, path, pattern, words, more.get("suggestion")), **more
            )
        elif raw.get("format") == "date-time" and not schema_words.is_date_time(value):
            self.say(node, path, f"`{value}` is not a date and time such as 2025-01-31T12:00:00Z")

    def _number(self, node: Node, value: int | float, shape: SchemaNode, path: str) -> None:
        raw = shape.raw
        if shape.type == "integer" or shape.int_or_string:
            bits = 31 if raw.get("format") == "int32" else 63
            if not -1 << bits <= value < 1 << bits:
                self.say(node, path, f"{schema_words.quote_value(value)} does not fit in {bits + 1} bits")
                return
        low, high = raw.get("minimum"), raw.get("maximum")
        open_low, open_high = raw.get("exclusiveMinimum"), raw.get("exclusiveMaximum")
        if low is None and high is None and "multipleOf" not in raw:
            return
        name = schema_words.last(path)
        if low is not None and (value <= low if open_low is True else value < low):
            self.say(
                node, path, f"`{name}` is {value}, the minimum is {low}", choices=() if open_low else (str(low),)
            )
        elif high is not None and (value >= high if open_high is True else value > high):
            self.say(
                node, path, f"`{name}` is {value}, the maximum is {high}", choices=() if open_high else (str(high),)
            )
        elif raw.get("multipleOf") and value % raw["multipleOf"]:
            self.say(node, path, f"`{name}` is {value}, which is not a multiple of {raw['multipleOf']}")

    # -- lists

    def _sequence(self, node: Node, shape: SchemaNode, path: str) -> Any:
        raw, items = shape.raw, shape.items
        most, least = raw.get("maxItems"), raw.get("minItems")
        count = len(node.items)
        if least is not None and count < least and not (self.partial and not count):
            few = f"{least} entries" if least > 1 else "an entry"
            fault = f"`{schema_words.last(path)}` needs at least {few}; it has {count or 'none'}"
            self.say(node, path, fault)
        values = []
        for index, item in enumerate(node.items):
            if items is None:
                values.append(self._anything(item))
            elif items.default and is_null(item) and not items.nullable:
                values.append(_filled(items, items.raw["default"]))
            else:
                values.append(self.visit(item, items, f"{path}[{index}]"))
        self._unique(node, shape, path, values)
        if most is not None and count > most:
            fault = f"`{schema_words.last(path)}` has {count} entries, the maximum is {most}"
            return self._unsound(node, path, fault)
        if shape.rules:
            self.jobs.append(Job(shape, node, path, values))
        return values

    def _unique(self, node: Node, shape: SchemaNode, path: str, values: list[Any]) -> None:
        kind = shape.raw.get("x-kubernetes-list-type")
        keys = shape.raw.get("x-kubernetes-list-map-keys") or []
        if kind not in ("set", "map"):
            return
        seen: set[object] = set()
        for index, value in enumerate(values):
            mark = value
            if kind == "map" and isinstance(value, dict):
                mark = {key: value[key] for key in keys if key in value}
            if schema_words.holds_unknown(mark):
                continue
            token = schema_words.token(mark)
            if token in seen:
                shown = f"`{mark}` is" if isinstance(mark, str) else "an entry is"
                self.say(node.items[index], f"{path}[{index}]", f"{shown} listed twice")
            seen.add(token)

    # -- mappings

    def _mapping(self, node: Node, shape: SchemaNode, path: str) -> Any:
        value: dict[str, Any] = {}
        any_key = False
        renamed = unknown.fields(self, node, shape, path)
        extra, shapes = shape.extra, shape.shapes
        for entry in node.entries:
            if entry.name is None:
                self.unknowns = any_key = True
                self._anything(entry.value)
                continue
            name = renamed.get(entry.name, entry.name)
            if name is None:
                continue
            child = shapes.get(name) or shape.field(name)
            at = f"{path}.{name}" if path else name
            if child is None:
                child = extra
                name, at = self._extra(entry, name, at, shape, path, node)
            elif child.comes_or_goes and self.outside(entry.key, at, f"field `{name}`", *child.window):
                child = None  # the release drops the field, so its content is not checked
            if child is None:
                self._unread(entry.value, name, shape, value)
            elif entry.value.value is not None or entry.value.kind != "scalar" or child.nullable:
                value[name if child is extra else escaped(name)] = self.visit(entry.value, child, at)
            elif child is extra and child.default:
                value[name] = _filled(child, child.raw["default"])
        if shape.defaults and not (self.partial or any_key):
            _fill(value, shape)
        if self._size(node, shape, path, value, any_key):
            return schema_words.UNSOUND
        if shape.rules and not any_key:
            self.jobs.append(Job(shape, node, path, value))
        return value

    def _extra(
        self, entry: MappingEntry, name: str, at: str, shape: SchemaNode, path: str, node: Node
    ) -> tuple[str, str]:
        """Return the key and the path of an entry of a map, or of a field that the schema does not know."""
        if not (name.isascii() and name.replace("-", "a").replace("_", "a").isalnum()):
            at = f'{path}["{name}"]'
        if shape.extra is None or shape.names is None or is_null(entry.value):
            return name, at
        return self._key(entry.key, name, shape.names, at, path, node), at

    def _key(self, node: Node, name: str, shape: SchemaNode, at: str, path: str, holder: Node) -> str:
        """Check a key of a map. Return the key to use from here on: the one that was meant, or the key itself."""
        choices = shape.raw.get("enum")
        if choices is None or name in choices:
            self.scalar(node, name, shape, at)
            return name
        near = NearNames(choices).nearest(name)
        self.say(node, at, schema_words.no_key(name, path, choices, near), suggestion=near)
        return near if near is not None and holder.key(near) is None else name

    def _size(self, node: Node, shape: SchemaNode, path: str, value: dict[str, Any], any_key: bool) -> bool:
        """Record missing fields and a wrong number of keys. Return whether there are too many keys to evaluate
        rules.
        """
        if not self.partial and not any_key:
            for name in shape.required:
                if escaped(name) not in value and (self.loose or name not in _names_in_hints(node, shape)):
                    at = f"{path}.{name}" if path else name
                    # The message names the list, not the index of the entry.
                    entry = f" in an entry of `{schema_words.last(path)}`" if path.endswith("]") else f" in {path}"
                    where = entry if path else ""
                    message = f"required field `{name}` is missing{where}"
                    value[escaped(name)] = self._unsound(self.head(node), at, message, missing=name, holder=node)
        if not shape.bounded:
            return False
        most, least = shape.raw.get("maxProperties"), shape.raw.get("minProperties")
        count = len(value)
        if most is not None and count > most:
            name = schema_words.last(path)
            message = f"`{name}` has {count} keys, the maximum is {most}" if most else f"`{name}` must be empty"
            self._unsound(node, path, message)
            return True
        if least is not None and count < least and not self.partial and not any_key:
            self.say(node, path, f"`{schema_words.last(path)}` has {count} keys, the minimum is {least}")
        return False

    # -- fields without a schema

    def _unread(self, node: Node, name: str, shape: SchemaNode, value: dict[str, Any]) -> None:
        """Add a value without a schema to the fields of `value`, unless the API server drops it before."""
        if not self.loose or shape.preserve or not shape.type:
            value[name] = self._anything(node)

    def _anything(self, node: Node) -> Any:
        value = node.plain()
        self.unknowns = self.unknowns or schema_words.holds_unknown(value)
        return value

    def _combined(self, node: Node, shape: SchemaNode, path: str) -> None:
        for schema in shape.branches("allOf"):
            self.visit(node, schema, path)
        for keyword in ("anyOf", "oneOf"):
            shapes = shape.branches(keyword)
            fitting = sum(self._fits(node, schema) for schema in shapes)
            if shapes and (fitting == 0 or (keyword == "oneOf" and fitting > 1)):
                self.say(node, path, f"`{schema_words.last(path)}` has none of the allowed forms")
        for schema in shape.branches("not"):
            if self._fits(node, schema):
                self.say(node, path, f"`{schema_words.last(path)}` has a form that is not allowed")

    def _fits(self, node: Node, shape: SchemaNode) -> bool:
        return not self.tried(node, shape)

    def tried(self, node: Node, shape: SchemaNode) -> list[SchemaProblem]:
        """Return the problems that a value would have with another schema. Unknown fields do not count."""
        trial = Walk(self.obj, shape, self.release, loose=True)
        trial.visit(node, shape, "")
        return trial.found


def _fitting(text: str, pattern: str, shape: SchemaNode) -> dict[str, Any]:
    """Return the values that were probably meant by a text that a pattern refuses: a `suggestion`, or several
    `choices`.
    """
    from nodelint.apiserver import value_suggestions

    found = [
        candidate
        for candidate in value_suggestions.candidates(text, shape.raw.get("patternErrorMessage"))
        if schema_rules.matches(candidate, pattern, shape)
    ]
    return {"suggestion": found[0]} if len(found) == 1 else {"choices": found}


def _names_in_hints(node: Node, shape: SchemaNode) -> set[str]:
    """Return the fields that hints about fields of older APIs name, because the hints say how to write them."""
    return set(re.findall(r"\w+", " ".join(shape.moved.get(entry.name or "", "") for entry in node.entries)))


_MOST_OFFERED = 4
"""The most values that are suggested: of more, the author must read what each means."""

_FITS = {
    "number": ("integer", "number"),
    "int-or-string": ("integer", "string"),
}


def _fill(value: dict[str, Any], shape: SchemaNode) -> None:
    """Add the defaults of missing fields to a value."""
    for name, child in shape.defaults:
        if escaped(name) not in value:
            value[escaped(name)] = _filled(child, child.raw["default"])


def _filled(shape: SchemaNode, value: Any) -> Any:
    """Return a default value in which missing fields have their defaults."""
    if isinstance(value, dict):
        made = {name: _filled(shape.field(name) or shape.extra or shape, v) for name, v in value.items()}
        for name, child in shape.defaults:
            if name not in made:
                made[name] = _filled(child, child.raw["default"])
        return made
    if isinstance(value, list):
        items = shape.items
        return [value_ if items is None else _filled(items, value_) for value_ in value]
    return value
