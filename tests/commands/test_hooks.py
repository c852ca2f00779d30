"""The pre-commit hooks run as they are written."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nodelint.commands._hook import LOCAL, files_pattern
from nodelint.files.discover import discover
from nodelint.files.file_kinds import GENERATOR_INPUTS, TEMPLATES, YAML_ENDINGS
from nodelint.forms.registry import TABLE
from tests.conftest import ROOT, by_place
from tests.manifests import nodepool
from tests.plain_yaml import load_yaml
from tests.repositories import write_files

TREES = ROOT / "tests" / "trees"

HOOKS = load_yaml((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))

BAD = """\
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  role: KarpenterNodeRole-main
  securityGroupSelectorTerm: [{tags: {karpenter.sh/discovery: main}}]
  amiSelectorTerms: [{alias: al2023@v20250403}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
"""


HELD = (
    "pool.yaml",
    "pool.yml",
    "pool.json",
    "karpenter.tf",
    "karpenter.tofu",
    "pool.yaml.tpl",
    "class.tftpl",
    "templates/_helpers.tpl",
    "pool.yaml.gotmpl",
    "pool.tmpl",
    "pool.yaml.j2",
)
NOT_HELD = ("README.md", "install.sh", "main.go", "logo.svg", "yaml", "tf.py", "Chart.lock", "myenv", "a.environment")
VALUES = ("vars.env", ".env", ".env.prod", "vars.properties", "a.tfvars", "env.hcl", "a.ini")


Hook = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(nodelint: Callable[..., subprocess.CompletedProcess[str]]) -> Hook:
    """As pre-commit does: the entry, its arguments, the names of the files as they are."""

    def call(hook: dict[str, Any], folder: Path, *files: str) -> subprocess.CompletedProcess[str]:
        program, *args = [*shlex.split(hook["entry"]), *hook["args"]]
        assert program == "nodelint"
        return nodelint(*args, *files, cwd=folder)

    return call


@pytest.mark.parametrize("hook", HOOKS, ids=lambda h: h["id"])
def test_each_hook_runs_on_the_files_it_is_handed(hook: dict[str, Any], tmp_path: Path, run: Hook) -> None:
    (tmp_path / "class.yaml").write_text(BAD, encoding="utf-8")
    (tmp_path / "values.yaml").write_text("a: 1\n", encoding="utf-8")
    done = run(hook, tmp_path, "class.yaml", "values.yaml")
    fixed = "securityGroupSelectorTerms" in (tmp_path / "class.yaml").read_text(encoding="utf-8")
    assert fixed == (hook["id"] == "nodelint-fix")
    assert done.returncode == (0 if fixed else 1), done.stdout
    assert hook["language"] == "python"


@pytest.mark.parametrize("hook", HOOKS, ids=lambda h: h["id"])
def test_the_name_of_a_file_is_no_option(hook: dict[str, Any], tmp_path: Path, run: Hook) -> None:
    name = "--format=sarif=written.yaml"
    assert re.search(hook["files"], name)
    (tmp_path / name).write_text(BAD.replace("spec:\n", "spec:\n  zzz: 1\n"), encoding="utf-8")
    done = run(hook, tmp_path, name)
    assert done.returncode == 1 and f"{name}:5:3: error[unknown-field]" in by_place(done.stdout)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_the_hooks_are_the_two_that_the_papers_name() -> None:
    assert [hook["id"] for hook in HOOKS] == ["nodelint", "nodelint-fix"]


@pytest.mark.parametrize("hook", HOOKS, ids=lambda h: h["id"])
def test_a_hook_sees_all_files_at_once(hook: dict[str, object]) -> None:
    """A pool and its class in two runs beside each other would not know of each other, and write the same files."""
    assert hook["require_serial"] is True


@pytest.mark.parametrize("hook", HOOKS, ids=lambda h: h["id"])
def test_a_hook_is_handed_what_can_hold_a_manifest(hook: dict[str, str]) -> None:
    """Scripts and Markdown are for those who ask: a user's own `files` takes the place of ours."""
    assert [name for name in (*HELD, *NOT_HELD) if re.search(hook["files"], name)] == list(HELD)
    assert hook["types"] == ["text"]


@pytest.mark.parametrize("hook", HOOKS, ids=lambda h: h["id"])
def test_a_hook_is_handed_every_ending_that_is_read(hook: dict[str, str]) -> None:
    endings = {*YAML_ENDINGS, *TEMPLATES, *TABLE.read, *TABLE.module_files, *TABLE.templates, *GENERATOR_INPUTS}
    named = [f"pools{ending}" if ending.startswith(".") else ending for ending in sorted(endings)]
    names = [*named, *TABLE.names, *(f"prod/{name}" for name in TABLE.names), *TABLE.heads]
    assert [name for name in names if not re.search(hook["files"], name)] == []
    assert LOCAL["hooks"][0]["files"] == hook["files"] == files_pattern()  # type: ignore[index,call-overload]


@pytest.mark.parametrize("page", ["README.md", "docs/ci/pre-commit.md"])
def test_pages_show_the_pattern_of_the_hook(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8").replace("|sh|md)", ")")
    assert set(re.findall(r"files: '(\(.*)'\n", text)) == {files_pattern()}


