"""A reference that leads nowhere stops its tool: nothing is applied, so nothing is deleted, and nothing is known."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from textwrap import indent

import pytest

from tests.plan.test_plan import CLASS, POOL
from tests.repositories import write_files

Run = Callable[..., CompletedProcess[str]]
Files = dict[str, str]
Edit = tuple[str, str, str]
"""A file, a text in it, and what takes its place. A file is deleted if both texts are empty."""
BOTH = f"{CLASS}---\n{POOL}"
HCL = "".join(
    f'resource "kubectl_manifest" "{name}" {{\n  yaml_body = <<-YAML\n{indent(text, "    ")}  YAML\n}}\n'
    for name, text in (("c", CLASS), ("p", POOL))
)
READ = """\
resource "kubectl_manifest" "c" {
  yaml_body = templatefile("${path.module}/karpenter/class.yaml", { team = "a" })
}
resource "kubectl_manifest" "p" {
  yaml_body = file("${path.module}/karpenter/pool.yaml")
}
"""
APPLICATION = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: pools, namespace: argocd}
spec:
  source: {repoURL: https://example.com/x.git, path: pools/prod}
  destination: {server: https://kubernetes.default.svc}
"""
FLUX = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: karpenter, namespace: flux-system}
spec:
  path: ./pools/prod
  prune: true
  sourceRef: {kind: GitRepository, name: flux-system}
