"""Templates of charts filled in without helm: what is not left as code is what helm prints.

The results of helm itself are compared where a `helm` is on the path, or `NODELINT_TEST_HELM` names one.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from nodelint.build.template_source_map import filled_charts
from nodelint.source import Source

Run = Callable[..., subprocess.CompletedProcess[str]]

HELPERS = """\
{{- define "x.labels" -}}
app: {{ .Values.name }}
{{ toYaml (omit .Values.labels "secret") }}
{{- end -}}
{{- define "x.types" -}}
{{- range . }}
- {{ . }}
{{- end }}
{{- end -}}
{{- define "x.name" }}{{ printf "%s-%s" .root.Values.name .suffix | trunc 63 | trimSuffix "-" }}{{ end -}}
{{- define "x.deep" }}{{ include "x.name" (dict "root" $ "suffix" "deep") }}{{ end -}}
"""
VALUES = """\
name: batch
labels: {team: a, secret: b, on: "yes"}
types: [m5.large, c5.large]
text: "{{ .Values.name }}-{{ upper .Values.zone }}"
block: |
  cpu: "{{ .Values.limit }}"
  memory: 10Gi
zone: eu-west-1a
limit: 10
off: false
zero: 0
none: ""
nothing: []
defaults: {weight: 10, arch: amd64, off: true, keep: {a: 1, b: 2}, list: [1, 2], text: x, zero: 5}
pools:
  a: {arch: arm64, off: false, keep: {b: 3}, list: [], text: "", zero: 0}
  b: {weight: 20}
