"""The values of CEL, and its operators on them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from nodelint.apiserver.cel.text import bounded, strict_int
from nodelint.base.types import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    Value = Any
    Step = Callable[[Mapping[str, Any]], Any]


LARGEST = 2**63
BUDGET = ""
"""The key of the evaluation's budget in a scope: no variable has this name."""


class Failure(Exception):
    """Raised if an evaluation ends in a CEL error."""


def relation_step(sign: str, left: Step, right: Step) -> Step:
    if sign in ("==", "!="):
        return lambda scope: _equal(left(scope), right(scope)) is (sign == "==")
    if sign == "in":
        return lambda scope: _within(left(scope), right(scope), scope)

    def compare(scope: Mapping[str, Any]) -> bool:
        a, b = left(scope), right(scope)
        if not any(isinstance(a, kind) and isinstance(b, kind) for kind in (bool, str)) and not (
            _is_number(a) and _is_number(b)
        ):
            raise Failure("values of these types have no order")
        found: bool = {"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[sign]
        return found

    return compare


def sum_step(left: Step, right: Step) -> Step:
    def add(scope: Mapping[str, Any]) -> Value:
        a, b = left(scope), right(scope)
        if isinstance(a, str) and isinstance(b, str):
            return a + b
        raise Failure("only texts are joined here")

    return add


def match_step(target: Step, pattern: Step) -> Step:
    def match(scope: Mapping[str, Any]) -> bool:
        text = require_text(target(scope))
        try:
            return bounded(require_text(pattern(scope)), text).search(text) is not None
        except ValueError as error:
            raise Failure(str(error)) from None

    return match


def _is_number(value: Value) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _equal(a: Value, b: Value) -> bool:
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_equal(item, b[key]) for key, item in a.items())
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_equal, a, b))
    return isinstance(a, bool) is isinstance(b, bool) and bool(a == b)


def _within(value: Value, holder: Value, scope: Mapping[str, Any]) -> bool:
    if isinstance(holder, list):
        scope[BUDGET].spend(len(holder))
        if isinstance(value, str):
            return value in holder  # equal to nothing but the same text
        return any(_equal(value, item) for item in holder)
    if isinstance(holder, dict) and not isinstance(value, dict | list):
        return isinstance(value, str) and value in holder
    raise Failure("only a list or a map holds values")


def require_boolean(value: Value) -> bool:
    if not isinstance(value, bool):
        raise Failure("this is neither true nor false")
    return value


def require_text(value: Value) -> str:
    if not isinstance(value, str):
        raise Failure("this is no text")
    return value


def size_of(value: Value) -> int:
    if not isinstance(value, str | list | dict):
        raise Failure("this has no size")
    return len(value)


def format_text(value: Value) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, int | str):
        raise Failure("this is not written as a text here")
    return str(value)


def read_integer(value: Value) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise Failure("this is no integer")
    try:
        number = strict_int(value) if isinstance(value, str) else int(value)
    except (ValueError, OverflowError) as error:
        raise Failure(str(error)) from None
    if not -LARGEST <= number < LARGEST:
        raise Failure("an integer of more than 64 bits")
    return number