"""
TEMPLATE = BOTH.replace("cost: web", "cost: '{{ .Values.cost }}'")
CHART = {
    "c/Chart.yaml": "apiVersion: v2\nname: nodes\nversion: 0.1.0\n",
    "c/values.yaml": "cost: a\n",
    "c/templates/n.yaml": TEMPLATE,
}
MODULE = {"main.tf": 'module "nodes" {\n  source = "./modules/karpenter-nodes"\n}\n'}
MODULE["modules/karpenter-nodes/main.tf"] = HCL
TEXTS = {"main.tf": READ, "karpenter/class.yaml": CLASS, "karpenter/pool.yaml": POOL}
UNIT = {
    "live/terragrunt.hcl": 'terraform {\n  source = "../modules/karpenter"\n}\n',
    "modules/karpenter/main.tf": HCL,
}
FOLDER = {"pools/prod/n.yaml": BOTH}
OVERLAY = {
    "prod/kustomization.yaml": "resources: [../base]\nconfigMapGenerator:\n  - {name: x, files: [a.properties]}\n",
    "prod/a.properties": "x=1\n",
    "base/kustomization.yaml": "resources: [n.yaml]\n",
    "base/n.yaml": BOTH,
}
RELEASE = "releases:\n  - name: karpenter-nodes\n    chart: ./c\n    values: [prod.yaml]\n"
HELMFILE = {**CHART, "helmfile.yaml": RELEASE, "prod.yaml": "cost: p\n"}
OUTER = {**CHART, "helmfile.yaml": "helmfiles: [sub/helmfile.yaml]\n", "sub/prod.yaml": "cost: p\n"}
OUTER["sub/helmfile.yaml"] = RELEASE.replace("./c", "../c")
BROKEN: dict[str, tuple[Files, Edit, str]] = {
    "module": (MODULE, ("main.tf", "karpenter-nodes", "karpenter-node"), "main.tf:2"),
    "module that is gone": (MODULE, ("modules/karpenter-nodes/main.tf", "", ""), "main.tf:2"),
    "templatefile": (TEXTS, ("main.tf", "class.yaml", "clas.yaml"), "main.tf:2"),
    "file": (TEXTS, ("main.tf", "pool.yaml", "pol.yaml"), "main.tf:5"),
    "file that is gone": (TEXTS, ("karpenter/pool.yaml", "", ""), "main.tf:5"),
    "unit": (UNIT, ("live/terragrunt.hcl", "modules/karpenter", "mods/nodes"), "live/terragrunt.hcl:2"),
    "Application": (
        {**FOLDER, "a.yaml": APPLICATION},
        ("a.yaml", "pools/prod", "pools/prd"),
        "a.yaml:5",
    ),
    "Kustomization": ({**FOLDER, "k.yaml": FLUX}, ("k.yaml", "pools/prod", "clusters/all"), "k.yaml:5"),
    "generator": (OVERLAY, ("prod/a.properties", "", ""), "prod/kustomization.yaml:3"),
    "resource": (OVERLAY, ("base/kustomization.yaml", "n.yaml", "nn.yaml"), "base/kustomization.yaml:1"),
    "values of helmfile": (HELMFILE, ("helmfile.yaml", "prod.yaml", "prd.yaml"), "helmfile.yaml:4"),
    "inner helmfile": (OUTER, ("helmfile.yaml", "sub/", "subs/"), "helmfile.yaml:1"),
}
OTHER_ROOT = {
    "nodes/main.tf": HCL,
    "other/main.tf": 'module "x" {\n  source = "./mod"\n}\n',
    "other/mod/main.tf": "locals {}\n",
}
FIRST, SECOND = '  x = try(file("${path.module}/a.txt"), "")\n', '  x = false ? file("${path.module}/a.txt") : ""\n'
WEB = {"web/n.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: web}\n"}
WHOLE: dict[str, tuple[Files, Edit]] = {
    "another root": (OTHER_ROOT, ("other/main.tf", "./mod", "./mdo")),
    "a comment": ({"main.tf": f'{HCL}# x = file("a.txt")\n', "a.txt": "1"}, ("a.txt", "", "")),
    "try": ({"main.tf": f"{HCL}locals {{\n{FIRST}}}\n", "a.txt": "1"}, ("a.txt", "", "")),
    "another branch": ({"main.tf": f"{HCL}locals {{\n{SECOND}}}\n", "a.txt": "1"}, ("a.txt", "", "")),
    "another Application": (
        {
            **FOLDER,
            **WEB,
            "a.yaml": APPLICATION,
            "b.yaml": APPLICATION.replace("pools/prod", "web").replace("pools", "b"),
        },
        ("b.yaml", "path: web", "path: wbe"),
    ),
    "another overlay": (
        {**OVERLAY, **WEB, "web/kustomization.yaml": "resources: [n.yaml]\n"},
        ("web/n.yaml", "", ""),
    ),
}


def change(files: Files, edit: Edit) -> Files:
    path, old, new = edit
    if not old:
        return {name: text for name, text in files.items() if name != path}
    assert old in files[path]
    return {**files, path: files[path].replace(old, new)}


def plan(nodelint: Run, folder: Path, old: Files, new: Files) -> CompletedProcess[str]:
    write_files(folder / "old", {".git/HEAD": "", **old})
    write_files(folder / "new", {".git/HEAD": "", **new})
    return nodelint("plan", "--old", "old", "new", "--format", "json", cwd=folder)


@pytest.mark.parametrize("name", BROKEN)
def test_nothing_is_known_of_what_its_tool_refuses(nodelint: Run, tmp_path: Path, name: str) -> None:
    files, edit, place = BROKEN[name]
    done = plan(nodelint, tmp_path, files, change(files, edit))
    found = json.loads(done.stdout)
    assert done.returncode == 1
    assert "No node is replaced" not in found["headline"] and "deleted" not in found["headline"]
    shown = {f"{gap['path'].removeprefix('new/')}:{gap['line']}" for gap in found["notCompared"] if gap["changed"]}
    assert place in shown
    same = plan(nodelint, tmp_path / "same", files, files)
    assert same.returncode == 0


@pytest.mark.parametrize("name", WHOLE)
def test_what_stops_something_else_is_no_change(nodelint: Run, tmp_path: Path, name: str) -> None:
    files, edit = WHOLE[name]
    done = plan(nodelint, tmp_path, files, change(files, edit))
    assert done.returncode == 0 and "No node is replaced" in json.loads(done.stdout)["headline"], done.stdout


def test_a_root_is_compared_if_another_one_of_its_module_stops(nodelint: Run, tmp_path: Path) -> None:
    call = 'module "n" {\n  source = "../modules/karpenter"\n}\n'
    files = {"prod/main.tf": call, "dev/main.tf": call, "modules/karpenter/main.tf": HCL}
    done = plan(nodelint, tmp_path, files, change(files, ("prod/main.tf", "karpenter", "karpentr")))
    found = json.loads(done.stdout)
    assert done.returncode == 1 and "deleted" not in found["headline"]
    assert any(gap["path"] == "new/prod/main.tf" and gap["line"] == 2 for gap in found["notCompared"])


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("module", "no folder `modules/karpenter-node` (did you mean `modules/karpenter-nodes`?)"),
        ("file", "no file `karpenter/pol.yaml` (did you mean `karpenter/pool.yaml`?)"),
        ("resource", "no file `nn.yaml` (did you mean `base/n.yaml`?)"),
        ("inner helmfile", None),
    ],
)
def test_check_reports_what_is_spelled_wrong(nodelint: Run, tmp_path: Path, name: str, message: str | None) -> None:
    files, edit, place = BROKEN[name]
    write_files(tmp_path, {".git/HEAD": "", **change(files, edit)})
    done = nodelint("check", "--format", "concise", "--select", "missing-source")
    found = [line for line in done.stdout.splitlines() if "[missing-source]" in line]
    if message is None:  # the outer file has no relation to Karpenter by itself
        assert not found
        return
    assert len(found) == 1 and found[0].startswith(f"{place}:") and message in found[0], done.stdout
    write_files(tmp_path, files)
    assert "missing-source" not in nodelint("check", "--format", "concise").stdout


def test_an_empty_set_of_files_deletes_what_it_made(nodelint: Run, tmp_path: Path) -> None:
    """A folder that does not exist is an empty set for `fileset`, so Terraform destroys the objects."""
    block = """\
resource "kubectl_manifest" "all" {
  for_each  = fileset("${path.module}/karpenter", "*.yaml")
  yaml_body = file("${path.module}/karpenter/${each.value}")
}
"""
    files = {**TEXTS, "main.tf": block}
    done = plan(nodelint, tmp_path, files, change(files, ("main.tf", '"*.yaml"', '"*.yml"')))
    assert done.returncode == 1 and re.search(r"Terraform deletes it", done.stdout)
    assert (
        plan(nodelint, tmp_path / "b", files, change(files, ("main.tf", "for_each  =", "for_each ="))).returncode == 0
    )
