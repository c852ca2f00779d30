"""A baseline of a whole repository, with runs over its parts: what hooks and subfolders see of it."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.manifests import nodeclass, nodepool
from tests.repositories import write_files

Run = Callable[..., subprocess.CompletedProcess[str]]

RELEASE = """\
apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: {name: karpenter}
spec: {url: "oci://public.ecr.aws/karpenter/karpenter", ref: {tag: 1.5.0}}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: karpenter}
spec: {chartRef: {kind: OCIRepository, name: karpenter}}
"""
APPLICATION = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: pools}
spec:
  source: {repoURL: "https://github.com/acme/a.git", path: charts/pools, helm: {valueFiles: [values-prod.yaml]}}
  destination: {server: "https://kubernetes.default.svc"}
"""
WORKLOAD = """\
apiVersion: v1
kind: Pod
metadata: {name: train}
spec:
  nodeSelector: {kubernetes.io/arch: arm64, karpenter.sh/nodepool: b}
  containers: [{name: a, image: a}]
"""
ARCH = "key: kubernetes.io/arch, operator: In, values: "
TEMPLATE = nodepool(f"{ARCH}[amd64]", name="of-chart").replace("[amd64]", "{{ toJson .Values.arch }}")
FILES = {
    ".git/HEAD": "",
    "flux/karpenter.yaml": RELEASE,
    "argocd/pools.yaml": APPLICATION,
    "clusters/a/pool.yaml": nodepool(f"{ARCH}[x86_64, amd64]", name="a") + "---\n" + nodeclass(),
    "clusters/b/pool.yaml": nodepool(f"{ARCH}[x86_64, amd64]", name="b") + "---\n" + nodeclass(),
    "clusters/b/train.yaml": WORKLOAD,
    "charts/pools/Chart.yaml": "apiVersion: v2\nname: pools\nversion: 0.1.0\n",
    "charts/pools/values.yaml": "arch: [amd64]\nother: 1\n",
    "charts/pools/values-prod.yaml": "arch: [x86_64, amd64]\nother: 2\n",
    "charts/pools/templates/pool.yaml": TEMPLATE,
}


@pytest.fixture
def known(nodelint: Run, tmp_path: Path) -> Path:
    write_files(tmp_path, FILES)
    nodelint("baseline", *FLAGS, "nodelint.baseline.json")
    whole = (tmp_path / "nodelint.baseline.json").read_text(encoding="utf-8")
    assert all(name in whole for name in ("out-of-support", "no-pool-for-workload", "charts/pools/values-prod.yaml"))
    return tmp_path


FLAGS = ("--extend-select", "all", "--baseline")


@pytest.mark.parametrize("part", ["clusters", "clusters/b", "charts", "argocd/pools.yaml", *list(FILES)[3:]])
def test_a_run_over_a_part_finds_nothing_new_and_nothing_gone(nodelint: Run, known: Path, part: str) -> None:
    before = (known / "nodelint.baseline.json").read_bytes()
    done = nodelint("check", *FLAGS, "nodelint.baseline.json", part)
    assert done.returncode == 0 and "Found" not in done.stdout and "no longer there" not in done.stdout, done.stdout
    nodelint("baseline", "--prune", *FLAGS, "nodelint.baseline.json", part)
    assert (known / "nodelint.baseline.json").read_bytes() == before


@pytest.mark.parametrize("folder", ["clusters/b", "charts/pools"])
def test_a_run_in_a_subfolder_is_about_that_folder(nodelint: Run, known: Path, folder: str) -> None:
    path = known / "nodelint.baseline.json"
    before = path.read_bytes()
    named = os.path.relpath(path, known / folder)
    assert "(0 gone)" in nodelint("baseline", "--prune", *FLAGS, named, cwd=known / folder).stdout
    assert path.read_bytes() == before


def test_a_finding_that_is_fixed_in_a_part_is_gone(nodelint: Run, known: Path) -> None:
    write_files(known, {"clusters/a/pool.yaml": FILES["clusters/a/pool.yaml"].replace("[x86_64, amd64]", "[amd64]")})
    for part in ("clusters/a/pool.yaml", "clusters/a", "."):
        assert "1 no longer there" in nodelint("check", *FLAGS, "nodelint.baseline.json", part).stdout, part
    done = nodelint("check", *FLAGS, "nodelint.baseline.json", "clusters/b/pool.yaml")
    assert "no longer there" not in done.stdout
    assert "(1 gone)" in nodelint("baseline", "--prune", *FLAGS, "nodelint.baseline.json", "clusters/a").stdout


STATED = {
    ".git/HEAD": "",
    "clusters/dev/karpenter.yaml": RELEASE,
    "clusters/dev/pool.yaml": nodepool(name="dev") + "---\n" + nodeclass(),
    "clusters/prod/karpenter.yaml": RELEASE.replace("1.5.0", "1.4.0"),
    "clusters/prod/pool.yaml": nodepool(name="prod") + "---\n" + nodeclass(),
    "charts/pools/Chart.yaml": FILES["charts/pools/Chart.yaml"],
    "charts/pools/values.yaml": FILES["charts/pools/values.yaml"],
    "charts/pools/templates/pool.yaml": TEMPLATE,
}
PARTS = ["clusters/dev", "clusters/dev/pool.yaml", "clusters/dev clusters/prod", "clusters charts", "."]


