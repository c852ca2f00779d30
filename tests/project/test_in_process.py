"""A call within the process of the tests says what one in a process of its own says, and leaves nothing behind."""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests import in_process
from tests.code import syntax_tree
from tests.conftest import NOW, ROOT
from tests.forked import FILES, FIRST_RUNS, Command

Run = Callable[..., CompletedProcess[str]]

LASTING = {
    "nodelint/apiserver/cel/__init__.py": {"_programs", "_matches"},
    "nodelint/apiserver/rules.py": {"_held"},
    "nodelint/config/settings.py": {"NOTHING"},
    "nodelint/forms/registry.py": {"_LOADED"},
    "nodelint/text/nodes.py": {"_NO_ENTRIES", "_NO_ITEMS"},
    "nodelint/files/gate.py": {"_watching"},
    "nodelint/files/safe_read.py": {"_edited"},
    "nodelint/text/limits.py": {"_open"},
}
"""What modules fill: results by the whole of what they follow from, what stays empty, an editor's texts, notes."""


@pytest.mark.slow
def test_a_call_says_what_a_process_of_its_own_says(tmp_path: Path, forked: Command) -> None:
    """Twice in one folder, whose files are others by then: nothing read at first is known still."""
    environment = {**os.environ, "NODELINT_NOW": NOW, "NODELINT_CACHE_DIR": str(tmp_path / "cache")}
    calls = [*FIRST_RUNS, ["check", "overlay"], ["check", "--karpenter-version", "1.99.0"], ["check", "--no-such"]]
    messages = []
    for old, new in (("", ""), ("[spot, on-demand]", "[on-demand]")):
        for name, text in FILES.items():
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text(text.replace(old, new) if old else text, encoding="utf-8")
        environment["NODELINT_NOW"] = NOW if not messages else "2027-09-20T12:00:00Z"
        for args in calls[:: 2 if messages else 1]:
            here = in_process.run(args, tmp_path, environment)
            there = forked.run(tuple(args), tmp_path, environment)
            assert (here.returncode, here.stdout, here.stderr) == (there.returncode, there.stdout, there.stderr)
            messages.append(here.stdout + here.stderr)
    assert len(set(messages)) >= len(messages) * 2 / 3, "files and time make a difference"


def test_nothing_is_left_behind(nodelint: Run, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    before = os.getcwd(), dict(os.environ), sys.argv, sys.stdin, sys.stdout, sys.stderr, os._exit
    files = len(os.listdir("/dev/fd"))
    done = nodelint("check", "-", stdin="apiVersion: karpenter.sh/v1\nkind: NodePool\n", env={"NO_COLOR": "1"})
    assert done.returncode == 1
    assert "-:2:7" in done.stdout
    assert before == (os.getcwd(), dict(os.environ), sys.argv, sys.stdin, sys.stdout, sys.stderr, os._exit)
    assert len(os.listdir("/dev/fd")) == files
    assert capfd.readouterr() == ("", "")


def test_modules_gather_nothing_that_a_later_call_finds() -> None:
    found: dict[str, set[str]] = {}
    for path in sorted((ROOT / "nodelint").rglob("*.py")):
        for node in syntax_tree(path).body:
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            value = getattr(node, "value", None)
            names = {target.id for target in targets if isinstance(target, ast.Name) and _is_empty(value)}
            if names:
                found.setdefault(str(path.relative_to(ROOT)), set()).update(names)
    assert found == LASTING


def _is_empty(value: ast.expr | None) -> bool:
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
        return value.func.id in ("set", "dict", "list", "deque", "defaultdict", "Counter")
    return isinstance(value, ast.Dict | ast.List) and not ast.unparse(value).strip("{}[]")
