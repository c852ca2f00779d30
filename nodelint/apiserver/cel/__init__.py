"""CEL as Kubernetes evaluates it: the subset that Karpenter's rules use, and a full CEL runtime for other
expressions.

The subset is in `cel.subset`, and needs no package. The runtime is `cel-expr-python`, CEL's C++ implementation, which
the extra `cel` installs. It is imported only for an expression outside of the subset, as policies and the user's CRDs
may contain. The functions for such expressions are in `cel.functions`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from functools import cache, partial

from nodelint.apiserver.cel.subset import OutsideSubset, compile_subset
from nodelint.apiserver.cel.text import bounded, find, split, strict_int
from nodelint.apiserver.cel.text import expression as python_pattern
from nodelint.apiserver.cel.values import Failure
from nodelint.base.budget import MORE_STEPS, RUN, BudgetSpent
from nodelint.base.types import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    Value = Any
    """A value for an expression: plain dicts, lists and scalars, as in JSON."""


NOT_INSTALLED = (
    "this CEL needs the package cel-expr-python, nodelint's extra `cel`: `pip install cel-expr-python` in the"
    " environment of nodelint, or `pipx inject nodelint cel-expr-python`"
)


class Unsupported(ValueError):
    """Raised for an expression that does not compile, or that calls a function which this runtime lacks."""


class NotInstalled(Unsupported):
    """Raised if the CEL runtime is not installed, for example because no wheel exists for this Python or this
    system.
    """


class EvaluationError(Exception):
    """Raised if an evaluation ends in a CEL error, such as a missing key."""


def evaluate(compiled: Any, variables: dict[str, Value]) -> Any:
    """Return the result of an expression. Raise BudgetSpent if the expression visits too many values."""
    RUN.draw(1, 0)
    try:
        return compiled.eval(data=variables)
    except (RuntimeError, MemoryError):  # the runtime's own limits
        raise BudgetSpent(TOO_LONG) from None


def hold_to_growth(expression: str) -> None:
    """Raise Unsupported for an expression whose texts or lists may become too large.

    The runtime limits the values that it visits, but not those that it creates. A variable that occurs n times
    creates n copies of its value, multiplied for each nesting of such variables. A method that joins texts can square
    the length.
    """
    bare = re.sub(_TEXT, "''", expression)
    growth = 1.0
    for name, times in Counter(re.findall(_BINDS, bare)).items():
        growth *= max(1.0, (len(re.findall(rf"(?<![\w.]){name}\b", bare)) - times) / times) ** times
        if growth > _MOST_GROWTH:
            raise Unsupported(
                "the expression needs more steps than nodelint evaluates: its variables refer to each other"
            )
    if len(re.findall(_JOINS, bare)) > _MOST_JOINS:
        raise Unsupported(f"the expression joins or replaces texts more than {_MOST_JOINS} times")


class Program:
    """A compiled expression, by default over the variable `self`."""

    __slots__ = ("_compiled", "_error", "literals", "text")

    def __init__(self, text: str, compiled: Any, error: Any) -> None:
        self.text = text
        self._compiled = compiled
        self._error = error
        self.literals: tuple[str, ...] | None = None

    def run(self, value: Value) -> Value:
        """Return the result with `value` as `self`. Raise EvaluationError for a CEL error."""
        return self.evaluate({"self": value})

    def evaluate(self, variables: dict[str, Value]) -> Value:
        """Return the result with these variables. Raise EvaluationError for a CEL error, and BudgetSpent if it takes
        too long.
        """
        result = evaluate(self._compiled, variables)
        if result.type() == self._error:
            message = str(result.plain_value())
            if MORE_STEPS in message:
                raise BudgetSpent(TOO_LONG)
            if "not supported here" in message:
                raise Unsupported(message)
            raise EvaluationError(message)
        return result.plain_value()

    @property
    def yields(self) -> str:
        """Return the type of the result, as CEL names it: `BOOL`, `INT`; `DYN` if the type depends on the
        variables.
        """
        return str(self._compiled.return_type())

    def holds(self, value: Value) -> bool:
        """Return whether a rule is met. A CEL error counts as not met, as in the API server."""
        try:
            return self.run(value) is True
        except EvaluationError:
            return False

    def texts(self) -> tuple[str, ...]:
        """Return the string literals of the expression."""
        if self.literals is None:
            self.literals = tuple(dict.fromkeys(a or b for a, b in re.findall(_TEXT, self.text)))
        return self.literals


class SubsetProgram(Program):
    """A rule over `self` in the subset of CEL that needs no runtime."""

    __slots__ = ("_rule",)

    def __init__(self, text: str, rule: Callable[[Value], Value]) -> None:
        super().__init__(text, None, None)
        self._rule = rule

    def run(self, value: Value) -> Value:
        try:
            return self._rule(value)
        except Failure as failure:
            raise EvaluationError(str(failure)) from None


_TEXT = r"""'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)\""""
_METHOD = r"""('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")|\.(\w+)\("""
_INT = r"""('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")|(?<![\w.])int\("""

