"""The subset of CEL in which Karpenter's own rules are written, compiled to Python functions.

These rules need no package, and no time to load one. Other expressions need CEL's own runtime. The semantics are
those of the language's specification: an error in `&&`, `||`, `all` or `exists` counts only if no other operand
decides.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from nodelint.apiserver.cel.text import degree
from nodelint.apiserver.cel.values import (
    BUDGET,
    LARGEST,
    Failure,
    format_text,
    match_step,
    read_integer,
    relation_step,
    require_boolean,
    require_text,
    size_of,
    sum_step,
)
from nodelint.base.budget import WorkBudget
from nodelint.base.types import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    Value = Any
    Step = Callable[[Mapping[str, Any]], Any]


class OutsideSubset(Exception):
    """Raised for an expression that only CEL's own runtime can evaluate."""


_TOKEN = re.compile(
    r"""\s*+(?:(?P<text>'(?:[^'\\\n]|\\['"\\])*'|"(?:[^"\\\n]|\\['"\\])*")|(?P<int>[0-9]+)(?![\w.])"""
    r"""|(?P<name>[A-Za-z_]\w*)(?!['"])|(?P<sign>\|\||&&|[=!<>]=|[()\[\]{},:.!<>+?]))"""
)
_MOST_DIGITS = 19
_DEEPEST = 24
"""The deepest nesting of brackets, conditions and negations."""
_MOST_LINKS = 300
"""The most fields, indexes, comparisons and sums of an expression: each one nests the Python calls deeper."""
_MACROS = ("all", "exists", "exists_one", "filter")
_LITERALS = {"true": True, "false": False, "null": None}


def compile_subset(text: str) -> Callable[[Value], Value]:
    """Return a function that evaluates an expression for a value of `self`, or raises Failure. Raise OutsideSubset
    for other expressions.
    """
    step = _Parser(text).whole()

    def run(value: Value) -> Value:
        budget = WorkBudget()
        try:
            _hold_to_values(value)
        except Failure as failure:  # raised only if the expression uses `self`
            return step({"self": failure, BUDGET: budget})
        return step({"self": value, BUDGET: budget})

    return run


def _hold_to_values(value: Value) -> None:
    """Raise Failure if a value is no CEL value, or contains one that is not.

    Placeholders and integers of more than 64 bits are not CEL values.
    """
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            if type(item) is not str:  # most are texts
                _hold_to_values(item)
    elif isinstance(value, int):
        if not -LARGEST <= value < 2 * LARGEST:
            raise Failure("an integer of more than 64 bits")
    elif value is not None and not isinstance(value, (str, float)):
        raise Failure(f"no value of CEL: {type(value).__name__}")


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    at, end = 0, len(text.rstrip())
    while at < end:
        found = _TOKEN.match(text, at)
        if found is None or found.lastgroup is None:
            raise OutsideSubset
        yield found.lastgroup, found[found.lastgroup]
        at = found.end()


