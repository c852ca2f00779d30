"""Python modules of the project, parsed once in a run."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path


@cache
def syntax_tree(path: Path) -> ast.Module:
    """The module as Python's parser reads it."""
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def nodes(path: Path) -> list[ast.AST]:
    """All nodes of a module, from the outside in."""
    return list(ast.walk(syntax_tree(path)))


def called_name(function: ast.expr) -> str:
    """The last word of what is called: `echo` of `click.echo`. It costs far less than `ast.unparse`."""
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""
