"""Read fields of untrusted objects. A value of the wrong type counts as missing."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from nodelint.base.types import Any
from nodelint.karpenter.controller.syntax import seconds
from nodelint.model.quantities import billionths

Plain = dict[str, "Any"]

_DAYS = 10**9


def mapping(value: object, *path: str | int) -> Plain:
    """Return the mapping at the end of a path. Empty if there is none."""
    for step in path:
        value = value.get(step) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def listed(value: object) -> list[Any]:
    """Return a value if it is a list. Empty otherwise."""
    return value if isinstance(value, list) else []


def mappings(value: object) -> list[Plain]:
    """Return the mappings in a list. Empty if the value is no list."""
    return [item for item in listed(value) if isinstance(item, dict)]


def text(value: object) -> str:
    """Return a value if it is a text. Empty otherwise."""
    return value if isinstance(value, str) else ""


def texts(value: object) -> dict[str, str]:
    """Return a mapping of texts, such as labels, without values of another type."""
    return {key: item for key, item in mapping(value).items() if isinstance(key, str) and isinstance(item, str)}


def whole(value: object) -> int | None:
    """Return a value if it is a whole number. None otherwise."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def moment(value: object) -> datetime | None:
    """Return a value as a time in UTC. None if it is no time. A time without a zone is UTC."""
    if isinstance(value, datetime):
        found: datetime | None = value
    else:
        try:
            found = datetime.fromisoformat(value) if isinstance(value, str) else None
        except ValueError:
            return None
    if found is None:
        return None
    try:
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (OverflowError, ValueError):
        return None


def length(value: object) -> timedelta | None:
    """Return a duration such as `1h30m`. None for `Never`, for no duration, and for more than 31 years."""
    number = seconds(value) if isinstance(value, str) else None
    if number is None or abs(number) > _DAYS:
        return None
    return timedelta(seconds=number)


def amounts(value: object) -> dict[str, int]:
    """Return amounts of resources in billionths, without values that are no quantities."""
    found = {}
    for name, amount in mapping(value).items():
        if isinstance(amount, bool) or not isinstance(amount, (int, float, str)):
            continue
        try:
            found[str(name)] = billionths(str(amount))
        except ValueError:
            continue
    return found


def condition(obj: Plain, kind: str) -> Plain | None:
    """Return the condition of a type in an object's status. None if there is none."""
    for item in mappings(mapping(obj, "status").get("conditions")):
        if item.get("type") == kind:
            return item
    return None


def is_true(obj: Plain, kind: str) -> bool:
    """Return whether a condition of an object has the status `True`."""
    found = condition(obj, kind)
    return found is not None and found.get("status") == "True"


def meets(labels: dict[str, str], selector: object) -> bool | None:
    """Return whether labels match a label selector. An empty selector matches all. None if it is no selector."""
    if not isinstance(selector, dict):
        return None
    for key, value in mapping(selector.get("matchLabels")).items():
        if labels.get(str(key)) != value:
            return False
    return all(_meets(labels, expression) for expression in mappings(selector.get("matchExpressions")))


def _meets(labels: dict[str, str], expression: Plain) -> bool:
    value, values = labels.get(text(expression.get("key"))), listed(expression.get("values"))
    operator = expression.get("operator")
    if operator == "In":
        return value is not None and value in values
    if operator == "NotIn":
        return value is None or value not in values
    return value is not None if operator == "Exists" else operator == "DoesNotExist" and value is None
