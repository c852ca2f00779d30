"""What applied pools and is gone, while their files stay: the plan says what the cluster may no longer get."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.plan.test_plan import CLASS, POOL
from tests.plan.test_plan_command import Run, put
from tests.plan.test_plan_missing_references import BOTH, change, plan

APPLICATION = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: nodes}
spec:
  source: {repoURL: https://example.com/x.git, path: nodes}
"""
SET = """\
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: all}
spec:
  generators: [{list: {elements: [{folder: nodes}]}}]
  template:
    metadata: {name: '{{folder}}'}
    spec:
      source: {repoURL: https://example.com/x.git, path: '{{folder}}'}
"""
FLUX = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: nodes, namespace: flux-system}
spec:
  path: ./nodes
  prune: true
"""
NODES = {"nodes/pool.yaml": POOL, "nodes/class.yaml": CLASS}
BASE = {**NODES, "nodes/kustomization.yaml": "resources: [pool.yaml, class.yaml]\n"}
OVERLAY = "resources: [../nodes]\n"
WEB = {"web/namespace.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: web}\n"}
LOST = {
    "Application": ({**NODES, "apps/nodes.yaml": APPLICATION}, NODES, "Application nodes"),
    "ApplicationSet": ({**NODES, "apps/nodes.yaml": SET}, NODES, "ApplicationSet all"),
    "one of two Applications": (
        {**NODES, "a.yaml": APPLICATION, "b.yaml": APPLICATION.replace("name: nodes", "name: more")},
        {**NODES, "b.yaml": APPLICATION.replace("name: nodes", "name: more")},
        "Application nodes",
    ),
    "Application of another folder": (
        {**NODES, "a.yaml": APPLICATION},
        {**NODES, **WEB, "a.yaml": APPLICATION.replace("path: nodes", "path: web")},
        "Application nodes",
    ),
    "Kustomization of Flux": ({**NODES, "apps/nodes.yaml": FLUX}, NODES, "Kustomization nodes"),
    "overlay": ({**BASE, "prod/kustomization.yaml": OVERLAY}, BASE, "prod/kustomization.yaml"),
    "Application of an overlay": (
        {**BASE, "prod/kustomization.yaml": OVERLAY, "a.yaml": APPLICATION.replace("path: nodes", "path: prod")},
        {**BASE, "prod/kustomization.yaml": OVERLAY},
        "Application nodes",
    ),
    "only kustomization": (BASE, NODES, "nodes/kustomization.yaml"),
}
KEPT = {
    "a file of another name": ({**NODES, "a.yaml": APPLICATION}, {**NODES, "b.yaml": APPLICATION}),
    "another name": (
        {**NODES, "a.yaml": APPLICATION},
        {**NODES, "a.yaml": APPLICATION.replace("name: nodes", "name: more")},
    ),
    "a set instead": ({**NODES, "a.yaml": APPLICATION}, {**NODES, "a.yaml": SET}),
    "Flux instead": ({**NODES, "a.yaml": APPLICATION}, {**NODES, "a.yaml": FLUX}),
    "nothing is pruned": ({**NODES, "a.yaml": FLUX.replace("true", "false")}, NODES),
    "an overlay that moves": (
        {**BASE, "prod/kustomization.yaml": OVERLAY},
        {**BASE, "live/kustomization.yaml": OVERLAY},
    ),
    "an Application of no pools": ({**NODES, "a.yaml": APPLICATION.replace("path: nodes", "path: web")}, NODES),
    "a kustomization whose folder is applied": (
        {**BASE, "a.yaml": APPLICATION},
        {**NODES, "a.yaml": APPLICATION},
    ),
}


def _plan(nodelint: Run, folder: Path, old: dict[str, str], new: dict[str, str]) -> str:
    for side, files in (("old", old), ("new", new)):
        for path, text in files.items():
            put(folder / side / path, text)
    done = nodelint("plan", "--old", "old", "new", cwd=folder)
    assert done.returncode == ("No node is replaced." not in done.stdout), done.stdout
    return " ".join(done.stdout.split())


@pytest.mark.parametrize("case", LOST)
def test_what_applied_pools_and_is_gone_is_named(nodelint: Run, tmp_path: Path, case: str) -> None:
    old, new, name = LOST[case]
    shown = _plan(nodelint, tmp_path, old, new)
    assert f"~ {name} " in shown and "the cluster no longer gets NodePool" in shown


@pytest.mark.parametrize("case", KEPT)
def test_what_is_applied_by_something_new_is_no_alarm(nodelint: Run, tmp_path: Path, case: str) -> None:
    assert "No node is replaced." in _plan(nodelint, tmp_path, *KEPT[case])


DELETED = {
    "Application of a base": (
        {**BASE, "prod/kustomization.yaml": OVERLAY, "a.yaml": APPLICATION},
        {**BASE, "prod/kustomization.yaml": OVERLAY},
    ),
    "Application that leaves out a file": (
        {**NODES, "a.yaml": APPLICATION},
        {**NODES, "a.yaml": APPLICATION.replace("path: nodes", "path: nodes, directory: {exclude: '*'}")},
    ),
}


@pytest.mark.parametrize("case", DELETED)
def test_a_deleted_pool_is_not_also_perhaps_deleted(nodelint: Run, tmp_path: Path, case: str) -> None:
    shown = _plan(nodelint, tmp_path, *DELETED[case])
    assert "deleted: all its nodes go" in shown and "may be deleted" not in shown


NAMED_SET = """\
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: nodes}
spec:
  goTemplate: true
  generators: [{list: {elements: [{tier: one, note: one}]}}]
  template:
    metadata: {name: 'nodes-{{.tier}}', annotations: {note: '{{.note}}'}}
    spec: {source: {repoURL: https://example.com/x.git, path: pools}, destination: {name: prod}}
"""


def test_an_application_whose_name_a_generator_changes_is_gone(nodelint: Run, tmp_path: Path) -> None:
    files = {"set.yaml": NAMED_SET, "pools/n.yaml": BOTH}
    for field, code in (("tier", 1), ("note", 0)):
        new = change(files, ("set.yaml", f"{field}: one", f"{field}: two"))
        done = plan(nodelint, tmp_path / field, files, new)
        assert done.returncode == code and ("`metadata.name`" in done.stdout) is bool(code), done.stdout
