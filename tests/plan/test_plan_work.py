"""The work of a plan grows with its input, and is not done twice for what both sides share. Calls are counted."""

from __future__ import annotations

import cProfile
import json
import math
import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from nodelint.plan import workload_trees
from tests.fit.test_fit import pod
from tests.manifests import nodeclass, nodepool
from tests.plan.installers import application
from tests.repositories import write_files

Run = Callable[..., CompletedProcess[str]]

POOL = f"{nodepool('key: team, operator: In, values: [batch]', name='NAME')}---\n{nodeclass(name='NAME')}".replace(
    "name: default", "name: NAME"
)
MODULE = 'variable "name" {}\n' + "".join(
    f'resource "kubectl_manifest" "r{n}" {{\n  yaml_body = <<-YAML\n{textwrap.indent(text, "    ")}  YAML\n}}\n'
    for n, text in enumerate(POOL.replace("NAME", "${var.name}").split("---\n"))
)


def write_charts(number: int) -> dict[str, str]:
    """Charts that each make a pool, its class and a workload."""
    files = {}
    for n in range(number):
        files[f"c{n}/Chart.yaml"] = f"apiVersion: v2\nname: c{n}\nversion: 1.0.0\n"
        files[f"c{n}/values.yaml"] = f"name: c{n}\nteam: batch\n"
        files[f"c{n}/templates/pools.yaml"] = POOL.replace("NAME", "{{ .Values.name }}")
        files[f"c{n}/templates/web.yaml"] = pod("nodeSelector: {team: '{{ .Values.team }}'}")
    return files


def write_outer_charts(number: int) -> dict[str, str]:
    """Charts that each depend on a chart in their own folder, and are installed by an Application."""
    files = {}
    for path, text in write_charts(number).items():
        chart = path.partition("/")[0]
        files[f"up{chart}/charts/{path}"] = text
        name = f"apiVersion: v2\nname: up{chart}\nversion: 1.0.0\ndependencies:\n"
        files[f"up{chart}/Chart.yaml"] = f"{name}  - {{name: {chart}, version: 1.0.0}}\n"
        files[f"up{chart}/values.yaml"] = f"{chart}:\n  team: batch\n"
        files[f"apps/{chart}.yaml"] = application(f"up{chart}", "{valuesObject: {a: 1}}")["apps/nodes.yaml"]
        files[f"apps/{chart}.sh"] = f"helm upgrade --install {chart} ./up{chart} --set a=b\n"
    return files


def write_units(number: int) -> dict[str, str]:
    """Units of Terragrunt that each call one module."""
    text = 'terraform {{\n  source = "../modules/pool"\n}}\ninputs = {{ name = "c{n}" }}\n'
    return {"modules/pool/main.tf": MODULE} | {f"c{n}/terragrunt.hcl": text.format(n=n) for n in range(number)}


def write_overlays(number: int) -> dict[str, str]:
    """Overlays over one base."""
    base = {"base/kustomization.yaml": "resources: [pools.yaml]\n", "base/pools.yaml": POOL.replace("NAME", "web")}
    text = "resources: [../base]\nnameSuffix: -c{n}\n"
    return base | {f"c{n}/kustomization.yaml": text.format(n=n) for n in range(number)}


def write_roots(number: int) -> dict[str, str]:
    """Root modules of Terraform that each call one module."""
    text = 'module "pool" {{\n  source = "../modules/pool"\n  name = "c{n}"\n}}\n'
    return {"modules/pool/main.tf": MODULE} | {f"c{n}/main.tf": text.format(n=n) for n in range(number)}


CHARTS = "helm/fill.py fill_template", "gotemplate/evaluate.py fill"
TERRAFORM = "terraform/filled_texts.py _fill", "terraform/evaluate.py value"
OUTER_CHARTS = *CHARTS, "lib/variable_inputs.py _read", "files/gate.py read", "helm/unnamed_values.py _list_entries"
OVERLAYS = "kustomize/overlay.py build", "kustomize/overlay.py *"
FORMS = {
    "charts": (write_charts, CHARTS),
    "charts in others": (write_outer_charts, OUTER_CHARTS),
    "units of Terragrunt": (write_units, TERRAFORM),
    "overlays": (write_overlays, OVERLAYS),
    "roots of Terraform": (write_roots, TERRAFORM),
}
"""Trees, and what parses, evaluates and renders them."""


def count_calls(nodelint: Run, here: Path, old: Mapping[str, str], new: Mapping[str, str]) -> Callable[[str], int]:
    """Plan between two folders; return what tells how often functions of a module were called."""
    write_files(here / "old", dict(old))
    write_files(here / "new", dict(new))
    profile = cProfile.Profile()
    profile.enable()
    done = nodelint("plan", "--old", "old", "new", cwd=here)
    profile.disable()
    assert done.returncode in (0, 1), done.stderr
    calls = [
        (e.code.co_filename, e.code.co_name, e.callcount) for e in profile.getstats() if not isinstance(e.code, str)
    ]

    def count(name: str) -> int:
        module, function = name.split()
        return sum(n for path, own, n in calls if path.endswith(module) and function in ("*", own))

    return count


