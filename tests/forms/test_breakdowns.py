"""What a repository nests without end, or writes in a form that breaks something, silences nothing else."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from nodelint.data import table
from nodelint.forms.kustomize.overlay import Overlay
from nodelint.forms.lib.gotemplate import sprig
from nodelint.forms.terraform import filled_texts as terraform
from nodelint.model import releases
from tests.manifests import nodeclass, nodepool
from tests.repositories import write_files

Run = Callable[..., subprocess.CompletedProcess[str]]

POOL = nodepool("key: kubernetes.io/arch, operator: In, values: [amd64]")
WRONG = nodepool("key: kubernetes.io/arch, operator: In, values: [x86]").replace("default", "beside", 1)
CHART = {"Chart.yaml": "apiVersion: v2\nname: c\nversion: 1.0.0\n", "values.yaml": "a: 1\n"}


def _chart(helper: str) -> dict[str, str]:
    pool = POOL.replace(
        "metadata:\n  name: default", 'metadata:\n  name: default\n  annotations: {x: {{ include "e" . | quote }}}'
    )
    assert "include" in pool
    return {**CHART, "templates/p.yaml": pool, "templates/_h.tpl": f'{{{{ define "e" }}}}{helper}{{{{ end }}}}\n'}


_ITSELF = '{{ $d := dict "a" "b" }}{{ $_ := set $d "d" $d }}'
_NESTED = '{{ $x := list "a" }}{{ range until 1000 }}{{ $x = list $x }}{{ end }}'
_NESTED_DICT = '{{ $x := dict "a" "b" }}{{ range until 1000 }}{{ $x = dict "a" $x }}{{ end }}'
_MERGED = '{{ $x := dict "a" "b" }}{{ range until 1000 }}{{ $x = merge (dict "a" $x) (dict "c" "d") }}{{ end }}'
HELPERS = {
    "toJson of itself": _ITSELF + "{{ $d | toJson }}",
    "toYaml of itself": _ITSELF + "{{ toYaml $d }}",
    "in a list in itself": '{{ $d := dict "a" "b" }}{{ $_ := set $d "d" (list 1 (dict "e" $d)) }}{{ toJson $d }}',
    "two in each other": (
        '{{ $d := dict "a" "b" }}{{ $e := dict "d" $d }}{{ $_ := set $d "e" $e }}{{ toPrettyJson $d }}{{ toYaml $e }}'
    ),
    "deepCopy": _ITSELF + "{{ deepCopy $d | toJson }}",
    "deepEqual": _ITSELF + "{{ deepEqual $d (dict) }}",
    "has": _ITSELF + "{{ has $d (list $d) }}",
    "merge": _ITSELF + "{{ merge $d $d | toYaml }}",
    "nested lists": _NESTED + "{{ toJson $x }}{{ toYaml $x }}{{ len $x }}",
    "nested dicts": _NESTED_DICT + "{{ toJson $x }}{{ toYaml $x }}{{ deepCopy $x }}{{ $x }}",
    "equal": _NESTED_DICT + "{{ deepEqual $x $x }}{{ if eq $x $x }}a{{ end }}{{ has $x (list $x) }}",
    "merged": _MERGED + "{{ toJson $x }}{{ toYaml $x }}{{ deepEqual $x $x }}{{ with $x }}{{ . }}{{ end }}",
    "in a condition": _MERGED + "{{ if $x }}a{{ end }}{{ range $x }}{{ . }}{{ end }}",
    "pipes": "{{ 1" + " | quote" * 5000 + " }}",
    "pipes in a variable": "{{ $x := 1" + " | quote" * 5000 + " }}{{ $x }}",
    "pipes in a condition": "{{ if 1" + " | quote" * 5000 + " }}a{{ end }}",
    "brackets": "{{ " + "(quote " * 3000 + "1" + ")" * 3000 + " }}",
    "blocks": "{{ if 1 }}" * 3000 + "a" + "{{ end }}" * 3000,
    "includes itself": '{{ include "e" . }}',
    "deep json": "{{ fromJson `" + "[" * 3000 + "]" * 3000 + "` }}",
    "deep yaml": "{{ fromYaml `" + "[" * 3000 + "]" * 3000 + "` }}",
}


@pytest.mark.parametrize("helper", HELPERS)
def test_a_template_without_end_is_not_known_and_the_rest_is_judged(
    nodelint: Run, tmp_path: Path, helper: str
) -> None:
    write_files(tmp_path, {**_chart(HELPERS[helper]), "templates/beside.yaml": WRONG, "class.yaml": nodeclass()})
    done = nodelint("check")
    output = "nodelint: templates/_h.tpl:1: cannot be read: " if helper == "blocks" else ""
    assert (done.returncode, done.stderr[: len(output) or None]) == (2 if output else 1, output)
    assert "`x86`" in done.stdout


def _overlay(more: str) -> dict[str, str]:
    return {"o/kustomization.yaml": f"resources: [pool.yaml]\n{more}", "o/pool.yaml": POOL}


DEEP = ".".join(["a"] * 3000)
OVERLAYS = {
    "a target": f"replacements:\n- sourceValue: x\n"
    f"  targets: [{{select: {{kind: NodePool}}, fieldPaths: [{DEEP}]}}]\n",
    "a target that is made": (
        "replacements:\n- sourceValue: x\n  targets:\n"
        f"  - select: {{kind: NodePool}}\n    options: {{create: true}}\n    fieldPaths: [{DEEP}]\n"
    ),
    "a patch": "patches:\n- target: {kind: NodePool}\n  patch: |-\n"
    f"    - {{op: add, path: /{DEEP.replace('.', '/')}, value: x}}\n",
    "a source": (
        f"replacements:\n- source: {{kind: NodePool, fieldPath: {DEEP}}}\n"
        "  targets: [{select: {kind: NodePool}, fieldPaths: [spec.weight]}]\n"
    ),
}


@pytest.mark.parametrize("more", OVERLAYS)
def test_an_overlay_of_a_deep_path_is_not_built_and_said(nodelint: Run, tmp_path: Path, more: str) -> None:
    write_files(tmp_path, {**_overlay(OVERLAYS[more]), "beside.yaml": WRONG})
    done = nodelint("check")
    assert done.returncode == 2 and "not built" in done.stderr
    assert "`x86`" in done.stdout


@pytest.mark.parametrize(
    "values",
    ['"a: x86\\nb: 2"', "'{a: x86, b: 2}'", '"{\\"a\\": \\"x86\\"}"', ">-\n        a: x86", "|\n        a: x86"],
)
@pytest.mark.parametrize("form", ["Application", "HelmRelease"])
def test_values_in_quotes_are_read_as_a_block_is(nodelint: Run, tmp_path: Path, form: str, values: str) -> None:
    application = (
        "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: a}\nspec:\n  source:\n"
        f"    repoURL: https://example.com/y\n    path: c\n    helm:\n      values: {values}\n"
    )
    release = (
        "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: a}\nspec:\n"
        "  chart: {spec: {chart: c, sourceRef: {kind: GitRepository, name: r}}}\n"
        "  valuesFrom: [{kind: ConfigMap, name: v}]\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: v}\n"
        f"data:\n  values.yaml: {values}\n"
    )
    chart = {f"c/{name}": text for name, text in CHART.items()}
    pool = POOL.replace("[amd64]", '["{{ .Values.a }}"]')
    text = application if form == "Application" else release
    write_files(
        tmp_path, {**chart, "c/values.yaml": "a: amd64\nb: 1\n", "c/templates/p.yaml": pool, "app.yaml": text}
    )
    (tmp_path / ".git").mkdir()
    done = nodelint("check", "--format", "json")
    found = [f for f in json.loads(done.stdout)["findings"] if "`x86`" in f["message"]]
    assert found and found[0]["path"] == "app.yaml"
    before = (tmp_path / "app.yaml").read_bytes()
    nodelint("check", "--fix", "--unsafe-fixes")
    assert (tmp_path / "app.yaml").read_bytes() == before or b"\\n" not in before


@pytest.mark.parametrize("name", ["template", "disruption", "limits"])
def test_a_field_that_is_named_as_its_parent_is_flagged(nodelint: Run, tmp_path: Path, name: str) -> None:
    text = POOL.replace("      requirements:", f"      {name}: 24h\n      requirements:")
    write_files(
        tmp_path,
        {
            "p.yaml": text,
            "q.yaml": "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: a}\n"
            f"spec:\n  {name}:\n    {name}: 24h\n",
        },
    )
    for more in ((), ("--diff", "--unsafe-fixes"), ("--format", "json")):
        done = nodelint("check", *more)
        assert done.returncode in (0, 1), done.stderr
    assert "unknown-field" in done.stdout


@pytest.mark.parametrize("weight", ['"10"', "[10]", "{a: 1}", "true", "1.5", "null", "ten"])
def test_a_plan_over_a_weight_of_a_wrong_type(nodelint: Run, tmp_path: Path, weight: str) -> None:
    wrong = POOL + f"  weight: {weight}\n"
    write_files(tmp_path, {"old/p.yaml": POOL + "  weight: 7\n", "new/p.yaml": wrong})
    for sides in (("old", "new"), ("new", "old")):
        done = nodelint("plan", "--old", *sides)
        assert done.returncode in (0, 1), done.stderr


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "a: " + "[" * 600, "- " * 600 + "a"])
def test_a_cluster_that_is_nested_without_end_is_refused_in_words(nodelint: Run, tmp_path: Path, text: str) -> None:
    write_files(tmp_path, {"live.json": text, "p.yaml": POOL, "old/p.yaml": POOL})
    for command in (
        ["hash", "--live", "live.json", "p.yaml"],
        ["plan", "--old", "old", "--live", "live.json", "p.yaml"],
    ):
        done = nodelint(*command)
        assert done.returncode == 2 and done.stderr.startswith("nodelint: --live live.json: "), done.stderr


@pytest.mark.parametrize("given", ["1.16.0", 1, [], {}, {"release": 1}, {"release": "a", "commit": "b", "date": "c"}])
def test_what_is_said_of_the_next_release_has_its_shape(monkeypatch: pytest.MonkeyPatch, given: object) -> None:
    monkeypatch.setattr(releases, "table", lambda name: {**table(name), "next": given})
    with pytest.raises(ValueError, match=r"^`next` in data/versions.json has to have"):
        releases.ahead()


def _breaks(*_: object, **__: object) -> None:
    raise KeyError("broken")


BROKEN = {
    "chart": (
        sprig.FUNCTIONS,
        "upper",
        {**_chart('{{ upper "a" }}'), "templates/beside.yaml": WRONG},
        "templates/p.yaml",
    ),
    "overlay": (Overlay, "build", {**_overlay("namePrefix: a-\n"), "beside.yaml": WRONG}, "o"),
    "terraform": (
        terraform,
        "_of_module",
        {
            "main.tf": 'variable "a" {}\nresource "kubectl_manifest" "p" {\n  yaml_body = <<EOF\n'
            f"{POOL}  weight: ${{var.a}}\nEOF\n}}\n",
            "beside.yaml": WRONG,
        },
        "main.tf",
    ),
}


@pytest.mark.parametrize("form", BROKEN)
@pytest.mark.parametrize("command", ["check", "plan", "explain"])
def test_a_file_that_breaks_nodelint_is_a_gap_and_the_rest_is_printed(
    nodelint: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str, command: str
) -> None:
    holder, name, files, place = BROKEN[form]
    if isinstance(holder, dict):
        monkeypatch.setitem(holder, name, _breaks)
    else:
        monkeypatch.setattr(holder, name, _breaks)
    write_files(
        tmp_path,
        {**{f"new/{path}": text for path, text in files.items()}, "old/beside.yaml": WRONG.replace("x86", "amd64")},
    )
    (tmp_path / "new" / ".git").mkdir()
    args = ("plan", "--old", "old", "new") if command == "plan" else (command, "new")
    done = nodelint(*args)
    output = done.stdout + done.stderr
    assert f"new/{place}" in output and "nodelint failed on this file, please report it" in output
    assert "beside" in output and "Traceback" not in output and "All good" not in output
    assert "No node is replaced." not in output
    if command == "check":
        assert done.returncode == 3 and "`x86`" in done.stdout and "KeyError" in done.stderr