class _Parser:
    """A parser of CEL expressions.

    Each method reads one part of the grammar and returns the function that evaluates it.
    """

    def __init__(self, text: str) -> None:
        self.tokens = list(_tokens(text))
        self.at = 0
        self.bound: list[str] = []
        self.depth = 0
        self.links = 0

    def whole(self) -> Step:
        step = self.choice()
        if self.at < len(self.tokens):
            raise OutsideSubset
        return step

    def take(self, *signs: str) -> str:
        """Return the next token and move on if it is one of these signs or words. Else return an empty text."""
        kind, token = self.tokens[self.at] if self.at < len(self.tokens) else ("", "")
        if kind not in ("sign", "name") or token not in signs:
            return ""
        self.at += 1
        return token

    def expect(self, sign: str) -> None:
        if not self.take(sign):
            raise OutsideSubset

    def nested(self, part: Callable[[], Step]) -> Step:
        """Return the function of a nested part of the expression. Raise OutsideSubset if the nesting is too deep."""
        self.depth += 1
        if self.depth > _DEEPEST:
            raise OutsideSubset
        step = part()
        self.depth -= 1
        return step

    def link(self, *signs: str) -> str:
        """Return the next token if it is one of these signs, which continue an expression. Raise OutsideSubset if
        there are too many.
        """
        sign = self.take(*signs)
        self.links += bool(sign)
        if self.links > _MOST_LINKS:
            raise OutsideSubset
        return sign

    def choice(self) -> Step:
        return self.nested(self.conditional)

    def conditional(self) -> Step:
        condition = self.disjunction()
        if not self.take("?"):
            return condition
        first = self.disjunction()
        self.expect(":")
        second = self.choice()
        return lambda scope: (first if require_boolean(condition(scope)) else second)(scope)

    def disjunction(self) -> Step:
        return self.joined("||", self.conjunction, True)

    def conjunction(self) -> Step:
        return self.joined("&&", self.relation, False)

    def joined(self, sign: str, part: Callable[[], Step], decisive: bool) -> Step:
        parts = [part()]
        while self.take(sign):
            parts.append(part())
        return parts[0] if len(parts) == 1 else lambda scope: _decide(parts, (scope,) * len(parts), decisive)

    def relation(self) -> Step:
        left = self.sum()
        while sign := self.link("==", "!=", "<", "<=", ">", ">=", "in"):
            left = relation_step(sign, left, self.sum())
        return left

    def sum(self) -> Step:
        left = self.unary()
        while self.link("+"):
            left = sum_step(left, self.unary())
        return left

    def unary(self) -> Step:
        if not self.take("!"):
            return self.member()
        inner = self.nested(self.unary)
        return lambda scope: not require_boolean(inner(scope))

    def member(self) -> Step:
        step = self.primary()
        while sign := self.link(".", "["):
            if sign == "[":
                step = _indexed(step, self.choice())
                self.expect("]")
                continue
            name = self.name()
            step = self.call(step, name) if self.take("(") else _selected(step, name)
        return step

    def name(self) -> str:
        kind, token = self.tokens[self.at] if self.at < len(self.tokens) else ("", "")
        if kind != "name":
            raise OutsideSubset
        self.at += 1
        return token

    def call(self, target: Step, name: str) -> Step:
        """Return the function of a method call. The opening bracket has been read."""
        if name in _MACROS:
            variable = self.name()
            self.expect(",")
            self.bound.append(variable)
            condition = self.choice()
            self.bound.pop()
            self.expect(")")
            return _macro(name, target, variable, condition)
        given = self.listed(")")
        if name == "size" and not given:
            return lambda scope: size_of(target(scope))
        if name == "startsWith" and len(given) == 1:
            return lambda scope: require_text(target(scope)).startswith(require_text(given[0](scope)))
        if name == "matches" and len(given) == 1:
            kind, token = self.tokens[self.at - 2]
            if kind == "text" and degree(token[1:-1]) is None:
                raise OutsideSubset
            return match_step(target, given[0])
        raise OutsideSubset

    def listed(self, end: str) -> list[Step]:
        found: list[Step] = []
        while not self.take(end):
            if found:
                self.expect(",")
            found.append(self.choice())
        return found

    def primary(self) -> Step:
        if self.take("("):
            step = self.choice()
            self.expect(")")
            return step
        if self.take("["):
            first = self.at
            items = self.listed("]")
            if all(kind in ("text", "int") or token == "," for kind, token in self.tokens[first : self.at - 1]):
                constants = [item({}) for item in items]  # a list of allowed values is used for each value
                return lambda scope: constants
            return lambda scope: [item(scope) for item in items]
        if self.take("{"):
            return self.mapping()
        kind, token = self.tokens[self.at] if self.at < len(self.tokens) else ("", "")
        self.at += 1
        if kind == "text":
            text = re.sub(r"\\(.)", r"\1", token[1:-1])
            return lambda scope: text
        if kind == "int" and len(token) <= _MOST_DIGITS and int(token) < LARGEST:
            number = int(token)
            return lambda scope: number
        if kind != "name":
            raise OutsideSubset
        if token in _LITERALS:
            return lambda scope: _LITERALS[token]
        if self.take("("):
            return self.function(token)
        if token != "self" and token not in self.bound:
            raise OutsideSubset
        return _variable(token)

    def mapping(self) -> Step:
        entries: list[tuple[Step, Step]] = []
        while not self.take("}"):
            if entries:
                self.expect(",")
            key = self.choice()
            self.expect(":")
            entries.append((key, self.choice()))
        return lambda scope: {key(scope): value(scope) for key, value in entries}

    def function(self, name: str) -> Step:
        """Compile the call of a function whose opening bracket has been read.

        Raise OutsideSubset for a function that the subset does not have.
        """
        if name == "has":
            return self.presence()
        given = self.listed(")")
        act = {"int": read_integer, "size": size_of, "string": format_text}.get(name)
        if len(given) != 1 or act is None:
            raise OutsideSubset
        return lambda scope: act(given[0](scope))

    def presence(self) -> Step:
        """Return the function of `has(a.b.c)`: whether the value of `a.b` has the field `c`."""
        step, name = self.primary(), ""
        while self.link("."):
            step, name = _selected(step, name) if name else step, self.name()
        if not name:
            raise OutsideSubset
        self.expect(")")

        def has_field(scope: Mapping[str, Any]) -> bool:
            holder = step(scope)
            if not isinstance(holder, dict):
                raise Failure("only a map has fields")
            return name in holder

        return has_field


