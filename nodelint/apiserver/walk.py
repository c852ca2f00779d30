"""One walk over an object and its schema: its problems, and the value that CEL rules see.

The order is that of the API server: unknown fields, nulls dropped, defaults filled in, structure, and CEL rules. The
API server evaluates no rule if any value has the wrong type. Here, such a value is unknown to the rules, so that one
problem does not hide others.
"""

from __future__ import annotations

from nodelint.apiserver import problems as schema_words
from nodelint.apiserver import rules as schema_rules
from nodelint.apiserver import unknown
from nodelint.apiserver.cel.text import escaped
from nodelint.apiserver.defaults import fill, filled
from nodelint.apiserver.near_names import NearNames
from nodelint.apiserver.problems import SchemaProblem
from nodelint.apiserver.scalars import MOST_OFFERED, check_number, check_text, find_meant_values
from nodelint.apiserver.schema_node import LONGEST_KEPT, SchemaNode, Written, parsed
from nodelint.apiserver.sizes import check_size, check_unique
from nodelint.apiserver.walk_state import Job, WalkState
from nodelint.base.types import Any
from nodelint.text import UNKNOWN, Node, UnknownValue
from nodelint.text.missing import is_null
from nodelint.text.nodes import MappingEntry


class Walk(WalkState):
    """A walk over one object. `run` returns its problems."""

    def run(self, node: Node | None = None, path: str = "") -> list[SchemaProblem]:
        """Return all problems that the API server would report for the object, or for its part `node` at `path`."""
        self.visit(node or self.root, self.shape, path)
        if self.found:
            unknown.drop_moved_fields(self)
        self.structural = list(self.found)
        for job in self.jobs:
            self.found.extend(schema_rules.broken(job, self))
        if not self.found and not self.unknowns:
            for shape, written, value in self.judged:
                shape.keep(written, value)
        return self.found

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
        """Return a cache key for a list or mapping: its column and its text.

        None if a value with the same text may differ or have another verdict, because of an alias, a block scalar,
        an escape or template code.
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
            self.unsound(at, path, schema_words.type_of(node, path, wanted), wanted=wanted)
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
            more = {"wanted": wanted, **find_meant_values(self, node, value, shape, wanted)}
            return self.unsound(node, path, schema_words.type_of(node, path, wanted), **more)
        if self._of_another_release(node, value, shape, path):
            return value
        choices = shape.raw.get("enum")
        if choices is not None and not any(schema_words.same(value, choice) for choice in choices):
            from nodelint.apiserver import value_suggestions

            near = NearNames(choices).nearest(value) or value_suggestions.other_word(value, choices)
            few = () if near is not None or len(choices) > MOST_OFFERED else tuple(map(str, choices))
            message = schema_words.describe_unlisted_value(value, path, choices, near)
            self.say(node, path, message, suggestion=near, choices=few)
        elif isinstance(value, str) and len(value) > (most := shape.raw.get("maxLength", len(value))):
            return self.unsound(node, path, schema_words.too_long(value, path, most))
        elif isinstance(value, str):
            check_text(self, node, value, shape, path)
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            check_number(self, node, value, shape, path)
            value = float(value) if shape.type == "number" else value
        if shape.rules:
            self.jobs.append(Job(shape, node, path, value))
        return value

    def _of_another_release(self, node: Node, value: Any, shape: SchemaNode, path: str) -> bool:
        window = shape.values.get(value) if isinstance(value, str) else None
        if window is None:
            return False
        since, until = window.get("since"), window.get("until")
        return self.outside(
            node, path, f"`{value}`", parsed(since) if since else None, parsed(until) if until else None
        )

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
                values.append(filled(items, items.raw["default"]))
            else:
                values.append(self.visit(item, items, f"{path}[{index}]"))
        check_unique(self, node, shape, path, values)
        if most is not None and count > most:
            fault = f"`{schema_words.last(path)}` has {count} entries, the maximum is {most}"
            return self.unsound(node, path, fault)
        if shape.rules:
            self.jobs.append(Job(shape, node, path, values))
        return values

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
                value[name] = filled(child, child.raw["default"])
        if shape.defaults and not (self.partial or any_key):
            fill(value, shape)
        if check_size(self, node, shape, path, value, any_key):
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
            fitting = sum(not self.tried(node, schema) for schema in shapes)
            if shapes and (fitting == 0 or (keyword == "oneOf" and fitting > 1)):
                self.say(node, path, f"`{schema_words.last(path)}` has none of the allowed forms")
        for schema in shape.branches("not"):
            if not self.tried(node, schema):
                self.say(node, path, f"`{schema_words.last(path)}` has a form that is not allowed")

    def tried(self, node: Node, shape: SchemaNode) -> list[SchemaProblem]:
        """Return the problems that a value would have with another schema. Unknown fields do not count."""
        trial = Walk(self.obj, shape, self.release, loose=True)
        trial.visit(node, shape, "")
        return trial.found


_FITS = {
    "number": ("integer", "number"),
    "int-or-string": ("integer", "string"),
}
