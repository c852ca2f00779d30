"""The options of each command are those that its function and the types of its flags name."""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import click
import pytest

from nodelint.commands._fast_argv import plain
from tests.code import syntax_tree
from tests.conftest import ROOT

COMMANDS = ROOT / "nodelint" / "commands"


def all_commands() -> Iterator[tuple[str, click.Command]]:
    """Every command, and those of a group, each with its name."""
    for path in sorted(COMMANDS.glob("[a-z]*.py")):
        command = importlib.import_module(f"nodelint.commands.{path.stem.replace('-', '_')}").command
        if isinstance(command, click.Group):
            yield from ((f"{path.stem} {name}", inner) for name, inner in command.commands.items())
        else:
            yield path.stem, command


@cache
def flag_types(path: Path) -> dict[str, ast.ClassDef]:
    """The types of flags by name: a checker of types reads them, and no run loads them."""
    return {node.name: node for node in ast.walk(syntax_tree(path)) if isinstance(node, ast.ClassDef)}


def keys_of(name: str) -> set[str]:
    node = flag_types(COMMANDS / "_flags.py").get(name)
    if node is None:
        return set()
    own = {
        field.target.id
        for field in node.body
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
    }
    return own.union(*(keys_of(ast.unparse(base)) for base in node.bases))


@pytest.mark.parametrize(
    ("name", "command"), [*all_commands()], ids=lambda value: value if isinstance(value, str) else ""
)
def test_the_types_of_flags_name_the_options(name: str, command: click.Command) -> None:
    assert command.callback is not None
    parameters = inspect.signature(inspect.unwrap(command.callback)).parameters.values()
    named = {parameter.name for parameter in parameters if parameter.kind is not parameter.VAR_KEYWORD}
    named.discard("context")  # click's own
    for parameter in parameters:
        if parameter.kind is parameter.VAR_KEYWORD:
            assert parameter.annotation.startswith("Unpack["), f"{name}: the flags have no type"
            named |= keys_of(parameter.annotation.removeprefix("Unpack[").removesuffix("]"))
    given = {option.name for option in command.params if option.expose_value and option.name != "help"}
    assert named == given


def test_arguments_that_are_read_without_click_are_those_of_the_command() -> None:
    options = plain(["check"])
    assert options is not None
    assert set(options) == keys_of("CheckFlags") | {"watch"}
    for name, own in (
        ("plan", keys_of("PlanSettingFlags") | {"paths", "against", "old", "live", "outputs", "output", "gate"}),
        ("fit", keys_of("ExplainFlags") | {"paths", "workload", "cost", "outputs", "output"}),
    ):
        options = plain([name])
        assert options is not None
        assert set(options) == own