def _variable(name: str) -> Step:
    def look_up(scope: Mapping[str, Any]) -> Value:
        found = scope[name]
        if isinstance(found, Failure):
            raise found
        return found

    return look_up


def _decide(parts: Iterable[Step], scopes: Iterable[Mapping[str, Any]], decisive: bool) -> bool:
    """Return the result of `||` if `decisive` is true, else of `&&`. An error counts only if no operand decides."""
    failure: Failure | None = None
    for part, scope in zip(parts, scopes, strict=False):
        try:
            if require_boolean(part(scope)) is decisive:
                return decisive
        except Failure as error:
            failure = error
    if failure is not None:
        raise failure
    return not decisive


def _macro(name: str, target: Step, variable: str, condition: Step) -> Step:
    def scopes(scope: Mapping[str, Any]) -> list[dict[str, Any]]:
        items = target(scope)
        if not isinstance(items, dict | list):
            raise Failure("only a list or a map has items")
        scope[BUDGET].spend(len(items))
        return [{**scope, variable: item} for item in items]

    if name in ("all", "exists"):
        decisive = name == "exists"

        def decide(scope: Mapping[str, Any]) -> bool:
            inner = scopes(scope)
            return _decide((condition,) * len(inner), inner, decisive)

        return decide

    def select_items(scope: Mapping[str, Any]) -> list[Any]:
        return [inner[variable] for inner in scopes(scope) if require_boolean(condition(inner))]

    return select_items if name == "filter" else lambda scope: len(select_items(scope)) == 1


def _selected(step: Step, name: str) -> Step:
    def select(scope: Mapping[str, Any]) -> Value:
        holder = step(scope)
        if not isinstance(holder, dict) or name not in holder:
            raise Failure(f"there is no `{name}`")
        return holder[name]

    return select


def _indexed(step: Step, index: Step) -> Step:
    def take(scope: Mapping[str, Any]) -> Value:
        holder, at = step(scope), index(scope)
        if isinstance(holder, list) and isinstance(at, int) and not isinstance(at, bool) and 0 <= at < len(holder):
            return holder[at]
        if isinstance(holder, dict) and isinstance(at, str) and at in holder:
            return holder[at]
        raise Failure("nothing has this index")

    return take
