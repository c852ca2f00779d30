"""Templates of charts that take API and kind of their objects from values, and name Karpenter nowhere."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

Run = Callable[..., CompletedProcess[str]]

TEMPLATE = """\
{{- range .Values.nodeClasses }}
---
apiVersion: {{ .apiVersion }}
kind: {{ .kind }}
metadata:
  name: {{ .name }}
spec:
  role: {{ .roleName }}
  amiSelectorTerms: [{alias: al2023@v20260610}]
  subnetSelectorTerms: [{id: subnet-0123456789abcdef0}]
  {{- with .securityGroupSelectorTerms }}
  securityGroupSelectorTerms:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
"""
APPLICATION = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {{name: classes}}
spec:
  source:
    repoURL: https://example.com/acme/repo.git
    path: chart
    helm:
      valuesObject:
        nodeClasses:
          - apiVersion: karpenter.k8s.aws/v1
            kind: EC2NodeClass
            name: default
            roleName: nodes
            {key}: [{{id: sg-0123456789abcdef0}}]
"""


@pytest.mark.parametrize(
    ("key", "found"), [("securityGroupSelectorTerms", []), ("sgSelector", [("invalid-field", "error")])]
)
def test_values_of_a_chart_here_are_judged_as_its_templates_read_them(
    tmp_path: Path, nodelint: Run, key: str, found: list[tuple[str, str]]
) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "chart" / "templates").mkdir(parents=True)
    (tmp_path / "chart" / "Chart.yaml").write_text("apiVersion: v2\nname: classes\nversion: 0.1.0\n")
    (tmp_path / "chart" / "values.yaml").write_text("nodeClasses: []\n")
    (tmp_path / "chart" / "templates" / "classes.yaml").write_text(TEMPLATE)
    (tmp_path / "app.yaml").write_text(APPLICATION.format(key=key))
    done = nodelint("check", "--format", "json", ".")
    findings = [(finding["rule"], finding["severity"]) for finding in json.loads(done.stdout)["findings"]]
    assert findings == found
    assert "Not read" not in nodelint("check", ".").stdout
