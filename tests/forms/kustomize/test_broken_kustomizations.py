"""`check` names a kustomization over which kustomize stops, ends with 2, and never says "All good"."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.manifests import nodeclass, nodepool
from tests.repositories import write_files

Nodelint = Callable[..., subprocess.CompletedProcess[str]]

PATCH = "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: default}\nspec: {weight: 5}\n"
WHOLE = "resources:\n  - ../base\npatches:\n  - path: weight.yaml\n"
BROKEN = {
    "no byte": b"",
    "a comment alone": b"# nothing\n",
    "its kind alone": b"apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n",
    "cut behind a field": b"resources:\n",
    "cut in a path": b"resources:\n  - ../ba",
    "cut in a key": b"resources:\n  - ../base\npat",
    "cut in a patch": b"resources:\n  - ../base\npatches:\n  - pa",
    "cut in the path of a patch": b"resources:\n  - ../base\npatches:\n  - path: wei",
    "a patch of nothing": b"resources:\n  - ../base\npatches:\n  - target: {kind: NodePool}\n",
    "a patch twice": b"resources:\n  - ../base\npatches:\n  - path: weight.yaml\n    patch: 'kind: NodePool'\n",
    "two sources of a replacement": (
        b"resources:\n  - ../base\nreplacements:\n  - sourceValue: a\n    source: {kind: NodePool}\n"
        b"    targets: [{select: {kind: NodePool}}]\n"
    ),
    "two objects for a target": (
        b"resources:\n  - ../base\npatches:\n  - target: {kind: NodePool}\n    patch: |\n"
        b"      spec: {weight: 1}\n      ---\n      spec: {weight: 2}\n"
    ),
    "a text for a list": b"resources: ../base\n",
    "another encoding": "resources:\n  - ../base  # für\npatches:\n  - path: weight.yaml\n".encode("latin-1"),
    "an unknown field": b"resources:\n  - ../base\npaches:\n  - path: weight.yaml\n",
}
WORKS = {
    "whole": WHOLE.encode(),
    "an address": b"resources:\n  - ../base\n  - github.com/acme/pools\n  - https://example.com/pools?ref=v1\n",
    "a prefix": b"namePrefix: a-\nresources:\n  - ../base\n",
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    files = {
        "base/pools.yaml": f"{nodepool()}---\n{nodeclass()}",
        "base/kustomization.yaml": "resources:\n  - pools.yaml\n",
        "prod/weight.yaml": PATCH,
    }
    write_files(tmp_path, files)
    return tmp_path


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_kustomization_is_named(nodelint: Nodelint, tree: Path, name: str) -> None:
    (tree / "prod/kustomization.yaml").write_bytes(BROKEN[name])
    result = nodelint("check", ".", cwd=tree)
    assert result.returncode == 2
    assert "prod/kustomization.yaml:" in result.stderr
    assert "All good" not in result.stdout
    if kubectl := shutil.which("kubectl"):
        assert subprocess.run([kubectl, "kustomize", str(tree / "prod")], capture_output=True).returncode != 0


@pytest.mark.parametrize("name", WORKS)
def test_a_kustomization_that_works_is_not_named(nodelint: Nodelint, tree: Path, name: str) -> None:
    (tree / "prod/kustomization.yaml").write_bytes(WORKS[name])
    result = nodelint("check", ".", "--format", "json", cwd=tree)
    assert result.returncode == 0
    assert "cannot be read" not in result.stderr
    assert json.loads(result.stdout)["coverage"]["objects"] >= 2


@pytest.mark.parametrize("name", ["weight.json6902.yaml", "team.yaml"])
def test_an_input_without_a_word_of_karpenters_that_is_not_utf_8_is_named(
    nodelint: Nodelint, tree: Path, name: str
) -> None:
    patch = "- op: add\n  path: /spec/weight\n  value: 5\n"
    settings = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: team}\n"
    (tree / "prod/weight.json6902.yaml").write_text(patch)
    (tree / "prod/team.yaml").write_text(settings)
    (tree / "prod/kustomization.yaml").write_text(
        "resources:\n  - ../base\n  - team.yaml\npatches:\n"
        "  - path: weight.json6902.yaml\n    target: {kind: NodePool}\n"
    )
    assert nodelint("check", ".", cwd=tree).returncode == 0
    with (tree / "prod" / name).open("ab") as file:
        file.write("# für\n".encode("latin-1"))
    result = nodelint("check", ".", cwd=tree)
    assert result.returncode == 2
    assert f"prod/{name}:4" in result.stderr
    assert "All good" not in result.stdout
    if kubectl := shutil.which("kubectl"):
        assert subprocess.run([kubectl, "kustomize", str(tree / "prod")], capture_output=True).returncode != 0


@pytest.mark.parametrize("kustomization", ["resources:\n  - ../base\n", None])
def test_a_patch_that_no_kustomization_names_is_judged_in_part(
    nodelint: Nodelint, tree: Path, kustomization: str | None
) -> None:
    (tree / "prod/weight.yaml").rename(tree / "prod/patch-weight.yaml")
    if kustomization is not None:
        (tree / "prod/kustomization.yaml").write_text(kustomization)
    result = nodelint("check", ".", "--fail-on-unjudged", cwd=tree)
    assert result.returncode == 1
    assert "no kustomization.yaml in its folder or above names it (prod/patch-weight.yaml:3)" in result.stdout
    assert "All good" not in result.stdout
    hashed = nodelint("hash", "prod", cwd=tree)
    assert "no hash: it is a part of an object only, and no kustomization.yaml names its file" in hashed.stdout


def test_a_patch_that_a_kustomization_names_is_judged_in_full(nodelint: Nodelint, tree: Path) -> None:
    (tree / "prod/kustomization.yaml").write_text(WHOLE)
    assert nodelint("check", ".", "--fail-on-unjudged", cwd=tree).returncode == 0
    assert nodelint("check", "prod/weight.yaml", "--fail-on-unjudged", cwd=tree).returncode == 0


@pytest.mark.parametrize(
    ("resource", "more", "code"),
    [
        ("class.yaml", {}, 2),
        ("../common", {}, 2),
        ("../common/class.yaml", {}, 2),
        ("class.yaml", {".gitignore": "class.yaml\n"}, 0),
        ("../common/class.yaml", {".gitignore": "/common/\n"}, 0),
        ("https://example.com/class.yaml", {}, 0),
        ("github.com/acme/pools//base?ref=v1", {}, 0),
    ],
)
def test_a_resource_that_is_not_there(
    nodelint: Nodelint, tmp_path: Path, resource: str, more: dict[str, str], code: int
) -> None:
    """kustomize fails, except if something makes the file first. What is fetched is only not known."""
    pool = nodepool("key: karpenter.sh/capacity-type, operator: In, values: [on-demand]")
    files = {".git/HEAD": "", "base/kustomization.yaml": f"resources: [pools.yaml, '{resource}']\n"}
    write_files(tmp_path, {**files, "base/pools.yaml": pool, **more})
    done = nodelint("check", "--select", "correctness", ".")
    assert done.returncode == code, done.stdout + done.stderr
    assert resource in done.stdout + done.stderr


def test_a_folder_of_a_submodule_may_be_checked_out_later(nodelint: Nodelint, tmp_path: Path) -> None:
    pool = nodepool("key: karpenter.sh/capacity-type, operator: In, values: [on-demand]")
    write_files(tmp_path, {"base/kustomization.yaml": "resources: [pools.yaml, ../common/class.yaml]\n"})
    write_files(tmp_path, {".git/HEAD": "", "base/pools.yaml": pool, "common/readme.md": ""})
    assert nodelint("check", "--select", "correctness", ".").returncode == 2
    (tmp_path / "common/readme.md").unlink()
    assert nodelint("check", "--select", "correctness", ".").returncode == 0