@pytest.mark.parametrize("form", FORMS)
def test_what_is_parsed_and_rendered_grows_with_the_tree(form: str, nodelint: Run, tmp_path: Path) -> None:
    write, names = FORMS[form]
    counts = []
    for number in (3, 6):
        files = write(number)
        new = {path: text.replace("cpu: 100", "cpu: 90").replace("batch", "web") for path, text in files.items()}
        counts.append(count_calls(nodelint, tmp_path / str(number), files, new))
    for name in (*names, "yaml/compose.py run"):
        few, many = (count(name) for count in counts)
        assert few and math.log2(many / few) < 1.1, (name, few, many)


def test_what_is_the_same_on_both_sides_is_worked_out_once(nodelint: Run, tmp_path: Path) -> None:
    """Charts that make workloads alone are rendered for the workloads, once for both sides."""
    charts = {path: text for path, text in write_charts(4).items() if not path.endswith("pools.yaml")}
    files = {**charts, "pool.yaml": POOL.replace("NAME", "web"), "run.py": "print(1)\n", "notes.txt": "a\n"}
    new = {
        **files,
        "pool.yaml": files["pool.yaml"].replace("[batch]", "[web]"),
        "run.py": "print(2)\n",
        "notes.txt": "b\n",
    }
    count = count_calls(nodelint, tmp_path, files, new)
    assert count("helm/fill.py fill_template") == 4
    units = {path: f"# read once\n{text}" for path, text in write_units(4).items()}
    new = {**units, "c1/terragrunt.hcl": units["c1/terragrunt.hcl"].replace("c1", "c9")}
    count = count_calls(nodelint, tmp_path / "units", units, new)
    assert count("terraform/parsed.py __init__") == len({*units.values(), *new.values()})


TEAM = "c/templates/_team.tpl"
CHART = {
    "c/Chart.yaml": "apiVersion: v2\nname: c\nversion: 1.0.0\n",
    "c/values.yaml": "team: batch\n",
    TEAM: '{{ define "team" }}{{ .Values.team }}{{ end }}',
    "c/templates/web.yaml": pod("nodeSelector: {team: '{{ include \"team\" . }}'}"),
}
CODE = 'resource "kubectl_manifest" "web" {{\n  yaml_body = <<-YAML\n{}\n  YAML\n}}\n'.format(
    textwrap.indent(pod("nodeSelector: {team: '${trimspace(file(\"${path.module}/team.txt\"))}'}"), "    ")
)
INPUTS = {
    "a file that Terraform reads": ({"t/main.tf": CODE, "t/team.txt": "batch\n"}, "t/team.txt"),
    "a values file": (CHART, "c/values.yaml"),
    "a named template": (CHART | {TEAM: '{{ define "team" }}batch{{ end }}'}, TEAM),
}


@pytest.mark.parametrize("kind", INPUTS)
@pytest.mark.parametrize("changes", [True, False])
def test_workloads_are_those_of_their_side(kind: str, changes: bool, nodelint: Run, tmp_path: Path) -> None:
    """What a workload is made of tells the sides apart, wherever it stands, and another file does not."""
    files, path = INPUTS[kind]
    files = {**files, "pools.yaml": POOL.replace("NAME", "web"), "more.txt": "batch\n"}
    changed = path if changes else "more.txt"
    write_files(tmp_path / "old", files)
    write_files(tmp_path / "new", files | {changed: files[changed].replace("batch", "other")})
    built = []
    with pytest.MonkeyPatch.context() as patch:
        real = workload_trees.build_side
        patch.setattr(workload_trees, "build_side", lambda *given: built.append(real(*given)) or built[-1])
        done = nodelint("plan", "--old", "old", "new", "--format", "json", cwd=tmp_path)
    assert len(built) == 1 + changes
    assert bool(json.loads(done.stdout)["workloads"]) == changes


def test_a_workload_that_both_sides_share_stands_beside_the_pools_of_its_side(nodelint: Run, tmp_path: Path) -> None:
    """Of pools of one name, those of the workload's own folder take it, on either side."""
    pools = {f"{name}/pool.yaml": POOL.replace("NAME", "web") for name in ("a", "b")}
    files = {**pools, "a/web.yaml": pod("nodeSelector: {team: batch}")}
    new = {**files, "b/pool.yaml": files["b/pool.yaml"].replace("[batch]", "[other]")}
    write_files(tmp_path / "old", files)
    write_files(tmp_path / "new", new)
    done = nodelint("plan", "--old", "old", "new", "--format", "json", cwd=tmp_path)
    assert '"workloads": []' in done.stdout
