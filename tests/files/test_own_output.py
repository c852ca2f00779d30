"""Reports of nodelint that lie in the repository are not read as manifests or values."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.manifests import nodeclass, nodepool
from tests.repositories import write_files

Run = Callable[..., subprocess.CompletedProcess[str]]

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  template:
    spec:
      nodeSelector: {kubernetes.io/arch: arm64}
      containers: [{name: c, resources: {requests: {cpu: "1"}}}]
"""
FILES = {
    "pool.yaml": nodepool("key: kubernetes.io/arch, operator: In, values: [amd64]"),
    "class.yaml": nodeclass(),
    "web.yaml": DEPLOYMENT,
}
COMMANDS = [
    ("check", "--format", "json"),
    ("check", "--format", "sarif"),
    ("check", "--format", "gitlab"),
    ("explain", "--format", "json"),
    ("fit", "--format", "json"),
    ("hash", "--format", "json"),
    ("plan", "--format", "json", "--old", "old"),
    ("migrate", "--to", "auto-mode", "--format", "json"),
    ("upgrade", "--from", "1.10", "--to", "1.15", "--format", "json"),
]


@pytest.mark.parametrize("compact", [False, True], ids=["as printed", "compact"])
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_report_in_the_folder_changes_no_answer(
    command: tuple[str, ...], compact: bool, nodelint: Run, tmp_path: Path
) -> None:
    write_files(tmp_path, {f"now/{path}": text for path, text in FILES.items()})
    write_files(tmp_path, {f"old/{path}": text.replace("amd64", "arm64") for path, text in FILES.items()})
    before = nodelint("check", cwd=tmp_path / "now").stdout
    assert "Deployment" in before or "pods" in before
    report = nodelint(*["../old" if word == "old" else word for word in command], cwd=tmp_path / "now").stdout
    data = json.loads(report)
    write_files(tmp_path, {"now/report.json": json.dumps(data, separators=(",", ":")) if compact else report})
    after = nodelint("check", cwd=tmp_path / "now").stdout
    assert after.replace("in 4 files", "in 3 files") == before


def test_values_that_resemble_a_report_are_read(nodelint: Run, tmp_path: Path) -> None:
    pool = {"name": "apps", "disruption": {"consolidationPolicy": "WhenUnderutilized"}}
    write_files(
        tmp_path, {"values.json": json.dumps({"version": 1, "nodePools": [pool], "about": "karpenter"}, indent=1)}
    )
    done = nodelint("check", cwd=tmp_path)
    assert "Nothing to check" not in done.stdout