@pytest.mark.parametrize("part", PARTS)
def test_a_release_out_of_support_is_reported_where_it_is_stated(nodelint: Run, tmp_path: Path, part: str) -> None:
    """Each stated release has a finding of its own, at one place in all runs, and a comment there silences it."""
    write_files(tmp_path, STATED)

    def report() -> set[str]:
        done = nodelint("check", "--select", "out-of-support", "--format", "concise", *part.split())
        lines = (line for line in done.stdout.splitlines() if "out-of-support" in line)
        return {" ".join(line.split()[:4]) for line in lines}

    dev = "clusters/dev/karpenter.yaml:4:7: info[out-of-support]: Karpenter 1.5.0"
    prod = "clusters/prod/karpenter.yaml:4:7: info[out-of-support]: Karpenter 1.4.0"
    dev, prod = (line.replace(":4:7", ":4:1") for line in (dev, prod))
    expected = {dev} if part.startswith("clusters/dev") and " " not in part else {dev, prod}
    assert report() == expected
    stated = RELEASE.replace("{tag: 1.5.0}}", "{tag: 1.5.0}} # nodelint: ignore[out-of-support] planned")
    write_files(tmp_path, {"clusters/dev/karpenter.yaml": stated})
    assert report() == expected - {dev}
    for named in (part, "clusters/dev/karpenter.yaml"):
        done = nodelint("check", "--fix", *named.split())
        assert "suppresses nothing" not in done.stdout, done.stdout
        assert (tmp_path / "clusters/dev/karpenter.yaml").read_text(encoding="utf-8") == stated


def test_a_part_of_a_repository_removes_no_comment(nodelint: Run, tmp_path: Path) -> None:
    """More files may use a value than a part of the repository has, so the fix of the part is unsafe."""
    text = "# nodelint: ignore[wildcard-value] planned\n" + nodepool(name="a")
    write_files(tmp_path, {".git/HEAD": "", "pools/a.yaml": text, "README.md": "karpenter"})
    flags = ("check", "--select", "unused-suppression,wildcard-value", "--fix")
    assert "may need the comment" in " ".join(nodelint(*flags, "pools").stdout.split())
    assert (tmp_path / "pools/a.yaml").read_text(encoding="utf-8") == text
    nodelint(*flags, ".")
    assert (tmp_path / "pools/a.yaml").read_text(encoding="utf-8") == nodepool(name="a")


KUSTOMIZATION = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n"
PATCH = "[{op: replace, path: /spec/role, value: other}]"
SUFFIXED = {
    ".git/HEAD": "",
    "flux/karpenter.yaml": RELEASE,
    "base/pool.yaml": nodepool(name="apps").replace("name: default", "name: apps"),
    "base/class.yaml": nodeclass(name="apps"),
    "base/kustomization.yaml": f"{KUSTOMIZATION}resources: [pool.yaml, class.yaml]\n",
    "overlays/us/kustomization.yaml": f"{KUSTOMIZATION}resources: [../../base]\nnameSuffix: -us\n",
    "overlays/eu/kustomization.yaml": f"{KUSTOMIZATION}resources: [../../base]\n"
    f'patches: [{{target: {{group: karpenter.k8s.aws, kind: EC2NodeClass, name: apps}}, patch: "{PATCH}"}}]\n',
}


@pytest.mark.parametrize("part", [".", "overlays", "overlays/us", "overlays/us/kustomization.yaml"])
def test_the_patch_of_another_overlay_is_no_class(nodelint: Run, tmp_path: Path, part: str) -> None:
    """An overlay that renames its class, and not the reference, has one answer and one release in all runs."""
    write_files(tmp_path, SUFFIXED)
    shown = nodelint("check", "--select", "unknown-node-class", "--format", "concise", part).stdout
    assert "base/pool.yaml" in shown and "define no EC2NodeClass `apps`" in shown, shown
    assert "for Karpenter 1.5.0" in shown, shown


TERRAFORM = {
    ".git/HEAD": "",
    "tf/main.tf": """\
module "karpenter" {
  source                        = "terraform-aws-modules/eks/aws//modules/karpenter"
  version                       = "21.0.0"
  cluster_name                  = "prod"
  node_iam_role_name            = "KarpenterNodeRole-prod"
  node_iam_role_use_name_prefix = false
}
""",
    "pools/pool.yaml": nodepool(f"{ARCH}[x86_64, amd64]") + "---\n" + nodeclass(),
    "pools/other.yaml": nodepool(f"{ARCH}[x86_64, amd64]", name="other"),
}


