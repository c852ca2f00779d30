"""The checks of a text and a number by a schema, and the values that were probably meant by a wrong one."""

from __future__ import annotations

from nodelint.apiserver import problems as schema_words
from nodelint.apiserver import rules as schema_rules
from nodelint.apiserver.schema_node import SchemaNode
from nodelint.apiserver.walk_state import WalkState
from nodelint.base.types import Any
from nodelint.text import Node

MOST_OFFERED = 4
"""The most values that are suggested: of more, the author must read what each means."""


def check_text(state: WalkState, node: Node, value: str, shape: SchemaNode, path: str) -> None:
    """Record a text that is too short, or not of the form that the schema wants."""
    raw = shape.raw
    least, pattern = raw.get("minLength"), raw.get("pattern")
    if least is not None and len(value) < least:
        state.say(node, path, schema_words.too_short(path, least))
    elif pattern and not schema_rules.matches(value, pattern, shape):
        words = raw.get("patternErrorMessage")
        more = _fitting(value, pattern, shape)
        state.say(node, path, schema_words.off_pattern(value, path, pattern, words, more.get("suggestion")), **more)
    elif raw.get("format") == "date-time" and not schema_words.is_date_time(value):
        state.say(node, path, f"`{value}` is not a date and time such as 2025-01-31T12:00:00Z")


def check_number(state: WalkState, node: Node, value: int | float, shape: SchemaNode, path: str) -> None:
    """Record a number that its type cannot hold, or outside the bounds of the schema."""
    raw = shape.raw
    if shape.type == "integer" or shape.int_or_string:
        bits = 31 if raw.get("format") == "int32" else 63
        if not -1 << bits <= value < 1 << bits:
            state.say(node, path, f"{schema_words.quote_value(value)} does not fit in {bits + 1} bits")
            return
    low, high = raw.get("minimum"), raw.get("maximum")
    open_low, open_high = raw.get("exclusiveMinimum"), raw.get("exclusiveMaximum")
    if low is None and high is None and "multipleOf" not in raw:
        return
    name = schema_words.last(path)
    if low is not None and (value <= low if open_low is True else value < low):
        state.say(node, path, f"`{name}` is {value}, the minimum is {low}", choices=() if open_low else (str(low),))
    elif high is not None and (value >= high if open_high is True else value > high):
        state.say(
            node, path, f"`{name}` is {value}, the maximum is {high}", choices=() if open_high else (str(high),)
        )
    elif raw.get("multipleOf") and value % raw["multipleOf"]:
        state.say(node, path, f"`{name}` is {value}, which is not a multiple of {raw['multipleOf']}")


def find_meant_values(state: WalkState, node: Node, value: Any, shape: SchemaNode, wanted: str) -> dict[str, Any]:
    """Return the values that were probably meant by a scalar of the wrong type: a `suggestion`, or `choices`."""
    from nodelint.apiserver import value_suggestions

    if wanted == "array" and isinstance(value, str) and shape.items is not None:
        return {} if state.tried(node, shape.items) else {"suggestion": value}
    choices, pattern = shape.raw.get("enum"), shape.raw.get("pattern")
    text = value_suggestions.switch(value, choices) or schema_words.converted(node, value, wanted)
    if text is None or (choices is not None and text not in choices):
        meant = value_suggestions.number_without_unit(value) if wanted == "integer" else None
        few = choices if choices is not None and len(choices) <= MOST_OFFERED else ()
        return {"choices": (meant,) if meant is not None else tuple(map(str, few))}
    if wanted == "string" and pattern and not schema_rules.matches(text, pattern, shape):
        return _fitting(text, pattern, shape)
    return {"suggestion": text}


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
