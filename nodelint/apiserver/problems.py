"""A problem that the schema finds in an object, and the messages of such problems."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.model.messages import LONGEST_MESSAGE, first_fitting, short
from nodelint.model.releases import NEWEST, Version
from nodelint.text import Node, UnknownValue

if TYPE_CHECKING:
    from typing import Any, Literal

    Layer = Literal["structure", "validation", "unknown", "release", "unjudged"]
else:
    Layer = str


class SchemaProblem(NamedTuple):
    """A problem for which the API server refuses an object, or drops a field.

    `layer` is `unknown` for a field that no release has at this place; `release` for a value that the target release
    lacks (the releases from `since` on, before `until`, have it); `validation` for a CEL rule; `unjudged` for a CEL
    rule that needs a field which is missing or has the wrong type; `structure` for all other problems. `node` is the
    smallest node to report, `path` its path in the object. `suggestion` is the text that was probably meant at this
    place: the name of a field for `unknown`, else a value. `choices` are several possible ones. `wanted` is the JSON
    type that a value should have. `belongs` is the path of the object to which an unknown field belongs; if it is
    there already, the content of the field belongs there. `missing` is the missing field, to be added to the mapping
    `holder`.
    """

    layer: Layer
    node: Node
    path: str
    message: str
    suggestion: str | None = None
    choices: Sequence[str] = ()
    wanted: str = ""
    belongs: str | None = None
    missing: str | None = None
    holder: Node | None = None
    since: Version | None = None
    until: Version | None = None


_NAMES = {
    "object": "a mapping",
    "array": "a list",
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "int-or-string": "an integer or a string",
    "null": "null",
}


def fit(message: str) -> str:
    """Return a message shortened to the length of a line, at a space if possible."""
    return short(message, LONGEST_MESSAGE)


def last(path: str) -> str:
    """Return the last field of a path: `values` for `spec.requirements[0].values[1]`."""
    if not path.endswith("]"):
        return path.rpartition(".")[2] or "the object"
    quoted = _quoted(path)
    if quoted is not None:
        return quoted or "the empty key"
    while path.endswith("]") and path[(begin := path.rfind("[")) + 1 : -1].isdecimal():
        path = path[:begin]
    return path.rpartition(".")[2] or "the object"


def _quoted(path: str) -> str | None:
    """Return the quoted key in brackets at the end of a path. None if there is none."""
    begin = path.find('["') + 2
    return path[begin:-2] if path.endswith('"]') and 2 <= begin <= len(path) - 2 else None


def quote_value(value: object, room: int = 50) -> str:
    """Return a value in backticks, shortened to about `room` characters."""
    text = {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value)
    return f"`{short(text, room)}`"


def kind(value: object) -> str:
    """Return the JSON type of a scalar."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    return "number" if isinstance(value, float) else "string"


def whole(value: Any) -> Any:
    """Return a number without a fraction as an integer, as JSON for the API server has it. Any other value is
    unchanged.
    """
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e21:
        return int(value)
    return value


def same(a: Any, b: Any) -> bool:
    """Return whether two JSON values are equal. True is not equal to 1."""
    if isinstance(a, bool) != isinstance(b, bool):
        return False
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    return bool(a == b)


def token(value: Any) -> object:
    """Return a hashable value that is equal for equal JSON values, and different for different ones."""
    if isinstance(value, dict):
        return frozenset((key, token(tokens)) for key, tokens in value.items())
    if isinstance(value, list):
        return ("list", *map(token, value))
    return (isinstance(value, bool), value)


def holds_unknown(value: object) -> bool:
    """Return whether a value is a placeholder or contains one."""
    return _holds(value, UnknownValue)


def _holds(value: object, kind: type) -> bool:
    """Return whether a value has a type or contains a value of this type."""
    if isinstance(value, dict):
        return any(_holds(item, kind) for item in value.values())
    if isinstance(value, list):
        return any(_holds(item, kind) for item in value)
    return isinstance(value, kind)


class Unsound(UnknownValue):
    """The value that CEL rules see instead of one that is missing or has the wrong type. No rule can judge it."""

    __slots__ = ()


UNSOUND = Unsound()


def holds_unsound(value: object) -> bool:
    """Return whether a value is, or contains, one that is missing or has the wrong type."""
    return _holds(value, Unsound)