_BINDS = r"\b(?:map|bind|optMap|optFlatMap|transformList|transformMap|transformMapEntry)\(\s*(\w+)\s*,"
_JOINS = r"\.\s*(?:join|replace|format)\s*\("
_MOST_GROWTH = 10_000
_MOST_JOINS = 2
TOO_LONG = f"its CEL expressions {MORE_STEPS}"

_programs: dict[tuple[str, tuple[str, ...]], Program | Unsupported] = {}
_matches: dict[tuple[str, str], bool] = {}
_CACHED = 50_000
_SHORT = 1000
"""The most characters of a text for Python's regular expressions, which backtrack, to be fast enough."""


def compile(expression: str, variables: tuple[str, ...] = ("self",)) -> Program:
    """Return an expression compiled for these variables. Raise Unsupported if it does not compile.

    The result for a text is cached.
    """
    found = _programs.get((expression, variables))
    if found is None:
        try:
            found = _compile_subset(expression) if variables == ("self",) else None
            found = found or _compile(expression, variables)
        except Unsupported as error:
            found = error
        _programs[expression, variables] = found
    if isinstance(found, Unsupported):
        raise found
    return found


def _compile_subset(expression: str) -> Program | None:
    try:
        return SubsetProgram(expression, compile_subset(expression))
    except OutsideSubset:
        return None


def matches(text: str, pattern: str, foreign: bool = True) -> bool:
    """Return whether `pattern` (RE2, as the API server reads it) matches somewhere in `text`. Raise Unsupported
    if it is no pattern.

    A `foreign` pattern is not one of Karpenter's CRDs: Python's regular expressions may take long for it, so RE2 is
    used.
    """
    key = (pattern, text)
    known = _matches.get(key)
    if known is None:
        known = _matches_pattern(text, pattern, foreign)
        if len(_matches) >= _CACHED:
            _matches.clear()
        _matches[key] = known
    return known


def _matches_pattern(text: str, pattern: str, foreign: bool) -> bool:
    """Return whether a pattern matches a text. Python's `re` is used for Karpenter's patterns and short texts. Raise
    Unsupported for a pattern that neither `re` nor the CEL package can read.
    """
    try:
        found = python_pattern(pattern)
        if len(text) <= _SHORT and not foreign:
            return found.search(text) is not None
    except ValueError:
        found = None
    try:
        program = _compile("self.text.matches(self.pattern)", ("self",))
        return program.run({"text": text, "pattern": pattern}) is True
    except NotInstalled:
        if found is None:
            raise Unsupported(f"the pattern `{pattern}` needs the package cel-expr-python") from None
        return bounded(pattern, text).search(text) is not None
    except EvaluationError as error:
        raise Unsupported(f"the pattern `{pattern}` does not compile: {error}") from None


def _compile(expression: str, variables: tuple[str, ...]) -> Program:
    hold_to_growth(expression)
    # The runtime's own int() accepts texts such as " 1". Go's, and so the API server's, does not.
    text = expression
    if "int(" in text:
        text = re.sub(_INT, lambda m: m[1] or "strict_int(", text)
    reason = ""
    for environment in (_narrow, _wide) if variables == ("self",) else (_wide,):
        try:
            env, error, renamed = environment(variables)
        except ImportError as problem:
            raise NotInstalled(NOT_INSTALLED) from problem
        if renamed:
            text = re.sub(_METHOD, partial(_renamed, renamed), text)
        try:
            return Program(expression, env.compile(text), error)
        except Exception as problem:  # the runtime raises bare RuntimeErrors
            reason = " ".join(str(problem).split())
    raise Unsupported(reason)


def _renamed(names: dict[str, str], match: re.Match[str]) -> str:
    return match[1] or f".{names.get(match[2], match[2])}("


@cache
def _narrow(variables: tuple[str, ...]) -> tuple[Any, Any, dict[str, str]]:
    """Build a CEL environment with only the functions that Karpenter's CRDs call."""
    from cel_expr_python import cel

    kind = cel.Type
    strict = [
        cel.Overload("strict_int_string", kind.INT, [kind.STRING], False, strict_int),
        cel.Overload("strict_int_int", kind.INT, [kind.INT], False, int),
        cel.Overload("strict_int_double", kind.INT, [kind.DOUBLE], False, int),
    ]
    functions = [
        cel.FunctionDecl("strict_int", strict),
        cel.FunctionDecl("find", [cel.Overload("find", kind.STRING, [kind.STRING] * 2, True, find)]),
        cel.FunctionDecl("split", [cel.Overload("split", kind.List(kind.STRING), [kind.STRING] * 2, True, split)]),
    ]
    return cel.NewEnv(variables=dict.fromkeys(variables, kind.DYN), functions=functions), kind.ERROR, {}


@cache
def _wide(variables: tuple[str, ...]) -> tuple[Any, Any, dict[str, str]]:
    """Build a CEL environment with all functions that the rules of any CRD may call."""
    from nodelint.apiserver.cel.functions import RENAMED, environment

    return (*environment(variables), RENAMED)
