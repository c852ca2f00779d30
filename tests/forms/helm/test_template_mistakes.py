"""Templates that helm refuses before it renders anything, and templates that it accepts."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from nodelint.data import table
from nodelint.forms.lib.gotemplate.evaluate import fill
from nodelint.forms.lib.gotemplate.mistakes import find_mistake
from nodelint.forms.lib.gotemplate.syntax import parse
from nodelint.text.nodes import SourceText
from nodelint.text.yaml.compose import compose
from tests.repositories import write_files

Run = Callable[..., subprocess.CompletedProcess[str]]
FUNCTIONS = frozenset(table("templates")["functions"])

REFUSED = {
    "one brace": ("a: {{ .Values.x }\nb: {{ .Values.y }}", "}", "the code ends with one `}`: two are needed"),
    "no brace": ("a: {{ .Values.x", "{{", "could not find the `}}` of what begins here"),
    "quotes": ('a: {{ "x }}', '"', "the text in quotes that begins here has no end"),
    "sign": ("a: {{ .Values.x ? 1 }}", "?", "helm does not understand `?` in template code"),
    "dash": ("a: {{ .Values.a-b }}", "-", "helm does not understand `-` in template code"),
    "function": ("a: {{ .x | nosuch }}", "nosuch", "helm has no function `nosuch`"),
    "argument": ("a: {{ default nosuch .x }}", "nosuch", "helm has no function `nosuch`"),
    "environment": ('a: {{ env "HOME" }}', "env", "helm has no function `env`"),
    "variable": ("a: {{ $x.y }}", "$x", "the variable `$x` is not set here"),
    "after a loop": ("{{ range $k, $v := .x }}{{ end }}{{ $v }}", "$v }}", "the variable `$v` is not set here"),
    "in a definition": ('{{ $a := 1 }}{{ define "d" }}{{ $a }}{{ end }}', "$a }}{{ e", "`$a` is not set here"),
    "no end": ("{{ if .x }}\na: b\n", "if", "`if` has no `{{ end }}`"),
    "two ends": ("{{ if .x }}{{ end }}{{ end }}", "end }}$", "`end` without `if`, `with`, `range` or `define`"),
    "else": ("{{ else }}", "else", "`else` without `if`, `with` or `range`"),
    "two else": ("{{ if .x }}{{ else }}{{ else }}{{ end }}", "else }}{{ end", "`else` without `if`"),
    "else range": ("{{ if .x }}{{ else range .y }}{{ end }}", "range", "`range` cannot follow `else`"),
    "no condition": ("{{ if }}{{ end }}", "if", "`if` has no value"),
    "nothing": ("a: {{ }}", "{{", "`{{ }}` has no value"),
    "bracket": ("a: {{ (.x }}", "(", "`(` is not closed"),
    "two brackets": ("a: {{ .x) }}", ")", "`)` without `(`"),
    "pipe": ("a: {{ .x | }}", "|", "no function after `|`"),
    "first pipe": ("a: {{ | quote }}", "|", "no value before `|`"),
    "comment": ("a: {{/* x }}", "{{", "the comment that begins here does not end with `*/}}`"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_template_that_helm_refuses(name: str) -> None:
    text, at, message = REFUSED[name]
    found = find_mistake(text, FUNCTIONS)
    assert found is not None
    offset = text.rindex(at.removesuffix("$")) if at.endswith("$") else text.index(at)
    assert found.offset == offset and message in found.message


ACCEPTED = [
    "a: {{ .Values.x }}}\nb: {x: y}}",
    "a: {{- .Values.x -}} }",
    'a: {{ printf "%s}" .x }} {{ `}` }} {{ "\\"}" }}',
    "a: {{/* } nosuch $x */}} {{- /* a\nb */ -}}",
    "{{ $x := 1 }}{{ if $x }}{{ $y := 2 }}{{ else }}{{ $y }}{{ end }}{{ $x = 3 }}",
    "{{ range $k, $v := .x }}{{ break }}{{ $k }}{{ else }}{{ end }}{{ range .y }}{{ continue }}{{ end }}",
    "{{ with $x := .y }}{{ $x }}{{ else with .z }}{{ . }}{{ end }}",
    "{{ if .a }}{{ else if and .b (not .c) }}{{ else }}{{ end }}",
    '{{ define "a" }}{{ $x := . }}{{ $x.y }}{{ $ }}{{ end }}{{ template "a" . }}{{ block "b" . }}{{ . }}{{ end }}',
    "a: {{ (index .x 0).y | default nil | ternary 1 -2.5 }} {{ len .x | eq 0x1F }} {{ true }}",
    "a: {{ .Values.x\n  | quote\n}}",
    "a: {{ (.Values.a).b.c }} {{ $.Values.größe }}",
    "a: {{ 'x' }} {{ 1_000 }} {{ $ }} {{ . }}",
    "no code at all }",
]


@pytest.mark.parametrize("text", ACCEPTED)
def test_a_template_that_helm_accepts(text: str) -> None:
    assert find_mistake(text, FUNCTIONS) is None


def test_a_broken_template_is_no_all_clear_and_deletes_nothing(nodelint: Run, tmp_path: Path) -> None:
    for side in ("old", "new"):
        write_loop(tmp_path / side, POOLS.replace("x86", "amd64"))
    write_files(tmp_path / "new", {"chart/templates/p.yaml": LOOP.replace("pools }}", "pools }", 1)})
    done = nodelint("check", "new")
    assert done.returncode == 2
    assert "new/chart/templates/p.yaml:1: cannot be read: the code ends with one `}`" in done.stderr
    plan = nodelint("plan", "--old", "old", "new", "--fail-on", "drift")
    assert plan.returncode != 0 and "deleted" not in plan.stdout and "Not compared" in plan.stdout


CLASS = """\
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: d}
spec:
  role: r
  amiSelectorTerms: [AMI]
  subnetSelectorTerms: [{tags: {TAGS}}]
  securityGroupSelectorTerms: [{tags: {a: b}}]
