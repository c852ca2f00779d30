"""A values file that an Application names and that is not in the repository."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.manifests import nodepool
from tests.repositories import write_files

Run = Callable[..., subprocess.CompletedProcess[str]]

TEMPLATE = nodepool("key: kubernetes.io/arch, operator: In, values: {{ toJson .Values.archs }}", name="web")
APPLICATION = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: pools}
spec:
  source:
    repoURL: https://example.com/platform.git
    path: charts/pools
    helm:
      valueFiles: [%s]
"""


@pytest.mark.parametrize(
    ("named", "more", "sentence"),
    [
        ("values-prd.yaml", "", "`values-prd.yaml` is not in the repository (did you mean `values-prod.yaml`?)"),
        ("zzz/qqq.yaml", "", "`zzz/qqq.yaml` is not in the repository: the release is judged without it"),
        ("$envs/prod.yaml", "", "the values in `$envs/prod.yaml` are not known"),
        ("values-prod.yaml", "", ""),
        ("values-prd.yaml", "      ignoreMissingValueFiles: true\n", ""),
    ],
)
def test_a_values_file_that_is_not_there_is_named(
    nodelint: Run, tmp_path: Path, named: str, more: str, sentence: str
) -> None:
    files = {"Chart.yaml": "apiVersion: v2\nname: c\nversion: 0.1.0\n", "templates/pool.yaml": TEMPLATE}
    files |= {"values.yaml": "archs: [amd64]\n", "values-prod.yaml": "archs: [arm64]\n"}
    write_files(tmp_path, {f"charts/pools/{name}": text for name, text in files.items()})
    write_files(tmp_path, {".git/HEAD": "", "argocd/pools.yaml": APPLICATION % named + more})
    lines = nodelint("check", "-v", ".").stdout.splitlines()
    skipped = [line for line in lines if "argocd/pools.yaml:9: " in line]
    assert bool(skipped) == bool(sentence), skipped
    assert all("argocd/pools.yaml:9: the values" in line and sentence in line for line in skipped), skipped
