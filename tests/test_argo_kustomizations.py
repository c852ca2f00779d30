"""What an Application of Argo CD says of kustomize acts on the overlay that it applies, as in a kustomization."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

import pytest

from .manifests import nodeclass, nodepool
from .test_flux_kustomizations import CHANGES, COMPONENT, OPERATION, STRATEGIC, Run, findings, read_hashes, write

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
