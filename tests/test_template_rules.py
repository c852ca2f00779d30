"""Rules about the code of a chart's templates: what it drops, how it prints, and where it fails."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from .manifests import nodeclass
from .test_chart_defaults import chart, findings

Run = Callable[..., subprocess.CompletedProcess[str]]

POOL = """\
{{- range $name, $pool := .Values.pools }}
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: {{ $name }}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      taints:
        @taints
      requirements:
        {{- toYaml $pool.requirements | nindent 8 }}
  weight: {{ $pool.weight }}
{{- end }}
"""
VALUES = "pools:\n  a:\n    weight: 1\n    requirements: []\n    taints: [{key: a, effect: NoSchedule}]\n"
BY_HAND = """\
{{- range $pool.taints }}
        - key: {{ .key }}
          effect: {{ .effect }}
        {{- end }}"""


def pool(taints: str) -> str:
    return POOL.replace("@taints", taints)


@pytest.mark.parametrize(
    ("taints", "told"),
    [
        (BY_HAND, True),
        (BY_HAND.replace("range $pool", "range $taint := $pool").replace(" .", " $taint."), True),
        (BY_HAND.replace("range", "range $n, $taint :=").replace(" .", " $taint."), True),
        (BY_HAND.replace("range $pool.taints", "with $pool }}\n        {{- range .taints") + "{{- end }}", True),
        (BY_HAND.replace("          effect", "          value: {{ .value }}\n          effect"), False),
        (BY_HAND.replace("          effect", '          value: "true"\n          effect'), False),
        (
            BY_HAND.replace("          effect", "          {{- if .value }}{{ .value }}{{ end }}\n          effect"),
            False,
        ),
        (
            BY_HAND.replace("          effect: {{ .effect }}", '          {{- omit . "key" | toYaml | nindent 10 }}'),
            False,
        ),
        (BY_HAND.replace("$pool.taints", "(concat $pool.taints $pool.more)"), False),
        ("{{- toYaml $pool.taints | nindent 8 }}", False),
    ],
)
def test_a_loop_prints_all_fields_of_a_taint(nodelint: Run, tmp_path: Path, taints: str, told: bool) -> None:
    chart(tmp_path, VALUES, pool=pool(taints))
    assert len(findings(nodelint, "chart", "--select", "unprinted-field")) == told


@pytest.mark.parametrize(
    ("values", "other", "told"),
    [
        ("    expireAfter: 24h\n", "", ["expireAfter"]),
        ("    limits: {cpu: 10}\n    expireAfter: 24h\n", "", ["limits", "expireAfter"]),
        ("    expireAfter: ''\n    limits: {}\n", "", []),
        ("    owner: me\n", "", []),
        ("    expireAfter: 24h\n", "{{ .Values.pools.a.expireAfter }}", []),
        ("  b:\n    expireAfter: 24h\n", "", ["expireAfter"]),
    ],
)
def test_a_value_beside_others_is_printed_too(
    nodelint: Run, tmp_path: Path, values: str, other: str, told: list[str]
) -> None:
    chart(tmp_path, VALUES + values, pool=pool("{{- toYaml $pool.taints | nindent 8 }}"), other=other)
    done = findings(nodelint, "chart", "--select", "unprinted-field")
    assert [line.partition("`")[2].partition("`")[0] for line in done] == told


def test_a_template_that_writes_a_field_itself_ignores_another_value_only(nodelint: Run, tmp_path: Path) -> None:
    text = pool("{{- toYaml $pool.taints | nindent 8 }}").replace("  weight", "      expireAfter: 720h\n  weight")
    for value, told in (("720h", 0), ("24h", 1)):
        folder = tmp_path / value
        folder.mkdir()
        chart(folder, VALUES + f"    expireAfter: {value}\n", pool=text, klass=nodeclass())
        assert len(findings(nodelint, f"{value}/chart", "--select", "unprinted-field")) == told


PLACES = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: a
spec:
  template:
    metadata:
      labels:
        {{- range $key, $value := .Values.labels }}
        {{ $key }}: {{ $value }}
        {{- end }}
        team: {{ .Values.team }}
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      taints:
        {{- range .Values.taints }}
        - key: {{ .key }}
          value: {{ .value }}
          effect: {{ .effect }}
        {{- end }}
      requirements:
        - key: karpenter.k8s.aws/instance-cpu
          operator: In
          values:
            {{- range .Values.cpus }}
            - {{ . }}
            {{- end }}
        - key: topology.kubernetes.io/zone
          operator: In
          values:
            {{- range .Values.zones }}
            - {{ . }}
            {{- end }}
  disruption:
    consolidateAfter: {{ .Values.consolidateAfter }}
    budgets:
      - nodes: {{ .Values.nodes | default "10%" }}
  limits:
    cpu: {{ .Values.cpu }}
"""


@pytest.mark.parametrize(
    ("values", "lines"),
    [
        ("a: b\n", [10, 18, 26, 37]),
        ("nodes: 10%\nlabels: {a: b}\n", [18, 26]),
        ("taints: [{key: a, value: 'yes', effect: NoSchedule}]\n", [10, 26, 37]),
    ],
)
def test_what_may_be_a_number_or_true_is_quoted(nodelint: Run, tmp_path: Path, values: str, lines: list[int]) -> None:
    chart(tmp_path, values, pool=PLACES)
    done = findings(nodelint, "chart", "--select", "unquoted-value")
    assert [int(line.split(":")[1]) for line in done] == lines
    nodelint("check", "chart", "--select", "unquoted-value", "--unsafe-fixes")
    assert findings(nodelint, "chart", "--select", "unquoted-value") == []
    fixed = (tmp_path / "chart/templates/pool.yaml").read_text(encoding="utf-8")
    assert (' | default "10%" | quote }}' in fixed) == (37 in lines)