def converted(node: Node, value: object, wanted: str) -> str | None:
    """Return a scalar of the wrong type as a text of the right type. None if there is none.

    If a text is wanted, it is the text in the file: `1.10` and `on`, not `1.1` and `true`.
    """
    if wanted == "integer" and isinstance(value, str) and re.fullmatch(r"-?[0-9]{1,18}", value):
        return str(int(value))
    if wanted == "boolean" and isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower()
    if wanted == "string" and isinstance(value, (bool, int, float)):
        return node.text if node.style == "plain" and not node.alias else quote_value(value).strip("`")
    return None


def type_of(node: Node, path: str, wanted: str) -> str:
    """Return the message for a value of the wrong type."""
    name = last(path)
    where = f"an entry of `{name}`" if path.endswith("]") and not path.endswith('"]') else f"`{name}`"
    if node.kind == "scalar":
        value = node.value
        got = "empty" if value is None else f"the {_SCALARS[kind(value)]} {quote_value(value, 30)}"
    else:
        got = "a mapping" if node.kind == "mapping" else "a list"
    return f"{where} must be {_NAMES.get(wanted, wanted)}, but is {got}"


_SCALARS = {"boolean": "boolean", "integer": "number", "number": "number", "string": "string"}


def describe_unlisted_value(value: object, path: str, choices: Iterable[object], meant: str | None) -> str:
    """Return the message for a value that is not one of the allowed ones."""
    start = f"{quote_value(value, 40)} is not a value of `{last(path)}`"
    if meant is not None:
        return f"{start} (did you mean `{meant}`?)"
    listed = f"one of {', '.join(str(choice) for choice in choices)}"
    return first_fitting(f"{start}; use {listed}", f"{quote_value(value, 30)} is not {listed}", start)


def needs(what: str, since: Version, target: Version) -> str:
    """Return the message for a field or value that the target release does not have yet."""
    if since > NEWEST:
        return f"{what} needs Karpenter {since}, which is not released"
    message = f"{what} needs Karpenter {since} or newer"
    longer = f"{message}, the target is {target}"
    return longer if len(longer) <= LONGEST_MESSAGE else message


def no_key(name: str, path: str, choices: Iterable[str], meant: str | None) -> str:
    """Return the message for a key that a map does not allow."""
    start = f"`{last(path)}` has no key {quote_value(name, 30)}"
    if meant is not None:
        return f"{start} (did you mean `{meant}`?)"
    full = f"{start}; use one of {', '.join(choices)}"
    return full if len(full) <= LONGEST_MESSAGE else start


def too_long(value: str, path: str, most: int) -> str:
    """Return the message for a text with too many characters."""
    return f"{quote_value(value, 25)} has {len(value)} characters, `{last(path)}` allows at most {most}"


def too_short(path: str, least: int) -> str:
    """Return the message for a text with too few characters."""
    if least == 1:
        return "an empty key is not allowed" if _quoted(path) == "" else f"`{last(path)}` must not be empty"
    return f"`{last(path)}` needs at least {least} characters"


def off_pattern(value: str, path: str, pattern: str, words: str | None, meant: str | None = None) -> str:
    """Return the message for a text that does not have the required form, described in words if they are known, else
    by its pattern.
    """
    if words is not None and meant is not None:
        return (
            f"{quote_value(value, 35)} is not {words.partition(' such as ')[0].rstrip(',')} (did you mean `{meant}`?)"
        )
    if words is not None:
        return f"{quote_value(value, 35)} is not {words}"
    full = f"{quote_value(value, 30)} of `{last(path)}` does not match {pattern}"
    return full if len(full) <= LONGEST_MESSAGE else f"{quote_value(value, 40)} is not valid for `{last(path)}`"


_DATE_TIME = r"(?a)(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(\.\d+)?([Zz]|[+-]\d\d:\d\d)"
_DAYS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def is_date_time(value: str) -> bool:
    """Return whether a text is a date and time as RFC 3339 defines it."""
    match = re.fullmatch(_DATE_TIME, value)
    if match is None:
        return False
    year, month, day, hour, minute, second = (int(match[i]) for i in range(1, 7))
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    if not 1 <= month <= 12 or not 1 <= day <= _DAYS[month - 1] or (month == 2 and day == 29 and not leap):
        return False
    return year > 0 and hour < 24 and minute < 60 and second < 60
