"""Templates of charts filled in without helm: what is not left as code is what helm prints.

The results of helm itself are compared where a `helm` is on the path, or `NODELINT_TEST_HELM` names one.
`helm_functions.json` holds what helm prints of calls at random, each function with arguments of all types.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from nodelint.forms.helm.filled_charts import filled_charts
from nodelint.forms.lib.gotemplate.evaluate import fill
from nodelint.forms.lib.gotemplate.syntax import parse
from nodelint.text import Source
from nodelint.text.yaml.compose import compose
from tests.plain_yaml import load_yaml

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
account: 123456789012
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
SHAPES |= {
    "values that are merged in place": "{{- range $n, $p := .Values.pools }}\n{{ $n }}: "
    "{{ (mergeOverwrite $.Values.labels $p).weight | default 1 }}\n{{- end }}",
    "a map that is changed under a condition": '{{- $d := dict "a" 1 }}{{- if .Release.IsInstall }}'
    '{{- $_ := set $d "a" 2 }}{{- end }}\na: {{ $d.a }}\nb: {{ .Values.name }}',
    "a loop that is left": "{{- range .Values.types }}\na: {{ . }}\n{{- break }}\n{{- end }}\nb: {{ .Values.name }}",
    "a block that prints": 'a: {{ block "x.own" . }}{{ .Values.name }}{{ end }}\nb: {{ .Values.zone }}',
    "printf of another type": 'a: {{ printf "%d" .Values.limit | quote }}\nb: {{ .Values.name }}',
    "a digest of YAML": "a: {{ toYaml .Values.labels | sha256sum }}\nb: {{ .Values.zone }}",
    "split": 'a: {{ (split "-" .Values.zone)._1 }}\nb: {{ (splitn "-" 2 .Values.zone)._1 }}',
    "patterns": 'a: {{ regexReplaceAll "[^a-z]" .Values.zone "_" }}\nb: {{ regexFind "[0-9]" .Values.zone }}'
    '\nc: {{ regexMatch "^eu" .Values.zone }}',
    "fromYaml of include": '{{- $t := include "x.labels" . | fromYaml }}\na: {{ $t.team }}\nb: {{ $t.app }}',
    "a number of many digits": "a: {{ .Values.account }}\nb: {{ .Values.account | int64 }}"
    "\nc: {{ toYaml .Values.account }}",
    "printf of a number": 'a: {{ printf "%d" (int .Values.limit) }}\nb: {{ printf "%v" .Values.limit }}',
    "set of dict": '{{- $d := dict "a" 1 }}{{- $_ := set $d "b" .Values.name }}\na: {{ toJson $d }}',
    "unset of dict": '{{- $d := dict "a" 1 "b" 2 }}{{- $_ := unset $d "b" }}\na: {{ toJson $d }}',
    "merge changes its first map": '{{- $d := dict "a" 1 }}{{- $_ := merge $d .Values.labels }}\na: {{ toJson $d }}',
    "what is merged is copied first": "{{- $d := deepCopy .Values.pools.b }}{{- $_ := merge $d .Values.labels }}"
    "\na: {{ toJson $d }}\nb: {{ toJson .Values.pools.b }}",
    "a choice of what is known": "a: {{ .Values.name | default .Release.Name }}"
    "\nb: {{ ternary 1 .Release.Revision true }}",
    "else with": "{{- with .Values.nothing }}\na: 1\n{{- else with .Values.name }}\na: {{ . }}\n{{- end }}",
    "lists": 'a: {{ without .Values.types "m5.large" | toJson }}\nb: {{ rest .Values.types | toJson }}'
    "\nc: {{ reverse .Values.types | toJson }}\nd: {{ slice .Values.types 0 1 | toJson }}",
    "numbers": 'a: {{ mod 7 4 }}\nb: {{ ceil 1.2 }}\nc: {{ round 1.256 2 }}\nd: [{{ seq 1 3 | replace " " ", " }}]',
    "a choice": 'a: {{ ternary "x" "y" (eq .Values.name "batch") }}\nb: {{ ternary 1 2 (eq .Values.name "z") }}',
    "a choice by what comes through a pipe": 'a: {{ eq .Values.name "batch" | ternary "x" "y" }}',
    "a choice by a text from a pipe": 'a: {{ .Values.name | ternary "x" "y" }}\nb: {{ .Values.zone }}',
    "a choice by a text": 'a: {{ ternary "x" "y" .Values.name }}\nb: {{ .Values.zone }}',
    "a percent that ends a form": 'a: {{ printf "%d%" (int .Values.limit) | quote }}\nb: {{ .Values.name }}',
    "digests": "a: {{ sha256sum .Values.name }}\nb: {{ .Values.name | b64enc }}",
}
OPEN = {
    "mergeOverwrite",
    "mergeOverwrite in a loop",
    "set",
    "values that are merged in place",
    "a map that is changed under a condition",
    "a loop that is left",
    "a block that prints",
    "printf of another type",
    "a digest of YAML",
    "what is missing",
    "what the release gives",
    "lookup",
    "capabilities",
    "a choice by a text",
    "a choice by a text from a pipe",
    "a percent that ends a form",
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
    ours, theirs = load_yaml(text) if "{{" not in text else {}, load_yaml(done.stdout)
    known = {key: value for key, value in ours.items() if "${" not in str(value)}
    assert known == {key: theirs[key] for key in known}
    assert known or name in OPEN


@pytest.mark.parametrize(
    ("number", "printed"),
    [
        ("999999", "999999"),
        ("1000000", "1e+06"),
        ("1234567", "1.234567e+06"),
        ("12000000", "1.2e+07"),
        ("0.0001", "0.0001"),
        ("0.000012", "1.2e-05"),
        ("-2500000", "-2.5e+06"),
    ],
)
def test_a_number_of_values_is_printed_as_go_prints_it(number: str, printed: str) -> None:
    """`%v` of Go's fmt: an exponent from -5 and from 6 on."""
    source = Source("values.yaml", f"size: {number}\n")
    template = "k: x\nv: {{ .Values.size }}\n"
    text = fill(template, parse(template), compose(source, source.text, 0, masked=False)[0], "keys").text
    assert text == f"k: x\nv: {printed}\n"


RECORDED = json.loads((Path(__file__).parents[2] / "helm_functions.json").read_text(encoding="utf-8"))
_FEWEST_KNOWN = 150


def evaluated(expression: str) -> list[object] | None:
    """What a line with an expression comes to; None where it is not known."""
    source = Source("values.yaml", RECORDED["values"])
    template = f"k: x\nv: {expression}\n"
    text = fill(template, parse(template), compose(source, source.text, 0, masked=False)[0], "keys").text
    return None if "{{" in text or "${" in text else [load_yaml(text)["v"]]


def test_a_function_gives_what_it_gives_in_helm_or_nothing_that_is_known() -> None:
    wrong = {}
    known = 0
    for expression, result in RECORDED["results"].items():
        ours = evaluated(expression)
        known += ours is not None
        if ours is not None and json.dumps(ours, default=str) != json.dumps(result):
            wrong[expression] = (ours, result)
    assert not wrong
    assert known > _FEWEST_KNOWN
