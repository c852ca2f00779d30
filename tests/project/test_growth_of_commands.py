"""Commands take work that grows with their input as much as that does. Calls are counted, not timed."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"

Write = Callable[[Any, Path, int], tuple[str, ...]]
"""Writes the files of a size into a folder; the arguments of the run."""


def write_plan(inputs: Any, folder: Path, size: int) -> tuple[str, ...]:
    inputs.write_pairs(folder / "old", size)
    inputs.write_pairs(folder / "new", size, changed=size // 5)
    return ("plan", "--old", str(folder / "old"), str(folder / "new"))


def write_pairs(inputs: Any, folder: Path, size: int) -> tuple[str, ...]:
    inputs.write_pairs(folder, size)
    return ("explain", "--format", "json", str(folder))


def write_strict(inputs: Any, folder: Path, size: int) -> tuple[str, ...]:
    inputs.write_pairs(folder, size)
    return ("check", "--jobs", "1", "--profile", "strict", str(folder))


def write_workloads(inputs: Any, folder: Path, size: int) -> tuple[str, ...]:
    inputs.write_pairs(folder / "fleet", 4)
    inputs.write_workloads(folder / "apps", size)
    return ("fit", str(folder / "fleet"), str(folder / "apps"))


def write_overlay(inputs: Any, folder: Path, size: int) -> tuple[str, ...]:
    inputs.write_overlay(folder, size)
    return ("check", "--jobs", "1", str(folder))


def write_chart(inputs: Any, folder: Path, size: int) -> tuple[str, ...]:
    inputs.write_chart(folder, size)
    return ("check", "--jobs", "1", str(folder))


def write_edited_text(inputs: Any, folder: Path, size: int) -> tuple[str, ...]:
    inputs.write_stream_of_pairs(folder / "objects.yaml", size)
    return ("lsp", str(folder / "objects.yaml"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "write",
    [write_plan, write_pairs, write_strict, write_workloads, write_overlay, write_chart, write_edited_text],
)
def test_work_grows_with_the_input(write: Write, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    inputs, calls = importlib.import_module("inputs"), importlib.import_module("calls")
    monkeypatch.setattr("sys.argv", [])
    monkeypatch.chdir(tmp_path)
    few, many = (list(write(inputs, tmp_path / str(size), size)) for size in (10, 40))
    calls.count_calls(many)  # loads what is loaded once
    growth = calls.count_calls(many) / calls.count_calls(few) / 4
    assert growth < 1.15
