"""The fixes of an editor are those of `nodelint check --fix`: the same text, in each form of input."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

import pytest

from nodelint.edits import apply
from nodelint.lsp.actions import fix_all
from nodelint.lsp.buffers import Buffer, State
from nodelint.lsp.hover import hover
from nodelint.lsp.project import Project
from tests.conftest import ROOT
from tests.manifests import nodepool
from tests.repositories import write_files

Run = Callable[..., subprocess.CompletedProcess[str]]
NUMBERS = count(1)
CHART = {
    "Chart.yaml": "apiVersion: v2\nname: pools\nversion: 0.1.0\n",
    "values.yaml": "arch: x86_64\nfamilies: [m7i, c7i.flex]\npolicy: WhenUnderutilized\n",
    "templates/pool.yaml": """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: web}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: kubernetes.io/arch, operator: In, values: [{{ .Values.arch }}]}
        - {key: karpenter.k8s.aws/instance-family, operator: In, values: {{ toJson .Values.families }}}
      expiresAfter: 30d
  disruption: {consolidationPolicy: {{ .Values.policy }}, consolidateAfter: 30s}
""",
}
TERRAFORM = {
    "main.tf": """\
variable "arch" { type = string }
resource "kubectl_manifest" "pool" {
  yaml_body = yamlencode({
    apiVersion = "karpenter.sh/v1"
    kind       = "NodePool"
    metadata   = { name = "web" }
    spec = { template = { spec = {
      nodeClassRef = { group = "karpenter.k8s.aws", kind = "EC2NodeClass", name = "default" }
      requirements = [
        { key = "kubernetes.io/arch", operator = "In", values = [var.arch] },
        { key = "karpenter.sh/capacity-typ", operator = "In", values = ["on-demand"] },
      ]
    } } }
  })
}
""",
    "terraform.tfvars": 'arch = "x86_64"\n',
}
TREES = {
    "chart": CHART,
    "terraform": TERRAFORM,
    "examples": {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "examples" / "bad").iterdir()},
    **{
        tree.name: {
            str(path.relative_to(tree)): path.read_text(encoding="utf-8")
            for path in tree.rglob("*")
            if path.is_file()
        }
        for tree in (ROOT / "tests" / "trees").iterdir()
    },
}
CHANGED = {"chart": 2, "terraform": 2, "examples": 2, "terraform-template": 1, "helm-values": 1, "kustomize": 2}
"""In so many files of a tree something is fixed, at least."""


@pytest.mark.parametrize("name", TREES)
def test_the_editor_fixes_what_the_command_fixes(
    nodelint: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    files = TREES[name]
    write_files(tmp_path, files)
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    edited = {path: fixed_in_editor(tmp_path, path) for path in files}
    for path in files:
        nodelint("check", "--fix", *(files if name in ("chart", "terraform") else [path]))
        assert (tmp_path / path).read_text(encoding="utf-8") == edited[path], path
        write_files(tmp_path, files)
    assert sum(edited[path] != files[path] for path in files) >= CHANGED.get(name, 0)


def fixed_in_editor(home: Path, name: str) -> str:
    """The text of a file once the editor has applied all safe fixes of it."""
    path = home / name
    buffer = Buffer(path.as_uri(), 1, path.read_text(encoding="utf-8"), "utf-16")
    found = Project(lambda: datetime(2026, 11, 20, tzinfo=UTC)).view_of(
        State({buffer.uri: buffer}, (os.fspath(home),), next(NUMBERS)), buffer.uri
    )
    assert found is not None
    view, opened = found
    return apply(opened.source.text, fix_all(view, opened))


def test_the_name_of_a_local_shows_what_its_value_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = 'locals {\n  arch_of_pool = "amd64"\n}\n' + TERRAFORM["main.tf"].replace("var.arch", "local.arch_of_pool")
    write_files(tmp_path, {"main.tf": text})
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    buffer = Buffer((tmp_path / "main.tf").as_uri(), 1, text, "utf-16")
    state = State({buffer.uri: buffer}, (os.fspath(tmp_path),), next(NUMBERS))
    found = Project(lambda: datetime(2026, 11, 20, tzinfo=UTC)).view_of(state, buffer.uri)
    assert found is not None
    for mark in ("arch_of_pool =", '"amd64"', "local.arch_of_pool"):
        shown = hover(*found, text.index(mark) + 1)
        assert shown is not None and "**kubernetes.io/arch** In `amd64`" in shown.markdown, mark


@pytest.mark.parametrize(("release", "is_noted"), [("1.8.1", True), ("1.9.0", False)])
def test_bounds_without_a_number_between_them_are_explained_for_old_releases(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, release: str, is_noted: bool
) -> None:
    key = "karpenter.k8s.aws/instance-cpu"
    text = nodepool(f'key: {key}, operator: Gt, values: ["3"]', f'key: {key}, operator: Lt, values: ["4"]')
    write_files(tmp_path, {"pool.yaml": text, "nodelint.yaml": f'karpenter-version: "{release}"\n'})
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    buffer = Buffer((tmp_path / "pool.yaml").as_uri(), 1, text, "utf-16")
    state = State({buffer.uri: buffer}, (os.fspath(tmp_path),), next(NUMBERS))
    found = Project(lambda: datetime(2026, 11, 20, tzinfo=UTC)).view_of(state, buffer.uri)
    assert found is not None
    shown = hover(*found, text.index("operator: Gt"))
    assert shown is not None and "With the other lines on this key" in shown.markdown
    assert ("`Gt 3` and `Lt 4` leave no whole number" in shown.markdown) is is_noted


POOL_MODULE = """\
variable "families" { type = list(string) }
variable "name" { type = string }
resource "kubectl_manifest" "pool" {
  yaml_body = yamlencode({
    apiVersion = "karpenter.sh/v1"
    kind       = "NodePool"
    metadata   = { name = var.name }
    spec = { template = { spec = {
      nodeClassRef = { group = "karpenter.k8s.aws", kind = "EC2NodeClass", name = "default" }
      requirements = [{ key = "karpenter.k8s.aws/instance-family", operator = "In", values = var.families }]
    } } }
  })
}
"""
ROOT_MODULE = 'module "pool" {\n  source   = "../modules/pool"\n  name     = "NAME"\n  families = ["VALUE"]\n}\n'


@pytest.mark.parametrize(("other", "offers"), [("c7i", False), ("c7i.large", True)])
def test_a_fix_in_a_shared_file_is_tried_with_all_that_use_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, other: str, offers: bool
) -> None:
    first_root = ROOT_MODULE.replace("NAME", "one").replace("VALUE", "m7i.large")
    files = {
        "modules/pool/main.tf": POOL_MODULE,
        "one/main.tf": first_root,
        "two/main.tf": ROOT_MODULE.replace("NAME", "two").replace("VALUE", other),
    }
    write_files(tmp_path, {".git/HEAD": "ref: refs/heads/main\n", **files})
    monkeypatch.chdir(tmp_path)
    buffer = Buffer((tmp_path / "one/main.tf").as_uri(), 1, first_root, "utf-16")
    found = Project(lambda: datetime(2026, 11, 20, tzinfo=UTC)).view_of(
        State({buffer.uri: buffer}, (os.fspath(tmp_path),), next(NUMBERS)), buffer.uri
    )
    assert found is not None
    view, opened = found
    (result,) = (r for r in view.results(opened) if r.rule.name == "value-of-another-key")
    assert view.offered(result).fixable is offers
