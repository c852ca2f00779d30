"""Commands take work that grows with their input as much as that does. Calls are counted, not timed."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"

ROWS = [
    "check, argocd generator of files",
    "check, chart",
    "check, flux releases",
    "check, installs",
    "check, overlays",
    "check, terragrunt",
    "check, values files",
    "explain, files",
    "fit, vendored charts",
    "fit, workloads",
    "fixes, helmfile",
    "fixes, terraform",
    "fixes, terragrunt",
    "plan, callers of a terraform module",
    "plan, helmfile",
    "plan, overlay",
    "plan, terragrunt",
    "plan, vendored charts",
    "hash, instances of a terraform module",
    "strict, files",
]
"""A row for each command and each kind of input; `python benchmarks/growth.py` counts all that there are."""


@pytest.fixture
def benchmarks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """What imports a module of the benchmarks."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    monkeypatch.setattr("sys.argv", [])
    monkeypatch.chdir(tmp_path)
    return importlib.import_module


@pytest.mark.slow
@pytest.mark.parametrize("name", ROWS)
def test_work_grows_with_the_input(name: str, benchmarks: Any, tmp_path: Path) -> None:
    growth, calls = benchmarks("growth"), benchmarks("calls")
    row = growth.ROWS[name]
    runs = [growth.write_sides(row, tmp_path / str(times), row.size * times // 2) for times in (1, 2, 4)]
    calls.count_calls(runs[0])  # loads what is loaded once
    assert growth.find_exponent([calls.count_calls(words) for words in runs]) < 1.15


def test_an_edit_grows_no_faster_than_its_text(benchmarks: Any, tmp_path: Path) -> None:
    growth, calls = benchmarks("growth"), benchmarks("calls")
    for size in (10, 40):
        growth.write_stream(tmp_path / str(size), size)
    few, many = (["lsp", str(tmp_path / str(size) / "objects.yaml")] for size in (10, 40))
    calls.count_calls(many)
    assert calls.count_calls(many) / calls.count_calls(few) < 4.4


def test_an_exponent_tells_linear_work_from_quadratic(benchmarks: Any) -> None:
    find = benchmarks("growth").find_exponent
    assert find([1000 + n for n in (100, 200, 400)]) == pytest.approx(1)
    assert find([1000 + n * n for n in (10, 20, 40)]) == pytest.approx(2)
    assert find([1000, 1001, 1003]) == 0, "hardly any work is added"
