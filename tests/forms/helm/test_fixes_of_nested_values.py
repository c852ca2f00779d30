"""A fix that removes a key is offered in the values of an installation if no other values are merged into its map."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.repositories import write_files

Run = Callable[..., subprocess.CompletedProcess[str]]
CHART = {
    ".git/HEAD": "",
    "charts/pools/Chart.yaml": "apiVersion: v2\nname: pools\nversion: 0.1.0\n",
    "charts/pools/values.yaml": "nodePools: {}\n",
    "charts/pools/templates/pools.yaml": """\
{{- range $name, $p := .Values.nodePools }}
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: {{ $name }}}
spec:
  {{- toYaml $p.spec | nindent 2 }}
{{- end }}
""",
}
VALUES = """\
nodePools:
  web:
    spec:
      template:
        spec:
          nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: web}
          requirements:
            - {key: kubernetes.io/arch, operator: In, values: [amd64]}
      limits:
        resources:
          cpu: 100
"""
RELEASE = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: pools, namespace: kube-system}
spec:
  interval: 10m
  chart: {spec: {chart: ./charts/pools, sourceRef: {kind: GitRepository, name: fleet}}}
  values:
"""
FILES = {
    "values": ("charts/pools/values-prod.yaml", VALUES),
    "release": ("release.yaml", RELEASE + "".join(f"    {line}\n" for line in VALUES.splitlines())),
}


@pytest.mark.parametrize("form", FILES)
def test_a_fix_that_removes_a_key(nodelint: Run, tmp_path: Path, form: str) -> None:
    path, text = FILES[form]
    write_files(tmp_path, {**CHART, path: text})
    checked = nodelint("check").stdout
    assert ("error[unknown-field]" in checked, "fix withheld" in checked) == (True, False)
    nodelint("check", "--fix")
    assert (tmp_path / path).read_text() == text.replace("resources:", "cpu: 100", 1).replace(
        "\n" + text.splitlines()[-1], "", 1
    )
    assert "error" not in nodelint("check").stdout
