"""`nodelint init` looks at a repository and writes what it has found; what is there already stays."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from syrupy.assertion import SnapshotAssertion

from nodelint.commands._hook import LOCAL
from nodelint.config.settings import load
from tests.manifests import nodepool

Run = Callable[..., CompletedProcess[str]]

HOOKS = """\
# ours
repos:
- repo: https://github.com/pre-commit/pre-commit-hooks
  rev: v4.6.0   # pinned
  hooks:
  - id: check-yaml
    args: [--multi]

exclude: ^vendored/
"""

HOOK = """\
- repo: local
  hooks:
  - id: nodelint
    name: nodelint
    entry: nodelint check --timeout 5m --no-repository-rules --
    language: system
    types: [text]
    files: FILES
    require_serial: true
""".replace("FILES", str(LOCAL["hooks"][0]["files"]))  # type: ignore[index,call-overload]

APPLICATION = """\
kind: Application
spec:
  sources:
    - repoURL: public.ecr.aws/karpenter
      chart: karpenter
      targetRevision: v1.6.0
"""

RELEASED = """\
kind: HelmRelease
spec:
  chart:
    spec: {chart: karpenter, version: "1.4.0"}
"""


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")


POOL = nodepool(name="NAME", inline=True)

TERRAFORM = f"""\
resource "kubectl_manifest" "pool" {{
  yaml_body = <<-EOT
{textwrap.indent(POOL, "    ")}  EOT
}}
"""

RELEASE = f"""\
kind: HelmRelease
apiVersion: helm.toolkit.fluxcd.io/v2
spec:
  values:
    extraObjects:
    - {textwrap.indent(POOL, "      ").lstrip()}"""

STYLES = {
    "pool.yaml": POOL,
    "overlay/kustomization.yaml": "resources: [pool.yaml]\n",
    "overlay/pool.yaml": POOL,
    "chart/Chart.yaml": "name: pools\nversion: 1.0.0\n",
    "chart/templates/pool.yaml": POOL.replace("NAME", "{{ .Values.name }}"),
    "main.tf": TERRAFORM,
    "flux/release.yaml": RELEASE,
    "argo/app.yaml": APPLICATION,
    ".github/workflows/ci.yml": "on: push\n",
    ".gitlab-ci.yml": "build: {script: make}\n",
    ".pre-commit-config.yaml": HOOKS,
    "eksctl.yaml": "apiVersion: eksctl.io/v1alpha5\nkind: ClusterConfig\nmetadata: {name: main, version: '1.31'}\n",
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Several styles of repository in one, with what they are checked by."""
    write(tmp_path, STYLES)
    (tmp_path / ".git").mkdir()
    return tmp_path


def test_what_is_written_says_what_was_found(tree: Path, nodelint: Run, snapshot: SnapshotAssertion) -> None:
    dry = nodelint("init", "--dry-run", cwd=tree / "flux")
    assert (dry.returncode, dry.stderr) == (0, "")
    assert not (tree / "nodelint.yaml").exists()
    assert (tree / ".pre-commit-config.yaml").read_text(encoding="utf-8") == HOOKS
    assert dry.stdout == snapshot(name="dry run, from a folder within")
    done = nodelint("init", cwd=tree)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == snapshot(name="run")
    assert (tree / "nodelint.yaml").read_text(encoding="utf-8") == snapshot(name="nodelint.yaml")
    assert (tree / ".pre-commit-config.yaml").read_text(encoding="utf-8") == HOOKS.replace(
        "\n\nexclude",
        f"\n{HOOK}\nexclude",
    )
    assert nodelint("check", "--fail-on", "never", cwd=tree).returncode == 0, "the configuration is one"


def test_a_second_run_changes_nothing(tree: Path, nodelint: Run) -> None:
    nodelint("init", cwd=tree)
    first = {path: path.read_bytes() for path in (tree / "nodelint.yaml", tree / ".pre-commit-config.yaml")}
    again = nodelint("init", cwd=tree)
    assert again.returncode == 0
    assert again.stdout.count("was not changed") == 2
    assert {path: path.read_bytes() for path in first} == first


def test_a_configuration_that_is_there_stays_unless_forced(tree: Path, nodelint: Run) -> None:
    write(tree, {"nodelint.yaml": "fail-on: warning\n"})
    nodelint("init", cwd=tree)
    assert (tree / "nodelint.yaml").read_text(encoding="utf-8") == "fail-on: warning\n"
    nodelint("init", "--force", cwd=tree)
    assert "1.6.0" in (tree / "nodelint.yaml").read_text(encoding="utf-8")


def test_an_empty_repository_gets_both_files(tmp_path: Path, nodelint: Run) -> None:
    done = nodelint("init")
    assert done.returncode == 0
    assert "No NodePool or EC2NodeClass was found." in done.stdout
    assert load(str(tmp_path / "nodelint.yaml"), {}).fail_on == "error"
    assert (tmp_path / ".pre-commit-config.yaml").read_text(encoding="utf-8").startswith("repos:\n  - repo: local\n")


@pytest.mark.parametrize("text", ["- repo: x\n", "repos: {}\n", "repos: [\n", "repos: &a [*a]\n"])
def test_a_hook_that_cannot_be_added_is_told(tmp_path: Path, nodelint: Run, text: str) -> None:
    path = tmp_path / ".pre-commit-config.yaml"
    path.write_text(text, encoding="utf-8")
    done = nodelint("init")
    assert done.returncode == 2
    assert "add it under `repos`" in done.stderr and "- id: nodelint" in done.stderr
    assert path.read_text(encoding="utf-8") == text


@pytest.mark.parametrize(
    "text", [HOOKS.replace("\n", "\r\n"), "repos: []\n", 'repos: [{repo: meta, hooks: [{id: "identity"}]}]\n']
)
def test_the_other_bytes_of_a_hook_file_stay(tmp_path: Path, nodelint: Run, text: str) -> None:
    path = tmp_path / ".pre-commit-config.yaml"
    path.write_bytes(text.encode())
    assert nodelint("init").returncode == 0
    new = path.read_bytes().decode()
    assert "nodelint" in new
    assert ("\r\n" in text) == ("\r\n" in new) and new.count("\n") - new.count("\r\n") in (0, new.count("\n"))
    clientlib = pytest.importorskip("pre_commit.clientlib")
    assert [repo["repo"] for repo in clientlib.load_config(str(path))["repos"]][-1] == "local"


def test_a_release_that_files_state_is_left_to_them(tmp_path: Path, nodelint: Run) -> None:
    write(tmp_path, {"argo/app.yaml": APPLICATION, "argo/pool.yaml": POOL})
    nodelint("init")
    assert not load(str(tmp_path / "nodelint.yaml"), {}).karpenter_named
    assert "for Karpenter 1.6.0" in nodelint("check", "--fail-on", "never").stdout
    write(tmp_path, {"argo/app.yaml": APPLICATION.replace("1.6.0", "1.7.0")})
    assert "for Karpenter 1.7.0" in nodelint("check", "--fail-on", "never").stdout


def test_releases_that_differ_are_the_users_to_choose(
    tmp_path: Path, nodelint: Run, snapshot: SnapshotAssertion
) -> None:
    write(tmp_path, {"flux/release.yaml": RELEASED, "argo/app.yaml": APPLICATION})
    nodelint("init")
    text = (tmp_path / "nodelint.yaml").read_text(encoding="utf-8")
    assert text == snapshot
    assert not load(str(tmp_path / "nodelint.yaml"), {}).karpenter_named
