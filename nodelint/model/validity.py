"""Check nodelint's own files against their JSON Schemas in `schemas/`, and list all errors with their places.

Files are normally read in a faster way. This module is loaded only for a file that was refused, because jsonschema is
slow to load.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from nodelint.base.tuples import NamedTuple
from nodelint.data import DATA, shipped
from nodelint.model.messages import did_you_mean
from nodelint.text.nodes import Node

_TYPES = {
    "string": "a string",
    "array": "a list",
    "object": "a mapping",
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
    "null": "null",
}
_LEFT_TO_THE_READER = {"config": ("pattern", "format", "minLength"), "baseline": ("pattern", "format", "minLength")}
"""For each schema, the keywords whose errors the reader of the file reports better: it knows releases and regions."""

_SNAPSHOTS = ("catalog", "tables")
"""Tables of facts that have the schema of snapshots."""

_LARGEST = 5_000_000
"""The most characters of a file in which the places of errors are searched."""

_MOST = 20
"""The most errors that are listed. The others are counted."""


class Fault(NamedTuple):
    """An error of a file.

    - `path`: the keys and indices that lead to it.
    - `message`: what is wrong.
    - `of_key`: the key is wrong, not its value.
    """

    path: tuple[str | int, ...]
    message: str
    of_key: bool = False


def faults(schema: str, values: object, root: Node | None, path: str) -> list[str]:
    """Return the errors of a file by its schema (`config`, `baseline` or `snapshot`), in the order of the file.

    `root` is the content with positions, or None. A line begins with `path:line:column`, or without positions with
    the keys that lead to the error.
    """
    try:
        from jsonschema import Draft202012Validator
    except ImportError:  # on some machines a dependency has no wheel: the reader's own message is used
        return []
    with open(os.path.join(shipped("schemas"), f"{schema}.schema.json"), encoding="utf-8") as file:
        validator = Draft202012Validator(json.load(file))
    lines: list[tuple[int, str]] = []
    for error in validator.iter_errors(values):
        for fault in _faults_of(error, root, schema):
            node = _node(fault.path, root, fault.of_key)
            if node is None:
                lines.append((0, f"{path}: {_keys(fault.path)}{fault.message}"))
            else:
                at = node.source.position(node.start)
                lines.append((at.offset, f"{path}:{at.line}:{at.column}: {fault.message}"))
    found = [line for _, line in sorted(lines, key=lambda pair: pair[0])]
    return found if len(found) <= _MOST else [*found[:_MOST], f"{path}: {len(found) - _MOST:,} more faults"]


def _node(path: Sequence[str | int], root: Node | None, of_key: bool = False) -> Node | None:
    at = root
    for step in path[:-1] if of_key else path:
        if at is None:
            return None
        if isinstance(step, int):
            at = at.items[step] if step < len(at.items) else None
        else:
            at = at.get(step) or (at.get("true") if step == "on" else None)  # `on` is true in YAML 1.1
    return at.key(str(path[-1])) if of_key and at is not None else at


def in_json(schema: str, path: str) -> list[str]:
    """Return the errors of a JSON file, one line for each.

    Empty if it is not JSON, too large, or without the key `nodelint-<schema>`: then it is another kind of file.
    """
    from nodelint.files.safe_read import read
    from nodelint.text import Source
    from nodelint.text.syntax_errors import Unreadable
    from nodelint.text.yaml.compose import compose

    try:
        text = read(path).decode("utf-8-sig")
        values = json.loads(text)
        if f"nodelint-{schema}" not in values:
            return []
        source = Source(path, text)
        roots = compose(source, text, 0, masked=False) if len(text) <= _LARGEST else []
    except (OSError, ValueError, TypeError, RecursionError, Unreadable):
        return []
    return faults(schema, values, roots[0] if roots else None, path)


def list_tables() -> list[str]:
    """Return the names of the files in `nodelint/data`. Each has a schema."""
    return sorted(name.removesuffix(".json") for name in os.listdir(DATA) if name.endswith(".json"))


def find_broken_table() -> str | None:
    """Return the first error in a file of `nodelint/data`. None if all are valid.

    An installation may be edited or damaged: then an error of a run is not a bug of nodelint.
    """
    for name in list_tables():
        path = os.path.join(DATA, f"{name}.json")
        schema = "snapshot" if name in _SNAPSHOTS else f"data/{name}"
        try:
            with open(path, encoding="utf-8") as file:
                found = faults(schema, json.load(file), None, path)
        except (OSError, ValueError, RecursionError) as error:
            return f"{path}: {error}"
        if found:
            return found[0]
    return None


def _faults_of(error: Any, root: Node | None, schema: str) -> Iterator[Fault]:
    path, rule = tuple(error.absolute_path), error.validator
    if rule in _LEFT_TO_THE_READER.get(schema, ()):
        return
    if rule == "additionalProperties":
        known = error.schema.get("properties", {})
        for key in error.instance:
            if key not in known:
                meant = did_you_mean(str(key), known) or f"; the known ones are {', '.join(known)}"
                what = "setting" if schema == "config" else "key"
                yield Fault((*path, key), f"unknown {what} `{key}`{meant}", of_key=True)
    elif rule in ("oneOf", "anyOf"):
        deeper = [fault for fault in error.context if len(fault.absolute_path) > len(path)]
        for fault in deeper:
            yield from _faults_of(fault, root, schema)
        if not deeper:
            yield Fault(path, _no_alternative(error, path, root))
    else:
        yield Fault(path, _message(error, path, root))


def _no_alternative(error: Any, path: tuple[str | int, ...], root: Node | None) -> str:
    """Return the message about a value that matches none of several alternative schemas."""
    if all(fault.validator == "required" for fault in error.context):
        ways = (" and ".join(f"`{name}`" for name in fault.validator_value) for fault in error.context)
        return f"{_list_choices(ways)} is missing"
    types = _list_choices(_type(fault.validator_value) for fault in error.context if fault.validator == "type")
    return f"{_name(path)} must be {types}, not {_describe_value(error.instance, _node(path, root))}"


def _message(error: Any, path: tuple[str | int, ...], root: Node | None) -> str:
    name, wanted, shown = _name(path), error.validator_value, _describe_value(error.instance, _node(path, root))
    if error.validator == "required":
        missing = next(name for name in wanted if error.message.startswith(repr(name)))
        return f"`{missing}` is missing"
    if error.validator == "type":
        return f"{name} must be {_type(wanted)}, not {shown}{_quotes(error)}"
    if error.validator == "not":
        return f"{' and '.join(f'`{name}`' for name in wanted['required'])} exclude each other"
    if error.validator in ("minItems", "maxItems", "items"):
        count = wanted if isinstance(wanted, int) else len(error.schema["prefixItems"])
        return f"{name} must have {count} items, not {len(error.instance)}"
    if error.validator == "uniqueItems":
        return f"{name} must have no item twice"
    musts: dict[str, Callable[[], str]] = {
        "enum": lambda: _list_choices(map(str, wanted)),
        "const": lambda: _describe_value(wanted, None),
        "pattern": lambda: _described(error.schema),
        "minimum": lambda: f"{wanted} or more",
        "exclusiveMinimum": lambda: f"more than {wanted}",
    }
    must = musts.get(error.validator)
    return f"{name}: {error.message}" if must is None else f"{name} is {shown}, must be {must()}"


def _described(schema: Mapping[str, Any]) -> str:
    """Return the description of a string with a pattern, from its schema."""
    words = str(schema.get("description", f"text that matches `{schema['pattern']}`"))
    words = words.partition(". ")[0].removesuffix(".")
    return words[0].lower() + words[1:]


def _keys(path: tuple[str | int, ...]) -> str:
    """Return the keys that lead to an error, for a file without positions: `regions[0].asked[2]: `."""
    steps = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return f"{steps.removeprefix('.')}: " if steps else ""


def _name(path: tuple[str | int, ...]) -> str:
    named = next((step for step in reversed(path) if isinstance(step, str)), None)
    if named is None:
        return "the file"
    return f"`{named}`" if path[-1] == named else f"an item of `{named}`"


def _type(wanted: str | Sequence[str]) -> str:
    return _list_choices(_TYPES[type_name] for type_name in ([wanted] if isinstance(wanted, str) else wanted))


def _list_choices(words: Iterator[str]) -> str:
    *most, last = dict.fromkeys(words)
    return f"{', '.join(most)} or {last}" if most else last


def _quotes(error: Any) -> str:
    """Return the advice to use quotes if a number is given for a string: 1.10 without quotes is the number 1.1."""
    number = isinstance(error.instance, (int, float)) and not isinstance(error.instance, bool)
    return "; put it in quotes" if error.validator_value == "string" and number else ""


def _describe_value(value: object, node: Node | None) -> str:
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    text = json.dumps(value, ensure_ascii=False, default=repr) if not isinstance(value, str) else value
    if node is not None and node.kind == "scalar" and not isinstance(value, str):
        text = node.text
    return f"`{text if len(text) <= 60 else text[:57] + '...'}`"
