"""Environments in which nodelint runs: Python that drops docstrings, and times that there are not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.conftest import ROOT

Run = Callable[..., CompletedProcess[str]]

TYPO = """\
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: main}
spec: {rool: x}
"""


# At level 2 Python drops assertions, as at level 1, and docstrings too.
@pytest.mark.parametrize(
    ("args", "level"),
    [
        (("check", "--format", "sarif"), "2"),
        (("rule",), "2"),
        (("rule", "wildcard-value"), "1"),
        (("rule", "wildcard-value"), "2"),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
def test_the_answers_are_the_same_where_python_drops_docstrings(
    nodelint: Run, tmp_path: Path, level: str, args: tuple[str, ...]
) -> None:
    for path in (ROOT / "examples" / "good").glob("g*.yaml"):
        (tmp_path / path.name).write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "typo.yaml").write_text(TYPO, encoding="utf-8")
    usual, lean = nodelint(*args), nodelint(*args, env={"PYTHONOPTIMIZE": level})
    assert (lean.returncode, lean.stdout, lean.stderr) == (usual.returncode, usual.stdout, usual.stderr)


@pytest.mark.parametrize(
    "time",
    [
        "0001-01-01T00:00:00Z",
        "0001-01-01T00:00:00+14:00",
        "0001-01-01T00:00:00",
        "0999-12-31T00:00:00Z",
        "9999-12-31T23:59:59-14:00",
        "soon",
    ],
)
@pytest.mark.parametrize("args", [("check", "--live", "--region", "us-east-1"), ("refresh",), ("lsp",)], ids=" ".join)
def test_a_time_that_cannot_be_is_refused_in_one_line(
    nodelint: Run, tmp_path: Path, time: str, args: tuple[str, ...]
) -> None:
    (tmp_path / "a.yaml").write_text(TYPO, encoding="utf-8")
    done = nodelint(*args, env={"NODELINT_NOW": time, "AWS_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true"})
    assert done.returncode == 2
    assert done.stderr.startswith(f"nodelint: NODELINT_NOW: `{time}` is ") and done.stderr.count("\n") == 1


@pytest.mark.parametrize("time", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"])
def test_a_time_of_a_manifest_at_the_end_of_the_years_is_no_fault(nodelint: Run, tmp_path: Path, time: str) -> None:
    text = (ROOT / "examples" / "good" / "gpu.yaml").read_text(encoding="utf-8")
    assert "- {key: nvidia.com/gpu," in text
    text = text.replace("- {key: nvidia.com/gpu,", f'- {{timeAdded: "{time}", key: nvidia.com/gpu,')
    (tmp_path / "a.yaml").write_text(text, encoding="utf-8")
    done = nodelint("hash")
    assert done.returncode == 0, done.stderr
    assert ("is before the year 1" in done.stdout) == time.startswith("0001")


def test_the_last_year_that_there_is_can_be_the_time_of_a_run(nodelint: Run, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(TYPO, encoding="utf-8")
    env = {"NODELINT_NOW": "9999-12-31T23:59:59.5Z", "AWS_EC2_METADATA_DISABLED": "true"}
    done = nodelint("check", "--live", "--region", "us-east-1", env=env)
    assert (done.returncode, "9999-12-31 23:59 UTC" in done.stdout) == (1, True), done.stderr
