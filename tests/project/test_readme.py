"""What the README shows is what the tool prints, and every command in it runs."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests import in_process
from tests.conftest import NOW, ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
SHOWN = re.findall(r"^```console\n\$ (nodelint[^\n]*)\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
# What asks AWS is run by tests/ec2/test_refresh.py.
NAMED = re.findall(r"^nodelint (?:check|explain|rule|upgrade)(?!.*--live)[^#\n|>]*", README, re.MULTILINE)


def _without_width() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "COLUMNS"}


def run(command: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    _, *args = shlex.split(command)
    return in_process.run(args, cwd, {**_without_width(), "NODELINT_CACHE_DIR": os.devnull, "NODELINT_NOW": NOW})


@pytest.mark.parametrize(("command", "output"), SHOWN, ids=[command for command, _ in SHOWN])
def test_the_output_shown_is_the_real_one(command: str, output: str) -> None:
    assert run(command).stdout.rstrip("\n") == output.rstrip("\n")


@pytest.mark.parametrize("command", NAMED)
def test_every_command_named_is_one_that_runs(command: str, tmp_path: Path) -> None:
    for name in ("pool.yaml", "class.yaml"):
        (tmp_path / name).write_text(
            (ROOT / "examples" / "good" / "general.yaml").read_text(encoding="utf-8"), encoding="utf-8"
        )
    (tmp_path / "clusters").mkdir()
    done = run(command.strip(), tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_two_set_up_commands_are_there() -> None:
    assert ".venv/bin/nodelint check examples --fail-on never" in README
    assert ".venv/bin/pytest" in README
    prose = re.sub(r"(?ms)^```.*?^```", "", README)
    assert len(prose.split()) <= 700, "it sells and starts; what is more goes to docs/"
    assert len(SHOWN) >= 2
    assert len(NAMED) >= 5


@pytest.mark.parametrize("name", ["run.svg", "plan.svg", "fit.svg"])
def test_a_picture_is_what_the_tool_prints(name: str) -> None:
    made = subprocess.run(
        [sys.executable, "-c", f"import make_picture as m; print(m.picture(m.PICTURES[{name!r}]), end='')"],
        cwd=ROOT / "tools",
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONUTF8": "1"},
        check=True,
    )
    assert made.stdout == (ROOT / "docs" / name).read_text(encoding="utf-8"), "run tools/make_picture.py"
    assert f"]({name})" in (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    assert name != "run.svg" or "](docs/run.svg)" in README
