"""Template code that changes decides about nodes, unless it prints one value that no node depends on."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.repositories import write_files

Run = Callable[..., subprocess.CompletedProcess[str]]

POOL = """\
HEAD
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: web}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: web}
      requirements: [{key: kubernetes.io/arch, operator: In, values: [{{ .Values.arch }}]}]
  weight: {{ .Values.weight }}
  limits:
    cpu: {{ .Values.limits.cpu | default 100 }}
"""


@pytest.mark.parametrize(
    ("old", "new", "is_known"),
    [
        (".Values.limits.cpu", "(.Values.limits).cpu", True),
        (".Values.weight", ".Values.order | default 10", True),
        (".Values.weight", 'include "weight" .', False),
        (".Values.weight", "$x := .Values.weight", False),
        (".Values.arch", ".Values.architecture", False),
        ("HEAD", "{{ $arch := .Values.arch }}", False),
    ],
)
def test_code_in_a_field_that_no_node_depends_on(
    nodelint: Run, tmp_path: Path, old: str, new: str, is_known: bool
) -> None:
    files = {
        "old/pool.yaml": POOL.replace("HEAD", "---"),
        "new/pool.yaml": POOL.replace(old, new).replace("HEAD", "---"),
    }
    write_files(tmp_path, files)
    done = nodelint("plan", "--old", "old", "new", cwd=tmp_path)
    assert ("No node is replaced" in done.stdout) == is_known, done.stdout
    assert done.returncode == (0 if is_known else 1)
