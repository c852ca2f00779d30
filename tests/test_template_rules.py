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
