"""The severities of a rule's findings: those in its file, and those of its examples."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator

from nodelint.model.finding import Severity
from nodelint.rule.definition import Rule, load_check

_ORDER: tuple[Severity, ...] = ("error", "warning", "info")


def list_severities(rule: Rule, shown: Iterable[Severity]) -> list[Severity]:
    """Return the severities of a rule, the most severe first. `shown` are those of the findings in its examples."""
    found = {*shown, *_find_written(rule)} or {rule.severity}
    return [severity for severity in _ORDER if severity in found]


def _find_written(rule: Rule) -> Iterator[Severity]:
    """Yield the severities that the file of a rule gives to its findings, and the rule's own for a finding without
    one.
    """
    path = _find_file(load_check(rule))
    if path is None:
        return
    with open(path, encoding="utf-8") as file:
        tree = ast.parse(file.read())
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Finding":
            value = next((keyword.value for keyword in node.keywords if keyword.arg == "severity"), None)
            if value is None:
                yield rule.severity
                continue
            parts = [value.body, value.orelse] if isinstance(value, ast.IfExp) else [value]
            for part in parts:
                if isinstance(part, ast.Constant):
                    yield rule.severity if part.value is None else part.value  # type: ignore[misc]


def _find_file(check: Callable[..., object]) -> str | None:
    code = getattr(check, "__code__", None)
    path = code.co_filename if code is not None else ""
    return path if path.endswith(".py") else None
