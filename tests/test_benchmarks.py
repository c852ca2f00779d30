"""The benchmarks run, say so where they cannot, and no run makes more calls than its record has."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"


def ran(script: str, *arguments: str, code: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code] if code else [sys.executable, str(BENCHMARKS / script), *arguments]
    env = {**os.environ, "PYTHONPATH": str(BENCHMARKS)}
    return subprocess.run(command, capture_output=True, text=True, env=env, cwd=BENCHMARKS.parent)


def test_no_run_makes_more_calls_than_the_record_has() -> None:
    """Where a change is worth it, `benchmarks/calls.py --record` writes the new counts, for a reviewer to see."""
    if PYTHON not in json.loads((BENCHMARKS / "calls.json").read_text(encoding="utf-8")):
        pytest.skip(f"there is no record for Python {PYTHON}")
    done = ran("calls.py")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("%") == done.stdout.count("\n") - 2


def test_a_large_input_is_run_without_a_command_on_the_path() -> None:
    done = ran("", code="import large_inputs as L; print(L.run(L.Case(3, L.findings), 3, 60).code)")
    assert done.stdout == "1\n", done.stderr


@pytest.mark.parametrize("command", ["no-such-program", "(sys.executable, '-c', 'raise SystemExit(3)')"])
def test_a_large_input_that_cannot_be_run_ends_the_benchmark(command: str) -> None:
    program = command if command.startswith("(") else f"('{command}',)"
    code = f"import sys, large_inputs as L; L.NODELINT = {program}; L.run(L.CASES['findings'], 3, 60)"
    done = ran("", code=code)
    assert done.returncode == 1
    assert done.stderr.strip().endswith(("could not be started", "ended with 3"))
