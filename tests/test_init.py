"""`nodelint init` looks at a repository and writes what it has found; what is there already stays."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from syrupy.assertion import SnapshotAssertion

from nodelint.commands._survey import survey
from nodelint.lint.config import load

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

NAMED = {
    "flux/release.yaml": (
        """\
        apiVersion: helm.toolkit.fluxcd.io/v2
        kind: HelmRelease
        metadata: {name: karpenter}
        spec:
          chart:
            spec: {chart: karpenter, version: "1.4.0"}
        """,
        "1.4.0 flux/release.yaml:6 the HelmRelease",
    ),
    "flux/source.yaml": (
        """\
        kind: OCIRepository
        spec:
          url: oci://public.ecr.aws/karpenter/karpenter
          ref: {tag: 1.5.1}
        """,
        "1.5.1 flux/source.yaml:4 the OCIRepository",
    ),
    "argo/app.yaml": (
        """\
        kind: Application
        spec:
          sources:
            - repoURL: public.ecr.aws/karpenter
              chart: karpenter
              targetRevision: v1.6.0
        """,
        "1.6.0 argo/app.yaml:6 the Application",
    ),
    "chart/Chart.yaml": (
        """\
        name: wrapper
        dependencies:
          - name: karpenter
            version: 1.3.3
        """,
        "1.3.3 chart/Chart.yaml:4 Chart.yaml",
    ),
    "tf/main.tf": (
        """\
        resource "helm_release" "other" {
          chart   = "metrics-server"
          version = "3.12.0"
        }

        resource "helm_release" "karpenter" {
          repository = "oci://public.ecr.aws/karpenter"
          chart      = "karpenter"
          version    = "1.2.1"
          set {
            name = "replicas"
          }
        }
        """,
        "1.2.1 tf/main.tf:9 a helm_release",
    ),
    "tf/addons.tf": (
        """\
        module "addons" {
          metrics_server = { chart_version = "3.12.0" }
          karpenter = {
            repository    = "oci://public.ecr.aws/karpenter"
            chart_version = "1.2.3"
          }
        }
        """,
        "1.2.3 tf/addons.tf:5 an addons module",
    ),
    "rendered.yaml": (
        """\
        kind: Deployment
        metadata:
          name: karpenter
          labels:
            helm.sh/chart: karpenter-1.0.7
        """,
        "1.0.7 rendered.yaml:5 the rendered chart",
    ),
    "install.sh": (
        """\
        helm upgrade --install karpenter oci://public.ecr.aws/karpenter/karpenter \\
          --namespace kube-system \\
          --version "1.7.0" --wait
        """,
        "1.7.0 install.sh:1 a helm command",
    ),
    "Makefile": ("export KARPENTER_VERSION ?= x\nKARPENTER_VERSION = 1.8.1\n", "1.8.1 Makefile:2 KARPENTER_VERSION"),
}

NOT_PLAIN = {
    "range.yaml": "kind: Application\nspec: {source: {chart: karpenter, targetRevision: 1.*}}\n",
    "variable.tf": 'resource "helm_release" "k" {\n  chart = "karpenter"\n  version = var.karpenter\n}\n',
    "other.sh": "helm upgrade prometheus repo/prometheus --version 25.0.0  # beside karpenter\n",
    "beside.yaml": "kind: Deployment\nmetadata: {labels: {helm.sh/chart: karpenter-exporter-1.0.7}}\n",
    "old.sh": "helm upgrade karpenter repo/karpenter --version 0.37.0\n",
    "template.yaml": "kind: HelmRelease\nspec: {chart: {spec: {chart: karpenter, version: '${VERSION}'}}}\n",
}


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")


POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: NAME}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements: []
"""

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
    "chart/Chart.yaml": "name: pools\n",
    "chart/templates/pool.yaml": POOL.replace("NAME", "{{ .Values.name }}"),
    "main.tf": TERRAFORM,
    "flux/release.yaml": RELEASE,
    "argo/app.yaml": textwrap.dedent(NAMED["argo/app.yaml"][0]),
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
        "\n- repo: https://github.com/nodelint/nodelint\n  rev: v0.1.0\n  hooks:\n  - id: nodelint\n\nexclude",
    )
    assert nodelint("check", "--fail-on", "never", cwd=tree).returncode == 0, "the configuration is one"


def test_a_second_run_changes_nothing(tree: Path, nodelint: Run) -> None:
    nodelint("init", cwd=tree)
    first = {path: path.read_bytes() for path in (tree / "nodelint.yaml", tree / ".pre-commit-config.yaml")}
    again = nodelint("init", cwd=tree)
    assert again.returncode == 0
    assert again.stdout.count("stays as it is") == 2
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
    assert (tmp_path / ".pre-commit-config.yaml").read_text(encoding="utf-8").startswith("repos:\n  - repo: https://")


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
    assert [repo["repo"] for repo in clientlib.load_config(str(path))["repos"]][
        -1
    ] == "https://github.com/nodelint/nodelint"


@pytest.mark.parametrize("name", NAMED)
def test_a_release_is_read_where_it_stands(tmp_path: Path, name: str) -> None:
    text, told = NAMED[name]
    write(tmp_path, {name: text})
    assert [" ".join(said) for said in survey(str(tmp_path)).karpenter] == [told]


def test_what_is_no_plain_release_is_left_alone(tmp_path: Path, nodelint: Run) -> None:
    write(tmp_path, NOT_PLAIN)
    assert survey(str(tmp_path)).karpenter == ()
    nodelint("init")
    assert '\n# karpenter-version: "' in (tmp_path / "nodelint.yaml").read_text(encoding="utf-8")


def test_releases_that_differ_are_the_users_to_choose(
    tmp_path: Path, nodelint: Run, snapshot: SnapshotAssertion
) -> None:
    write(tmp_path, {name: NAMED[name][0] for name in ("flux/release.yaml", "argo/app.yaml")})
    nodelint("init")
    text = (tmp_path / "nodelint.yaml").read_text(encoding="utf-8")
    assert text == snapshot
    assert not load(str(tmp_path / "nodelint.yaml"), {}).karpenter_named


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("a.tf", 'module "eks" {\n  cluster_version = "1.32"\n}\n', "1.32 a.tf:2 Terraform"),
        ("b.tf", 'resource "aws_eks_cluster" "m" {\n  version = "1.30"\n}\n', "1.30 b.tf:2 the aws_eks_cluster"),
        (
            "c.yaml",
            "apiVersion: eksctl.io/v1\nkind: ClusterConfig\nmetadata: {version: 1.33}\n",
            "1.33 c.yaml:3 eksctl",
        ),
    ],
)
def test_the_clusters_version_is_read_where_it_stands(tmp_path: Path, name: str, text: str, told: str) -> None:
    write(tmp_path, {name: text})
    assert [" ".join(said) for said in survey(str(tmp_path)).kubernetes] == [told]
