"""CEL as Kubernetes means it: the language's own runtime, and the functions that an API server adds.

The runtime is `cel-expr-python`, CEL's C++ implementation. It is imported when the first expression
or pattern is met. The functions that only rules of foreign CRDs call lie in `cel.functions`.
"""

from __future__ import annotations

import re
from functools import cache, partial

from nodelint.apiserver.cel.text import find, split, strict_int

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any

    Value = Any
    """What an expression works on: plain dicts, lists and scalars, as JSON has them."""


NOT_INSTALLED = "rules in CEL need the package cel-expr-python, which is not installed or does not load here"


class Unsupported(ValueError):
    """An expression that does not compile here, or calls what this runtime does not have."""


class NotInstalled(Unsupported):
    """There is no CEL runtime: no wheel of it was made for this Python or this system."""


class EvaluationError(Exception):
    """An evaluation that ended in an error, such as a key that is not there."""


class Program:
    """One compiled expression over the variable `self`."""

    __slots__ = ("_compiled", "_error", "literals", "text")

    def __init__(self, text: str, compiled: Any, error: Any) -> None:
        self.text = text
        self._compiled = compiled
        self._error = error
        self.literals: tuple[str, ...] | None = None

    def run(self, value: Value) -> Value:
        """The value with `self` being `value`. An evaluation error is a `Failed`."""
        result = self._compiled.eval(data={"self": value})
        if result.type() == self._error:
            message = str(result.plain_value())
            if "not supported here" in message:
                raise Unsupported(message)
            raise EvaluationError(message)
        return result.plain_value()

    def evaluate(self, variables: dict[str, Value]) -> Value:
        """The value with these variables. An evaluation error is a `Failed`."""
        result = self._compiled.eval(data=variables)
        if result.type() == self._error:
            raise EvaluationError(str(result.plain_value()))
        return result.plain_value()

    @property
    def yields(self) -> str:
        """The type of its value, as CEL names it: `BOOL`, `INT`; `DYN` where that hangs on what it is given."""
        return str(self._compiled.return_type())

    def holds(self, value: Value) -> bool:
        """Whether a rule is met. An evaluation error counts as not met, as in an API server."""
        try:
            return self.run(value) is True
        except EvaluationError:
            return False

    def texts(self) -> tuple[str, ...]:
        """The string literals that the expression holds."""
        if self.literals is None:
            self.literals = tuple(dict.fromkeys(a or b for a, b in re.findall(_TEXT, self.text)))
        return self.literals


_TEXT = r"""'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)\""""
_METHOD = r"""('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")|\.(\w+)\("""
_INT = r"""('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")|(?<![\w.])int\("""

_programs: dict[tuple[str, tuple[str, ...]], Program | Unsupported] = {}
_matches: dict[tuple[str, str], bool] = {}
_CACHED = 50_000


def compile(expression: str, variables: tuple[str, ...] = ("self",)) -> Program:
    """Compile an expression over some variables; the same text is compiled once. Raises `Unsupported`."""
    found = _programs.get((expression, variables))
    if found is None:
        try:
            found = _compile(expression, variables)
        except Unsupported as error:
            found = error
        _programs[expression, variables] = found
    if isinstance(found, Unsupported):
        raise found
    return found


def matches(text: str, pattern: str) -> bool:
    """Whether `pattern` (RE2, as an API server reads it) is found in `text`. Raises `Unsupported`."""
    key = (pattern, text)
    known = _matches.get(key)
    if known is None:
        try:
            known = compile("self.text.matches(self.pattern)").run({"text": text, "pattern": pattern}) is True
        except NotInstalled:
            known = _matches_without(text, pattern)
        except EvaluationError as error:
            raise Unsupported(f"the pattern `{pattern}` does not compile: {error}") from None
        if len(_matches) >= _CACHED:
            _matches.clear()
        _matches[key] = known
    return known


def _matches_without(text: str, pattern: str) -> bool:
    """The same by Python's expressions, which read the patterns of CRDs alike but for the end of a text."""
    try:
        return re.search(re.sub(r"(?<!\\)\$(?![^\[]{0,200}\])", r"\\Z", pattern), text, re.ASCII) is not None
    except re.error as error:
        raise Unsupported(f"the pattern `{pattern}` does not compile: {error}") from None


def _compile(expression: str, variables: tuple[str, ...]) -> Program:
    # The runtime's own int() takes texts such as " 1"; Go's, and so an API server's, does not.
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
    """What the rules of Karpenter's CRDs use; costs a millisecond to set up."""
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
    """Everything that a rule of a foreign CRD may call."""
    from nodelint.apiserver.cel.functions import RENAMED, environment

    return (*environment(variables), RENAMED)
