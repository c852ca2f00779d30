"""What an Application of Argo CD says of kustomize acts on the overlay that it applies, as in a kustomization."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

import pytest

from tests.forms.flux.test_flux_kustomizations import (
    CHANGES,
    COMPONENT,
    OPERATION,
    STRATEGIC,
    Run,
    findings,
    read_hashes,
    write,
)
from tests.manifests import nodeclass, nodepool

APPLICATION = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: karpenter-pools, namespace: argocd}
spec:
  destination: {namespace: kube-system}
  source:
    repoURL: https://example.com/repository.git
    path: infra
    kustomize:
"""
FILES = {
    "infra/kustomization.yaml": "resources: [pool.yaml, class.yaml]\n",
    "infra/pool.yaml": nodepool("key: kubernetes.io/arch, operator: In, values: [amd64]"),
    "infra/class.yaml": nodeclass(),
    "part/kustomization.yaml": COMPONENT,
}


def application(change: str) -> str:
    return APPLICATION + textwrap.indent(change, "      ")


@pytest.mark.parametrize("title", [title for title in CHANGES if title != "labels and annotations"])
def test_what_argo_changes_is_what_kustomize_changes(tmp_path: Path, nodelint: Run, title: str) -> None:
    _, change = CHANGES[title]
    write(tmp_path, FILES | {"overlay/kustomization.yaml": f"resources: [../infra]\n{change}"})
    expected = read_hashes(nodelint)
    (tmp_path / "overlay/kustomization.yaml").unlink()
    write(tmp_path, {"apps/pools.yaml": application(change)})
    assert read_hashes(nodelint) == expected


def test_a_mistake_in_a_patch_is_found_where_it_is_written(tmp_path: Path, nodelint: Run) -> None:
    patch = OPERATION.replace("/spec/template/metadata, value: {labels: {team: a}}", "/spec/weight, value: 101")
    write(tmp_path, FILES | {"apps/pools.yaml": application(patch)})
    assert findings(nodelint) == [("invalid-field", "apps/pools.yaml", 13)]


def test_a_change_of_a_patch_is_a_change_of_the_pool(tmp_path: Path, nodelint: Run) -> None:
    for side, lifetime in (("old", "360h"), ("new", "180h")):
        write(tmp_path / side, FILES | {"apps/pools.yaml": application(STRATEGIC.replace("360h", lifetime))})
    plan = json.loads(nodelint("plan", "--old", "old", "new", "--format", "json").stdout)
    assert [(pool["change"], pool["replaced"]) for pool in plan["nodePools"]] == [("changed", "all")]


def test_an_application_need_not_name_karpenter(tmp_path: Path, nodelint: Run) -> None:
    """A folder of pools may be applied by an Application that says nothing of what they are for."""
    patch = OPERATION.replace("/spec/template/metadata, value: {labels: {team: a}}", "/spec/weight, value: 101")
    text = application(patch).replace("karpenter-pools", "pools")
    assert "karpenter" not in text
    write(tmp_path, FILES | {"apps/pools.yaml": text})
    assert findings(nodelint) == [("invalid-field", "apps/pools.yaml", 13)]


@pytest.mark.parametrize(
    ("change", "reason", "code"),
    [
        ("patches: [{target: {kind: NodePool}, patch: '[{op: add}]'}]\n", "`[` must be JSON", 2),
        ("components: ['https://example.com/part']\n", "`https://example.com/part`", 0),
    ],
)
def test_what_is_not_built_is_named(tmp_path: Path, nodelint: Run, change: str, reason: str, code: int) -> None:
    """The folder without the change is not what the cluster gets: to judge it alone is to look past a mistake."""
    write(tmp_path, FILES | {"apps/pools.yaml": application(change)})
    result = nodelint("check")
    assert result.returncode == code
    assert "All good" not in result.stdout
    assert reason in result.stdout


def test_a_folder_without_karpenter_is_not_spoken_of(tmp_path: Path, nodelint: Run) -> None:
    other = application("components: ['https://example.com/part']\n").replace("path: infra", "path: shop")
    write(tmp_path, FILES | {"apps/shop.yaml": other, "shop/kustomization.yaml": "resources: [shop.yaml]\n"})
    write(tmp_path, {"shop/shop.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n"})
    result = nodelint("check")
    assert (result.returncode, "shop" in result.stdout) == (0, False)


@pytest.mark.parametrize(
    "text",
    [
        application("images: [a=b:1]\n"),
        application("namePrefix: my-\n").replace("path: infra", "path: elsewhere"),
        application("namePrefix: my-\n").replace("kind: Application", "kind: Rollout"),
        application("namePrefix: [my-]\n"),
        APPLICATION.replace("kustomize:", "kustomize: x"),
    ],
)
def test_what_does_not_act_changes_nothing(tmp_path: Path, nodelint: Run, text: str) -> None:
    write(tmp_path, FILES | {"apps/pools.yaml": "{}\n"})
    before = read_hashes(nodelint)
    write(tmp_path, {"apps/pools.yaml": text})
    assert read_hashes(nodelint) == before


def test_applications_beside_one_that_names_karpenter_are_read(tmp_path: Path, nodelint: Run) -> None:
    patch = OPERATION.replace("/spec/template/metadata, value: {labels: {team: a}}", "/spec/weight, value: 101")
    text = application(patch).replace("karpenter-pools", "pools")
    other = APPLICATION.replace("path: infra", "path: charts/karpenter").replace("    kustomize:\n", "")
    write(tmp_path, FILES | {"apps/pools.yaml": f"{text}---\n{other}"})
    assert findings(nodelint) == [("invalid-field", "apps/pools.yaml", 13)]
