"""A run makes its inventory once for each side, and opens each file of a repository once for each side."""

from __future__ import annotations

import builtins
import os
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from textwrap import indent
from typing import Any

import pytest

from tests.manifests import nodepool
from tests.repositories import write_files

Run = Callable[..., subprocess.CompletedProcess[str]]

MISSPELT = nodepool("key: karpenter.sh/capacity-type, operator: In, values: [spott]")
APP = """apiVersion: apps/v1
kind: Deployment
metadata: {name: app}
spec:
  template:
    spec:
      nodeSelector: {karpenter.sh/capacity-type: spot}
      containers: [{name: a, resources: {requests: {cpu: 1}}}]
"""
PLAIN = {"plain/pool.yaml": MISSPELT, "plain/app.yaml": APP}
TEMPLATE = MISSPELT.replace("spec:\n", "spec:\n  weight: WEIGHT\n", 1)
FORMS = {
    **PLAIN,
    "chart/Chart.yaml": "apiVersion: v2\nname: a\nversion: 1.0.0\n",
    "chart/values.yaml": "weight: 10\n",
    "chart/templates/pool.yaml": TEMPLATE.replace("WEIGHT", "{{ .Values.weight }}"),
    "chart/templates/app.yaml": APP,
    "overlay/kustomization.yaml": "resources: [pool.yaml, app.yaml]\nnamePrefix: a-\n",
    "overlay/pool.yaml": MISSPELT,
    "overlay/app.yaml": APP,
    "tf/main.tf": 'variable "a" {\n  default = 10\n}\nresource "kubectl_manifest" "pool" {\n'
    f"  yaml_body = <<-YAML\n{indent(TEMPLATE.replace('WEIGHT', '${var.a}'), '    ')}  YAML\n}}\n"
    'resource "kubectl_manifest" "other" {\n'
    '  yaml_body = templatefile("${path.module}/pool.yaml.tftpl", {a = var.a})\n}\n',
    "tf/pool.yaml.tftpl": TEMPLATE.replace("WEIGHT", "${a}"),
}


class Reads:
    """What a run opens of some files, and how often it makes an inventory."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.inventories = self.builds = 0
        self._opened: Counter[tuple[int, int]] = Counter()
        real_open, real_os_open = builtins.open, os.open

        def os_open(*args: Any, **options: Any) -> int:
            handle = real_os_open(*args, **options)
            self._count(handle)
            return handle

        def open_file(path: Any, *args: Any, **options: Any) -> Any:
            file = real_open(path, *args, **options)
            if not isinstance(path, int):
                self._count(file.fileno())
            return file

        monkeypatch.setattr(os, "open", os_open)
        monkeypatch.setattr(builtins, "open", open_file)
        from nodelint import inventory

        read = inventory.read_inventory

        def read_inventory(*args: Any, **options: Any) -> inventory.Inventory:
            self.inventories += 1
            return read(*args, **options)

        build = inventory.build

        def count_build(*args: Any, **options: Any) -> inventory.Inventory:
            self.builds += 1
            return build(*args, **options)

        monkeypatch.setattr(inventory, "read_inventory", read_inventory)
        monkeypatch.setattr(inventory, "build", count_build)

    def _count(self, handle: int) -> None:
        status = os.fstat(handle)
        self._opened[status.st_dev, status.st_ino] += 1

    def count_opened(self, home: Path) -> dict[str, int]:
        """How often each file below a folder was opened, but for those that were not."""
        found = {}
        for path in sorted(home.rglob("*")):
            status = path.stat()
            if path.is_file() and (number := self._opened[status.st_dev, status.st_ino]):
                found[path.relative_to(home).as_posix()] = number
        return found


@pytest.mark.parametrize("files", [PLAIN, FORMS], ids=["plain", "every form"])
@pytest.mark.parametrize(
    "command",
    ["check", "check --diff", "fit", "explain", "hash", "upgrade --from 1.6 --to 1.8"],
)
def test_each_file_is_opened_once(
    nodelint: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, files: dict[str, str]
) -> None:
    write_files(tmp_path / "a", files)
    reads = Reads(monkeypatch)
    nodelint(*command.split(), ".", cwd=tmp_path / "a")
    assert reads.inventories == 1
    opened = reads.count_opened(tmp_path)
    assert set(opened.values()) == {1}, opened
    assert "a/plain/pool.yaml" in opened


def test_each_file_of_both_sides_is_opened_once(
    nodelint: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_files(tmp_path / "old", FORMS)
    write_files(tmp_path / "new", {name: text.replace("spott", "spot") for name, text in FORMS.items()})
    reads = Reads(monkeypatch)
    nodelint("plan", "--old", "old", "new", cwd=tmp_path)
    assert reads.inventories == 2
    opened = reads.count_opened(tmp_path)
    assert set(opened.values()) == {1}, opened
    assert opened.keys() == {f"{side}/{name}" for side in ("old", "new") for name in FORMS}


@pytest.mark.parametrize(
    ("path", "word", "other", "builds"),
    [
        ("plain/pool.yaml", "spott", "spot", 3),
        ("plain/pool.yaml", "spec:\n", "status: {}\n---\nkind: ConfigMap\ndata:\n", 4),
        ("plain/app.yaml", "cpu: 1", "cpu: 2", 4),
        ("overlay/pool.yaml", "spott", "spot", 4),
        ("chart/values.yaml", "10", "20", 4),
        ("tf/main.tf", "default = 10", "default = 20", 4),
    ],
)
def test_workloads_that_nothing_changes_are_built_once_for_both_sides(
    nodelint: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, word: str, other: str, builds: int
) -> None:
    assert word in FORMS[path]
    write_files(tmp_path / "old", FORMS)
    write_files(tmp_path / "new", {**FORMS, path: FORMS[path].replace(word, other)})
    reads = Reads(monkeypatch)
    nodelint("plan", "--old", "old", "new", cwd=tmp_path)
    assert (reads.inventories, reads.builds) == (2, builds)


def test_a_fix_opens_again_only_what_it_writes(
    nodelint: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fix replaces no file that was saved meanwhile: that look is at the disk, not at what was kept."""
    write_files(tmp_path, FORMS)
    reads = Reads(monkeypatch)
    nodelint("check", "--fix", ".", cwd=tmp_path)
    assert reads.inventories == 1
    fixed = {path for path, text in FORMS.items() if (tmp_path / path).read_text() != text}
    assert {"plain/pool.yaml", "tf/main.tf", "overlay/pool.yaml"} <= fixed
    assert {path for path, number in reads.count_opened(tmp_path).items() if number > 1} <= fixed
