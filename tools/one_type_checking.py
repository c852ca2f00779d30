"""Take `TYPE_CHECKING` from `nodelint.base.types`, and import at the top what a module loads anyway.

    python tools/one_type_checking.py nodelint                  the constant alone
    python tools/one_type_checking.py --move nodelint/text ...  also imports for types of what is loaded anyway

An import for types alone stays below `if TYPE_CHECKING:` where it keeps a module unloaded, or where the two modules
import each other. A tool for the length of one change: it goes when no branch is left that needs it.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import TypeGuard

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "nodelint"
HOME = "nodelint.base.types"
CHEAP = {"collections.abc", "types"}


def modules() -> dict[str, Path]:
    """Return the modules of the package by name."""
    return {
        ".".join(p.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): p
        for p in PACKAGE.rglob("*.py")
    }


MOVES = "--move" in sys.argv
NAMES = modules()


def is_for_types(node: ast.stmt) -> TypeGuard[ast.If]:
    """Whether a statement is an `if TYPE_CHECKING:`."""
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def imported(node: ast.stmt) -> set[str]:
    """Return the modules that an import loads."""
    if isinstance(node, ast.Import):
        return {alias.name for alias in node.names}
    if isinstance(node, ast.ImportFrom) and node.module:
        return ({f"{node.module}.{alias.name}" for alias in node.names} & NAMES.keys()) | {node.module}
    return set()


@cache
def direct(name: str) -> frozenset[str]:
    """Return our modules that a module imports when it is loaded."""
    found: set[str] = set()

    def walk(body: list[ast.stmt]) -> None:
        for node in body:
            found.update(imported(node))
            if isinstance(node, ast.If) and "TYPE_CHECKING" not in ast.unparse(node.test):
                walk([*node.body, *node.orelse])

    walk(ast.parse(NAMES[name].read_text(encoding="utf-8")).body)
    found |= {module.rpartition(".")[0] for module in found if module.rpartition(".")[0] in NAMES}
    parent = name.rpartition(".")[0]
    if parent in NAMES:
        found.add(parent)
    return frozenset(module for module in found if module in NAMES)


def bound(name: str) -> set[str]:
    """Return the names that a module has when it runs: none of those that it makes for types alone."""
    found: set[str] = set()
    for node in ast.parse(NAMES[name].read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found |= {alias.asname or alias.name for alias in node.names}
        elif not is_for_types(node):
            names = (inner for inner in ast.walk(node) if isinstance(inner, ast.Name))
            found |= {inner.id for inner in names if isinstance(inner.ctx, ast.Store)}
    return found


def closure(name: str) -> set[str]:
    """Return our modules that are loaded with a module."""
    seen: set[str] = set()
    open_names = [name]
    while open_names:
        for module in direct(open_names.pop()) - seen:
            seen.add(module)
            open_names.append(module)
    return seen


def ranks() -> dict[str, int]:
    """Return the place of each room in the order of imports."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    table = text.split("## Modules, in the order in which they may import", 1)[1].split("\n## ", 1)[0]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    return {name: n for n, name in enumerate(x for row in rows for x in re.findall(r"`([\w/]+?)(?:\.py|/)`", row))}


RANKS = ranks()


def room(name: str) -> str:
    """Return the room of a module, as ARCHITECTURE.md names it."""
    parts = NAMES[name].relative_to(PACKAGE).parts
    if parts == ("forms", "registry.py"):
        return "forms/registry"
    return "/".join(parts[: 2 if parts[0] == "forms" and len(parts) > 2 else 1]).removesuffix(".py")


def may_import(name: str, module: str) -> bool:
    """Whether the order of imports lets a module import another one."""
    own, other = room(name), room(module)
    if own not in RANKS or other not in RANKS or RANKS[own] < RANKS[other]:
        return False
    shared = (own, "forms/lib", "forms/registry")
    return not (own.startswith("forms/") and other.startswith("forms/") and other not in shared)


def loaded_anyway(name: str, node: ast.stmt) -> bool:
    """Whether an import for types alone loads nothing that is not loaded with the module anyway."""
    if not isinstance(node, ast.ImportFrom) or node.module is None:
        return False
    if node.module in CHEAP:
        return True
    if node.module in NAMES and "def __getattr__" in NAMES[node.module].read_text(encoding="utf-8"):
        return False  # it brings a name when that is asked for, with a module of its own
    targets = imported(node)
    if not targets <= NAMES.keys() or not all(
        alias.name in bound(node.module) or f"{node.module}.{alias.name}" in NAMES for alias in node.names
    ):
        return False
    around = closure(name)
    return all(t in around and name not in closure(t) and may_import(name, t) for t in targets)


def rewrite(name: str) -> bool:
    """Rewrite a module; return whether anything changed."""
    path = NAMES[name]
    text = old = path.read_text(encoding="utf-8")
    text = re.sub(r"\nTYPE_CHECKING = False\n+", "\n", text, count=1) if name != HOME else text
    text = re.sub(r"(?m)^from typing import TYPE_CHECKING\n", "", text, count=1)
    if m := re.search(r"(?m)^from typing import ([\w, ]*)\bTYPE_CHECKING\b(?:, )?([\w, ]*)$", text):
        text = text.replace(m[0], f"from typing import {(m[1] + m[2]).strip().strip(',').strip()}", 1)
    lines = text.splitlines(keepends=True)
    moved: list[str] = []
    for node in reversed(ast.parse(text).body):
        if not is_for_types(node) or node.orelse or name in ("nodelint.api", HOME):
            continue
        leaving = [inner for inner in node.body if MOVES and loaded_anyway(name, inner)]
        for inner in reversed(leaving):
            segment = lines[inner.lineno - 1 : inner.end_lineno]
            moved.append("".join(line[4:] for line in segment))
            del lines[inner.lineno - 1 : inner.end_lineno]
        if len(leaving) == len(node.body):
            del lines[node.lineno - 1]
    text = "".join(lines)
    head = "from __future__ import annotations\n\n"
    if "TYPE_CHECKING" in text and name != HOME and f"from {HOME} import TYPE_CHECKING" not in text:
        moved.append(f"from {HOME} import TYPE_CHECKING\n")
    if "TYPE_CHECKING:" not in text:
        text = text.replace(f"from {HOME} import TYPE_CHECKING\n", "", 1)
        moved = [line for line in moved if HOME not in line]
    if moved:
        assert head in text, path
        text = text.replace(head, head + "".join(moved), 1)
    if text != old:
        path.write_text(text, encoding="utf-8")
        direct.cache_clear()
    return text != old


def main() -> None:
    """Rewrite the modules of the folders that are named."""
    folders = [Path(folder).resolve() for folder in sys.argv[1:] if folder != "--move"]
    chosen = [name for name, path in sorted(NAMES.items()) if any(path == f or f in path.parents for f in folders)]
    changed = [name for name in chosen if rewrite(name)]
    files = [str(NAMES[name]) for name in changed]
    if files:
        ruff = [sys.executable, "-m", "ruff"]
        subprocess.run([*ruff, "check", "--fix", "-q", *files], check=False)
        subprocess.run([*ruff, "format", "-q", *files], check=False)
    print(f"{len(changed)} modules")


main()
