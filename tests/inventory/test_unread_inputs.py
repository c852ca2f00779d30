"""What objects are built of and cannot be read is said: no run over it is `All good`."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from nodelint.forms.lib.gotemplate.syntax import Block, parse
from tests.conftest import ROOT
from tests.manifests import nodepool
from tests.plan.test_plan_forms import (
    FORMS,
    Files,
    base_of_two,
    chart,
    chart_of_maps,
    overlay,
    terraform_local,
    terraform_variable,
)
from tests.plan.test_plan_unread import DAMAGE, one_file, two_files, write
from tests.repositories import write_files

Run = Callable[..., CompletedProcess[str]]

TREES = ROOT / "tests" / "trees"

OF_THE_SAME_FILES = (chart, chart_of_maps, base_of_two, terraform_variable, terraform_local)
"""Forms whose files are among those of another one: a chart with more values, an overlay, a module with tfvars."""

PASSED_OVER = {"no UTF-8", "half of it"}
"""Of a kustomization or a patch this may still be YAML, as far as nodelint reads it."""


@pytest.mark.parametrize("form", [one_file, two_files, *(form for form in FORMS if form not in OF_THE_SAME_FILES)])
def test_a_run_over_what_cannot_be_read_is_never_all_good(
    nodelint: Run, tmp_path: Path, form: Callable[[str, object], Files]
) -> None:
    files = form("tag", "a")
    for number, (path, damage) in enumerate((path, damage) for path in files for damage in DAMAGE):
        if damage in PASSED_OVER and path.endswith(("kustomization.yaml", "patch.json")):
            continue
        folder = tmp_path / str(number)
        write(folder, files, path, damage)
        done = nodelint("check", ".", cwd=folder)
        assert "Traceback" not in done.stderr
        assert "All good" not in done.stdout, f"{path}: {damage}: {done.stdout} {done.stderr}"


def test_a_broken_kustomization_is_named_with_its_line(nodelint: Run, tmp_path: Path) -> None:
    write(tmp_path, base_of_two("tag", "a"), "dev/kustomization.yaml", "an open list")
    done = nodelint("check", ".")
    assert done.returncode == 2
    assert "dev/kustomization.yaml:3: cannot be read: " in done.stderr
    assert "1 path not read" in done.stdout


@pytest.mark.parametrize(("file", "code"), [("pool.yaml", 2), ("kustomization.yaml", 0)])
def test_a_folder_of_resources_needs_a_kustomization(nodelint: Run, tmp_path: Path, file: str, code: int) -> None:
    taken = {"base/kustomization.yaml": "resources: [../pools]\n", "pools/all.yaml": one_file("tag", "a")["all.yaml"]}
    write(tmp_path, {**taken, f"pools/{file}": "resources: [all.yaml]\n" if code == 0 else ""})
    done = nodelint("check", ".")
    fault = "base/kustomization.yaml:1: cannot be read: the folder `../pools` has no kustomization.yaml"
    assert (done.returncode, fault in done.stderr) == (code, code == 2)


def test_a_kustomization_of_others_is_not_spoken_of(nodelint: Run, tmp_path: Path) -> None:
    files = overlay("tag", "a") | {"web/kustomization.yaml": "resources: [web.yaml\n", "web/web.yaml": "kind: Web\n"}
    write(tmp_path, files)
    done = nodelint("check", ".")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_link_to_nothing_is_said_and_the_lock_of_an_editor_is_not(nodelint: Run, tmp_path: Path) -> None:
    write(tmp_path, one_file("tag", "a"))
    (tmp_path / ".#all.yaml").symlink_to("me@host.123")
    assert nodelint("check", ".").returncode == 0
    (tmp_path / "more.yaml").symlink_to("nowhere.yaml")
    done = nodelint("check", ".")
    assert (done.returncode, done.stderr) == (2, "nodelint: more.yaml: a link to a file that is not there\n")


def test_values_with_a_key_twice_are_taken_as_helm_takes_them(nodelint: Run, tmp_path: Path) -> None:
    files = next(form for form in FORMS if form.__name__ == "chart")("tag", "a")
    write(tmp_path, files | {"values.yaml": "value: a\nother: 1\nother: 2\n"})
    assert nodelint("check", ".").returncode == 0


@pytest.mark.parametrize("code", ["if.Values.on", "if(.Values.on)", 'if"a"', "if $x"])
def test_nothing_need_part_a_keyword_from_what_follows(code: str) -> None:
    (block,) = parse("{{- " + code + " }}a{{ else if.Values.off }}b{{end}}")
    assert isinstance(block, Block)
    assert [branch.word for branch in block.branches] == ["if", "if"]


def test_a_link_to_no_values_of_terraform_is_said(nodelint: Run, tmp_path: Path) -> None:
    manifest = "\n".join(f"    {line}" for line in nodepool().splitlines())
    body = f'variable "a" {{}}\nresource "kubectl_manifest" "a" {{\n  yaml_body = <<-YAML\n{manifest}\n  YAML\n}}\n'
    (tmp_path / "main.tf").write_text(body)
    (tmp_path / "terraform.tfvars").symlink_to("nowhere")
    result = nodelint("check", ".")
    assert result.returncode == 2
    assert "terraform.tfvars: a link to a file that is not there" in result.stderr


TEMPLATE = nodepool(spec="  weight: {{ .Values.weight }}\n").replace("default", '{{ include "name" . }}', 1)
CHART_FILES = {
    "Chart.yaml": "apiVersion: v2\nname: pools\nversion: 1.0.0\n",
    "values.yaml": "weight: 5\n",
    "templates/pool.yaml": TEMPLATE,
    "templates/_helpers.tpl": '{{ define "name" }}web{{ end }}\n',
}
NO_TEMPLATE = ("templates/pool.yaml:4", "no template of the chart is named `name`")
HELM_STOPS = {
    "no name": ({"Chart.yaml": "apiVersion: v2\nversion: 1.0.0\n"}, "Chart.yaml:1", "the chart has no `name`"),
    "no version": ({"Chart.yaml": "apiVersion: v2\nname: a\n"}, "Chart.yaml:1", "the chart has no `version`"),
    "nothing": ({"Chart.yaml": ""}, "Chart.yaml:1", "the chart has no `name`"),
    "no such template": ({"templates/_helpers.tpl": '{{ define "other" }}web{{ end }}\n'}, *NO_TEMPLATE),
    "no helpers": ({"templates/_helpers.tpl": ""}, *NO_TEMPLATE),
    "a vendored chart without its Chart.yaml": (
        {"charts/lib/templates/pool.yaml": TEMPLATE},
        "charts/lib/templates/pool.yaml:1",
        "helm loads no chart without its `charts/lib/Chart.yaml`",
    ),
    "half a template": (
        {"templates/pool.yaml": TEMPLATE[: TEMPLATE.index("weight") + 12]},
        "templates/pool.yaml:6",
        "could not find the `}}` of what begins here",
    ),
}


@pytest.mark.parametrize("name", HELM_STOPS)
def test_a_chart_over_which_helm_stops_is_named(nodelint: Run, tmp_path: Path, name: str) -> None:
    damage, place, why = HELM_STOPS[name]
    write_files(tmp_path, {**CHART_FILES, **damage})
    result = nodelint("check", ".")
    assert result.returncode == 2
    assert f"{place}: cannot be read: {why}" in result.stderr


@pytest.mark.parametrize(
    "dependency", ["", "dependencies: [{name: lib, version: 1.0.0, repository: https://example.com}]\n"]
)
def test_a_template_that_a_chart_elsewhere_may_define_is_not_missed(
    nodelint: Run, tmp_path: Path, dependency: str
) -> None:
    files = {**CHART_FILES, "Chart.yaml": CHART_FILES["Chart.yaml"] + dependency}
    if dependency:
        files["templates/_helpers.tpl"] = ""
    write_files(tmp_path, files)
    assert "no template of the chart" not in nodelint("check", ".").stderr


def test_a_text_of_terraform_that_is_no_yaml_once_filled_in_is_said(nodelint: Run, tmp_path: Path) -> None:
    manifest = "\n".join(f"    {line}" for line in nodepool(spec="  ${var.more}\n").splitlines())
    body = f'resource "kubectl_manifest" "a" {{\n  yaml_body = <<-YAML\n{manifest}\n  YAML\n}}\n'
    (tmp_path / "main.tf").write_text('variable "more" { default = "weight: [" }\n' + body)
    result = nodelint("check", ".")
    assert "main.tf: a text of this block is no YAML once its values are filled in" in result.stdout
    assert "All good" not in result.stdout
    (tmp_path / "main.tf").write_text('variable "more" { default = "weight: 5" }\n' + body)
    assert "no YAML" not in nodelint("check", ".").stdout


def test_terraform_that_is_cut_off_is_named_with_its_line(nodelint: Run, tmp_path: Path) -> None:
    """Terraform stops at it, and the exit code says so, whatever of the object can still be read."""
    lines = (TREES / "terraform-object" / "karpenter.tf").read_text(encoding="utf-8").splitlines(keepends=True)
    first = next(number for number, line in enumerate(lines) if line.startswith("resource"))
    last = next(number for number, line in enumerate(lines) if number > first and line.startswith("}"))
    for end in range(first + 1, last, 3):
        (tmp_path / "main.tf").write_text("".join(lines[:end]) + "# karpenter.sh/v1 NodePool\n", encoding="utf-8")
        done = nodelint("check", ".")
        assert (done.returncode, "All good" in done.stdout) == (2, False), "".join(lines[:end])
        assert re.match(r"error\[terraform-syntax\]: .*\n +--> main\.tf:\d+:\d+\n", done.stdout), done.stdout
