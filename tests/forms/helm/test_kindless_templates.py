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


OBJECTS = """\
objects:
  - apiVersion: karpenter.sh/v1
    kind: NodePool
    name: default
    spec:
      template:
        spec:
          nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
          requirements:
            - {key: karpenter.sh/capacity-type, operator: In, values: [%s]}
"""
OF_OBJECTS = """\
{{- range .Values.objects }}
---
apiVersion: {{ .apiVersion }}
kind: {{ .kind }}
metadata:
  name: {{ .name }}
spec:
  {{- toYaml .spec | nindent 2 }}
{{- end }}
"""


@pytest.mark.parametrize("folder", [".", "chart"])
@pytest.mark.parametrize(("capacity", "found"), [("on-demand", []), ("on_demand", ["unknown-value"])])
def test_a_name_beside_the_kind_is_a_value_for_the_template(
    tmp_path: Path, nodelint: Run, folder: str, capacity: str, found: list[str]
) -> None:
    chart = tmp_path / folder
    (chart / "templates").mkdir(parents=True)
    (chart / "Chart.yaml").write_text("apiVersion: v2\nname: objects\nversion: 0.1.0\n")
    (chart / "values.yaml").write_text(OBJECTS % capacity)
    (chart / "templates" / "objects.yaml").write_text(OF_OBJECTS)
    done = json.loads(nodelint("check", "--format", "json", ".").stdout)
    assert [finding["rule"] for finding in done["findings"]] == found
    assert done["summary"]["objects"] == 1
