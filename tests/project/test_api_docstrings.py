"""What a rule may call says what it gives and what it raises."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator
from functools import cached_property
from types import FunctionType, ModuleType
from typing import Any

import pytest

from nodelint import api

NAMES = [name for name in api.__all__ if name not in ("EVERY_PROVIDER", "UNKNOWN")]


def loaded(name: str) -> Any:
    found = getattr(api, name)
    return found._load() if type(found).__name__ == "_Module" else found


def function_of(member: Any) -> Any:
    if isinstance(member, property):
        return member.fget
    if isinstance(member, cached_property):
        return member.func
    return getattr(member, "__func__", getattr(member, "__wrapped__", member))


def functions(owner: Any) -> Iterator[tuple[str, FunctionType, str]]:
    """The public functions of the project in a module or class, with what their surroundings say of them."""
    if isinstance(owner, FunctionType):
        yield owner.__name__, owner, inspect.getdoc(inspect.getmodule(owner)) or ""
    if not isinstance(owner, type | ModuleType):
        return
    for name, member in vars(owner).items():
        found = function_of(member)
        if name.startswith("_") or not str(getattr(found, "__module__", "")).startswith("nodelint"):
            continue
        if isinstance(found, FunctionType) and not found.__name__.startswith("<"):
            yield name, found, inspect.getdoc(inspect.getmodule(found)) or ""
        elif isinstance(owner, ModuleType) and isinstance(found, type):
            for inner, function, around in functions(found):
                yield f"{name}.{inner}", function, around


def raised(function: FunctionType) -> set[str]:
    """The exceptions that a function raises by name; one that it only passes on is not among them."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    calls = [node.exc for node in ast.walk(tree) if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call)]
    names = {ast.unparse(call.func).rpartition(".")[2] for call in calls}
    return {name for name in names if name[:1].isupper()}


@pytest.mark.parametrize("name", NAMES)
def test_what_a_rule_may_call_says_what_it_gives_and_raises(name: str) -> None:
    lacking = []
    for label, function, around in functions(loaded(name)):
        text = inspect.getdoc(function) or ""
        if not text:
            lacking.append(f"{label}: no docstring")
        lacking += [f"{label} raises {error}" for error in raised(function) if error not in text + around]
    assert not lacking
