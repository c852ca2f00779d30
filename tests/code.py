"""Python modules of the project, parsed once in a run."""

from __future__ import annotations

import ast
from collections.abc import Iterator
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


def code_texts(path: Path) -> Iterator[tuple[int, str]]:
    """The identifiers and strings of a module with their lines; docstrings and comments are left out."""
    tree = syntax_tree(path)
    docstrings = {
        id(statement.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        for statement in node.body
        if isinstance(statement, ast.Expr)
    }
    for node in nodes(path):
        line = getattr(node, "lineno", 0)
        if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes) and id(node) not in docstrings:
            yield line, node.value if isinstance(node.value, str) else node.value.decode(errors="replace")
        for field in ("id", "attr", "arg", "name", "module"):
            value = getattr(node, field, None)
            if isinstance(value, str):
                yield line, value