"""
CODE = '{{ include "tags" . }}'


@pytest.mark.parametrize("tags", [f" {CODE} ", f"a: b, {CODE} ", "{{ .k }}: {{ .v }} "])
def test_code_that_prints_entries_into_braces(nodelint: Run, tmp_path: Path, tags: str) -> None:
    text = CLASS.replace("AMI", "{alias: al2023@v20260618}")
    write_files(tmp_path, {"known.yaml": text.replace("TAGS", ""), "code.yaml": text.replace("TAGS", tags)})
    done = json.loads(nodelint("check", "--format", "json").stdout)
    assert {found["path"] for found in done["findings"] if found["severity"] == "error"} == {"known.yaml"}


def test_an_image_term_that_code_prints(nodelint: Run, tmp_path: Path) -> None:
    text = CLASS.replace("TAGS", "a: b")
    write_files(tmp_path, {"c.yaml": text.replace("AMI", f"{{ {CODE} }}")})
    assert "error" not in nodelint("check").stdout
    write_files(tmp_path, {"c.yaml": text.replace("AMI", "{name: x}")})
    assert "amiFamily is needed" in nodelint("check").stdout


LOOP = """\
{{- range $name, $raw := .Values.pools }}
{{- $p := mergeOverwrite (deepCopy $.Values.defaults) $raw }}
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: {{ $name }}}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      {{- with $p.taints }}
      taints: {{- toYaml . | nindent 8 }}
      {{- end }}
      requirements: [{key: kubernetes.io/arch, operator: In, values: {{ toJson $p.arch }}}]
{{- end }}
"""
POOLS = "defaults: {arch: [x86]}\npools:\n  a: {arch: [arm64]}\n  b: {}\n"


def write_loop(folder: Path, values: str, release: str = "") -> None:
    chart = {"Chart.yaml": "apiVersion: v2\nname: c\nversion: 0.1.0\n", "values.yaml": values}
    chart["templates/p.yaml"] = LOOP
    files = {f"chart/{path}": text for path, text in chart.items()}
    write_files(folder, {".git/HEAD": "", "deploy.sh": release, **files})


def test_a_pool_that_overrides_a_list_leaves_the_default_as_it_is(nodelint: Run, tmp_path: Path) -> None:
    write_loop(tmp_path, POOLS)
    assert "no instance type has arch `x86`" in nodelint("check").stdout
    write_loop(tmp_path, POOLS.replace("x86", "amd64"))
    assert "error" not in nodelint("check").stdout


def test_a_map_of_the_values_that_is_merged_in_place_is_not_known(nodelint: Run, tmp_path: Path) -> None:
    write_loop(tmp_path, POOLS)
    changed = LOOP.replace("deepCopy $.Values.defaults", "$.Values.defaults")
    write_files(tmp_path, {"chart/templates/p.yaml": changed})
    assert "no instance type has arch `x86`" not in nodelint("check").stdout


@pytest.mark.parametrize("is_complete", [False, True])
def test_a_block_whose_value_no_release_sets(is_complete: bool) -> None:
    root = compose(SourceText("values.yaml", POOLS), POOLS, 0, masked=False)[0]
    assert root is not None
    filled = fill(LOOP, parse(LOOP), root, "keys", is_complete=is_complete)
    assert ("taints:" in filled.text) != is_complete  # whoever installs a chart may set more than its defaults
    assert "[arm64]" in filled.text.replace('"', "")