@pytest.fixture
def with_terraform(nodelint: Run, tmp_path: Path) -> Path:
    write_files(tmp_path, TERRAFORM)
    nodelint("baseline")
    assert "role-of-another-name" in (tmp_path / "nodelint.baseline.json").read_text(encoding="utf-8")
    return tmp_path


NAMED = [("pools", "."), ("tf", "."), ("pools/pool.yaml", "."), ("tf pools", "."), ("../tf", "pools"), (".", "pools")]


@pytest.mark.parametrize(("part", "folder"), NAMED)
def test_the_baseline_of_a_part_is_that_of_the_whole(
    nodelint: Run, with_terraform: Path, part: str, folder: str
) -> None:
    """A finding that only Terraform outside of the part shows is neither removed nor missing."""
    path = with_terraform / "nodelint.baseline.json"
    before = path.read_bytes()
    named = os.path.relpath(path, with_terraform / folder)
    done = nodelint("baseline", *part.split(), "--baseline", named, cwd=with_terraform / folder)
    assert "(0 new, 0 gone)" in done.stdout, done.stdout + done.stderr
    assert path.read_bytes() == before
    checked = nodelint("check", *part.split(), "--baseline", named, cwd=with_terraform / folder).stdout
    assert "no longer there" not in checked and "Found" not in checked, checked


def findings(folder: Path, *paths: str) -> set[tuple[str, str]]:
    """Return path and rule of the entries of a baseline; with `paths`, of these files."""
    entries = json.loads((folder / "nodelint.baseline.json").read_text(encoding="utf-8"))["findings"]
    return {(entry["path"], entry["rule"]) for entry in entries if not paths or entry["path"] in paths}


ROLE = ("pools/pool.yaml", "role-of-another-name")


def test_the_baseline_of_a_part_changes_only_the_part(nodelint: Run, with_terraform: Path) -> None:
    """What is fixed or new outside of the part stays as it is, and what is fixed inside of it is removed."""
    before = findings(with_terraform)
    write_files(with_terraform, {"pools/other.yaml": nodepool(f"{ARCH}[amd64]", name="other")})
    for part in ("tf", "pools/pool.yaml"):
        assert "(0 new, 0 gone)" in nodelint("baseline", part).stdout
    assert "(0 new, 1 gone)" in nodelint("baseline", "pools/other.yaml").stdout
    assert before - findings(with_terraform) == {("pools/other.yaml", "unknown-value")}
    fixed = TERRAFORM["tf/main.tf"].replace("KarpenterNodeRole-prod", "KarpenterNodeRole-main")
    write_files(with_terraform, {"tf/main.tf": fixed})
    assert "(0 new, 0 gone)" in nodelint("baseline", "tf").stdout
    assert "(0 new, 1 gone)" in nodelint("baseline", "pools").stdout  # about this folder alone by now
    assert ROLE not in findings(with_terraform)


def test_a_baseline_of_a_part_alone_is_that_of_its_check(nodelint: Run, tmp_path: Path) -> None:
    """Who never checks more than a part has no finding after the baseline, and loses none that more files show."""
    write_files(tmp_path, TERRAFORM)
    nodelint("baseline", "pools")
    assert ROLE not in findings(tmp_path) and findings(tmp_path)
    done = nodelint("check", "--baseline", "nodelint.baseline.json", "pools")
    assert done.returncode == 0 and "Found" not in done.stdout, done.stdout
    nodelint("baseline")
    whole = findings(tmp_path)
    assert ROLE in whole
    for part in ("pools", "pools/pool.yaml"):
        nodelint("baseline", part)
        assert findings(tmp_path) == whole


def test_a_new_finding_that_other_files_show_is_added_for_a_part(nodelint: Run, tmp_path: Path) -> None:
    matching = TERRAFORM["tf/main.tf"].replace("KarpenterNodeRole-prod", "KarpenterNodeRole-main")
    write_files(tmp_path, {**TERRAFORM, "tf/main.tf": matching})
    nodelint("baseline")
    assert ROLE not in findings(tmp_path)
    write_files(tmp_path, TERRAFORM)
    assert "(0 new, 0 gone)" in nodelint("baseline", "pools/other.yaml").stdout
    assert "(1 new, 0 gone)" in nodelint("baseline", "pools/pool.yaml").stdout
    assert ROLE in findings(tmp_path)


def test_globs_of_options_match_the_paths_of_the_folder_of_the_run(nodelint: Run, with_terraform: Path) -> None:
    folder = with_terraform / "pools"
    (with_terraform / "nodelint.baseline.json").unlink()
    flags = ("--baseline", "../nodelint.baseline.json", "--exclude")
    nodelint("baseline", *flags, "pool.yaml", cwd=folder)
    assert {path for path, _ in findings(with_terraform)} == {"pools/other.yaml"}
    nodelint("baseline", *flags, "pools/pool.yaml", cwd=folder)
    assert {path for path, _ in findings(with_terraform)} == {"pools/other.yaml", "pools/pool.yaml"}