@pytest.mark.parametrize("hook", HOOKS, ids=lambda h: h["id"])
@pytest.mark.parametrize("name", VALUES)
def test_a_hook_is_handed_the_values_of_manifests(hook: dict[str, str], name: str) -> None:
    assert re.search(hook["files"], name) and re.search(hook["files"], f"overlays/prod/{name}")


OVERLAY = """\
resources: [../../base]
configMapGenerator: [{name: vars, envs: [VARS]}]
replacements:
  - source: {kind: ConfigMap, name: vars, fieldPath: data.EXPIRE}
    targets: [{select: {kind: NodePool, name: apps}, fieldPaths: [spec.template.spec.expireAfter]}]
"""


@pytest.mark.parametrize("name", ["vars.env", "vars.properties", ".env.prod", "vars.ini"])
@pytest.mark.parametrize(("value", "code"), [("30d", 1), ("720h", 0)])
def test_a_commit_of_generated_values_alone_is_judged(
    name: str, value: str, code: int, tmp_path: Path, run: Hook
) -> None:
    path = f"overlays/prod/{name}"
    files = {
        "base/kustomization.yaml": "resources: [pool.yaml]\n",
        "base/pool.yaml": nodepool(name="apps", template="      expireAfter: 24h\n"),
        "overlays/prod/kustomization.yaml": OVERLAY.replace("VARS", name),
        path: f"EXPIRE={value}\n",
    }
    write_files(tmp_path, files)
    assert re.search(HOOKS[0]["files"], path)
    done = run(HOOKS[0], tmp_path, path)
    assert done.returncode == code, done.stdout + done.stderr
    assert (f"{path}:1:1: error[invalid-field]" in by_place(done.stdout)) == bool(code)


@pytest.mark.parametrize("name", ["app.properties", "tox.ini", ".env"])
def test_a_file_that_nothing_reads_passes(name: str, tmp_path: Path, run: Hook) -> None:
    write_files(tmp_path, {name: "EXPIRE=30d\nkarpenter=1\n[karpenter: }\n", "pool.yaml": nodepool()})
    done = run(HOOKS[0], tmp_path, name)
    assert done.returncode == 0 and done.stderr == "" and "Nothing to check" in done.stdout


def test_what_a_folder_is_searched_for_is_what_a_hook_is_handed(tmp_path: Path) -> None:
    for name in (*HELD, *NOT_HELD):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("# karpenter\n", encoding="utf-8")
    found = {os.path.relpath(source.path, tmp_path) for source in discover([str(tmp_path)]).sources}
    assert found == set(HELD)


@pytest.mark.parametrize("hook", HOOKS, ids=lambda h: h["id"])
@pytest.mark.parametrize("tree", sorted(p.name for p in TREES.iterdir() if p.name not in ("markdown", "shell")))
def test_a_hook_reads_each_style_of_repository(hook: dict[str, Any], tree: str, tmp_path: Path, run: Hook) -> None:
    """Every file of a tree at once, as the first commit hands it over: no fault, and no file that cannot be read."""
    shutil.copytree(TREES / tree, tmp_path / tree)
    files = sorted(str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*") if p.is_file())
    done = run(hook, tmp_path, *[name for name in files if re.search(hook["files"], name)])
    assert done.returncode in (0, 1), done.stdout + done.stderr
    assert done.stderr == ""


def test_a_commit_without_manifests_loads_nothing_that_judges(tmp_path: Path) -> None:
    """What such a commit costs is Python's start and little more."""
    (tmp_path / "values.yaml").write_text("a: 1\n", encoding="utf-8")
    (tmp_path / "main.tf").write_text("locals {}\n", encoding="utf-8")
    code = (
        "import sys\nfrom nodelint.cli import cli\n"
        "try: cli(['check', 'values.yaml', 'main.tf'])\nexcept SystemExit as e: assert e.code == 0\n"
        "print(sorted(m for m in sys.modules if m in ('boto3', 'cel_expr_python', 'yaml', '_ruamel_yaml')"
        " or m.startswith(('nodelint.lint.engine', 'nodelint.inventory', 'nodelint.forms.rendered',"
        " 'nodelint.report.', 'nodelint.apiserver'))))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