"""
SHAPES = {
    "include": 'labels:\n  {{- include "x.labels" . | nindent 2 }}',
    "include with what is no root": 'types: {{- include "x.types" .Values.types | nindent 2 }}',
    "include with dict": 'name: {{ include "x.name" (dict "root" . "suffix" "z") }}',
    "include in include": 'name: {{ include "x.deep" . | quote }}',
    "template": 'name: {{ template "x.deep" . }}',
    "tpl": "name: {{ tpl .Values.text . | quote }}",
    "tpl of a block": "limits:\n  {{- tpl .Values.block . | nindent 2 }}",
    "tpl of toYaml": "labels:\n  {{- tpl (toYaml .Values.labels) $ | nindent 2 }}",
    "omit": 'labels: {{ toJson (omit .Values.labels "secret" "none") }}',
    "pick": 'labels: {{ pick .Values.labels "team" | toJson }}',
    "merge": 'all:\n  {{- toYaml (merge (dict "weight" 5) .Values.defaults) | nindent 2 }}',
    "merge of values": "all: {{ toJson (merge (deepCopy .Values.pools.a) .Values.defaults) }}",
    "mergeOverwrite": "all: {{ toJson (mergeOverwrite (deepCopy .Values.defaults) .Values.pools.a) }}",
    "mergeOverwrite in a loop": "{{- range $n, $p := .Values.pools }}\n{{ $n }}:\n"
    "  {{- mergeOverwrite (deepCopy $.Values.defaults) $p | toYaml | nindent 2 }}\n{{- end }}",
    "dict and list": 'a: {{ dict "b" (list 1 "x" true) "c" .Values.name | toJson }}',
    "concat": 'a: {{ concat .Values.types (list "x") | uniq | toJson }}',
    "append": 'a: {{ append .Values.types "m5.large" | uniq | sortAlpha | join "," }}',
    "first and last": "a: {{ first .Values.types }}\nb: {{ last .Values.types }}",
    "keys": "a: {{ keys .Values.labels | sortAlpha | toJson }}",
    "range of keys": "{{- range $k := keys .Values.labels | sortAlpha }}\n{{ $k }}: {{ get $.Values.labels $k }}"
    "\n{{- end }}",
    "range of list": '{{- range $n, $x := list "a" "b" }}\n{{ $x }}: {{ add $n 1 }}\n{{- end }}',
    "range of dict": '{{- range $k, $v := dict "a" 1 "b" 2 }}\n{{ $k }}: {{ $v }}\n{{- end }}',
    "until": "a: [{{- range until 3 }}{{ . }}, {{ end }}]",
    "arithmetic": "a: {{ add 1 .Values.limit }}\nb: {{ mul 2 3 4 }}\nc: {{ div 7 2 }}\nd: {{ sub 5 .Values.limit }}",
    "texts": 'a: {{ contains "atc" .Values.name }}\nb: {{ hasPrefix "b" .Values.name }}',
    "splitList": 'a: {{ splitList "-" .Values.zone | toJson }}',
    "with dict": '{{- with dict "a" .Values.name }}\nname: {{ .a }}\n{{- end }}',
    "set": '{{- $p := .Values.pools.b }}{{- $_ := set $p "weight" 99 }}\na: {{ $p.weight }}',
    "hasKey of dict": '{{- $d := dict "a" 1 }}\na: {{ hasKey $d "a" }}\nb: {{ hasKey $d "b" }}',
    "index of dict": 'a: {{ index (dict "a" (list 5 6)) "a" 1 }}',
    "eq": 'a: {{ eq .Values.name "batch" }}\n{{- if eq .Values.zone "x" }}\nb: 1\n{{- else }}\nb: 2\n{{- end }}',
    "what is missing": "a: {{ .Values.missing | toJson }}\nb: {{ .Values.name }}",
    "what the release gives": "a: {{ .Release.Name }}-{{ .Values.name }}",
    "lookup": 'a: {{ (lookup "v1" "Secret" "x" "y").data | default .Values.name }}',
    "capabilities": 'a: {{ .Capabilities.APIVersions.Has "x" | ternary 1 2 }}\nb: {{ .Values.name }}',
}
OPEN = {
    "mergeOverwrite",
    "mergeOverwrite in a loop",
    "set",
    "what is missing",
    "what the release gives",
    "lookup",
    "capabilities",
}
"""What is empty, or cannot be told before the chart is installed: something of it stays code, or a placeholder."""


def chart(folder: Path, template: str) -> Path:
    path = folder / "x/templates/pool.yaml"
    path.parent.mkdir(parents=True)
    (folder / "x/Chart.yaml").write_text("apiVersion: v2\nname: x\nversion: 0.1.0\n", encoding="utf-8")
    (folder / "x/values.yaml").write_text(VALUES, encoding="utf-8")
    (path.parent / "_helpers.tpl").write_text(HELPERS, encoding="utf-8")
    path.write_text(f"karpenter: {{{{ .Values.name }}}}\n{template}\n", encoding="utf-8")
    return path


def filled(path: Path) -> str | None:
    made = list(filled_charts([Source.from_text(str(path), path.read_text(encoding="utf-8"))]))
    return made[0].source.text if made else None


def helm() -> str:
    found = os.environ.get("NODELINT_TEST_HELM") or shutil.which("helm")
    if found is None:
        pytest.skip("no helm on the path, and NODELINT_TEST_HELM names none")
    return found


@pytest.mark.parametrize("name", SHAPES)
def test_nothing_is_left_open_that_is_known(tmp_path: Path, name: str) -> None:
    text = filled(chart(tmp_path, SHAPES[name]))
    assert text is not None
    assert ("{{" in text or "${" in text) == (name in OPEN), text


@pytest.mark.parametrize("name", SHAPES)
def test_what_is_filled_in_is_what_helm_prints(tmp_path: Path, name: str) -> None:
    program = helm()
    path = chart(tmp_path, SHAPES[name])
    done = subprocess.run(
        [program, "template", "x", str(tmp_path / "x")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    text = filled(path)
    assert text is not None
    ours, theirs = yaml.safe_load(text) if "{{" not in text else {}, yaml.safe_load(done.stdout)
    known = {key: value for key, value in ours.items() if "${" not in str(value)}
    assert known == {key: theirs[key] for key in known}
    assert known or name in OPEN
