"""What applies a folder or a chart on both sides, and does so on other terms: revision, cluster, files, release."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.plan.test_plan_command import Run
from tests.plan.test_plan_inputs import (
    APPLICATION_SET_OF_FOLDERS,
    HELM_RELEASE,
    POOL,
    Change,
    Tree,
    application_set,
    chart,
    class_of,
    plan_both_ways,
)

NODES = {"nodes/pool.yaml": POOL, "nodes/class.yaml": class_of()}
APPLICATION = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: nodes, namespace: argocd}
spec:
  project: default
  destination: {name: prod, namespace: karpenter}
  source: {repoURL: https://example.com/x.git, path: nodes, targetRevision: main, directory: {recurse: true}}
"""
OF_CHART = APPLICATION.replace("path: nodes", "path: chart, helm: {releaseName: one, valuesObject: {a: 1}}")
KUSTOMIZATION = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: nodes, namespace: flux-system}
spec:
  path: ./nodes
  interval: 10m
  sourceRef: {kind: GitRepository, name: flux-system}
"""
REPOSITORY = """\
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: flux-system, namespace: flux-system}
spec: {url: ssh://git@example.com/x, interval: 1m, ref: {branch: main}}
"""
RELEASE = (
    HELM_RELEASE.partition("  valuesFrom")[0] + "  interval: 10m\n  postRenderers: [{kustomize: {images: []}}]\n"
)
RELEASE_NAME = chart(alias="al2023@v20260618", values="a: 1\n")
RELEASE_NAME["chart/templates/class.yaml"] = class_of(tags="team: '{{ .Release.Name }}'")
HELMFILE = "releases:\n  - name: nodes\n    chart: ./chart\n    condition: nodes.enabled\n    values: [{a: 1}]\n"
LIST = "    - list: {elements: [{name: prod, alias: al2023@v20260618}, {name: dev, alias: al2023@v20260714}]}"
MERGE = "    - merge: {mergeKeys: [name], generators: [{clusters: {}}, {list: {elements: [{name: a, alias: b}]}}]}"
PARAMETERS = "{parameters: [{name: alias, value: '{{.alias}}'}]}"
TREES: dict[str, Tree] = {
    "an Application": Tree(
        {**NODES, "app.yaml": APPLICATION},
        (
            ("app.yaml", "targetRevision: main", "targetRevision: v2"),
            ("app.yaml", "example.com/x.git", "example.com/y.git"),
            ("app.yaml", "name: prod", "name: live"),
            ("app.yaml", "recurse: true", "recurse: true, exclude: class.yaml"),
        ),
        (
            ("app.yaml", "targetRevision: main", "targetRevision: HEAD"),
            ("app.yaml", "https://example.com/x.git", "git@example.com:x"),
            ("app.yaml", "project: default", "project: nodes"),
            ("app.yaml", "namespace: karpenter", "namespace: kube-system"),
        ),
    ),
    "an Application of a chart that takes the name of its release": Tree(
        {**RELEASE_NAME, "app.yaml": OF_CHART},
        (("app.yaml", "releaseName: one", "releaseName: two"),),
        (("app.yaml", "project: default", "project: nodes"),),
    ),
    "an Application of a chart that takes nothing of its release": Tree(
        {**chart(), "app.yaml": OF_CHART}, (), (("app.yaml", "releaseName: one", "releaseName: two"),)
    ),
    "a set of clusters": Tree(
        {**NODES, "set.yaml": APPLICATION_SET_OF_FOLDERS},
        (
            ("set.yaml", "env: prod", "env: dev"),
            ("set.yaml", "'{{.name}}'\n", "'{{.name}}/nodes'\n"),
        ),
        (("set.yaml", "project: default", "project: nodes"),),
    ),
    "a set of a list": Tree(
        {**chart(), "set.yaml": application_set(LIST, PARAMETERS)},
        (("set.yaml", "name: prod", "name: live"),),
        (
            (
                "set.yaml",
                "{name: prod, alias: al2023@v20260618}, {name: dev, alias: al2023@v20260714}",
                "{name: dev, alias: al2023@v20260714}, {name: prod, alias: al2023@v20260618}",
            ),
            ("set.yaml", "elements: [", "elements: [{name: stage, alias: al2023@v20260618}, "),
        ),
    ),
    "a set that merges generators": Tree(
        {**chart(), "set.yaml": application_set(MERGE, PARAMETERS)},
        (("set.yaml", "alias: b", "alias: c"),),
        (("set.yaml", "project: default", "project: nodes"),),
    ),
    "a Kustomization of Flux": Tree(
        {**NODES, "flux/nodes.yaml": KUSTOMIZATION, "flux/repository.yaml": REPOSITORY},
        (
            ("flux/repository.yaml", "branch: main", "tag: v2"),
            ("flux/repository.yaml", "example.com/x", "example.com/y"),
            ("flux/nodes.yaml", "name: flux-system}\n", "name: other}\n"),
        ),
        (
            ("flux/repository.yaml", "interval: 1m", "interval: 2m"),
            ("flux/repository.yaml", "ssh://git@example.com/x", "https://example.com/x.git"),
            ("flux/nodes.yaml", "interval: 10m", "interval: 5m"),
        ),
    ),
    "a HelmRelease": Tree(
        {**chart(), "release.yaml": RELEASE},
        (
            ("release.yaml", "spec:\n  chart", "spec:\n  releaseName: other\n  chart"),
            ("release.yaml", "spec:\n  chart", "spec:\n  targetNamespace: other\n  chart"),
            ("release.yaml", "images: []", "patches: [{patch: a}]"),
        ),
        (
            ("release.yaml", "spec:\n  chart", "spec:\n  releaseName: nodes\n  chart"),
            ("release.yaml", "interval: 10m", "interval: 5m"),
        ),
    ),
    "a release of a helmfile": Tree(
        {**chart(), "helmfile.yaml": HELMFILE},
        (("helmfile.yaml", "nodes.enabled", "nodes.on"),),
        (("helmfile.yaml", "    condition", "    wait: true\n    condition"),),
    ),
}
CHANGES = [
    pytest.param(tree, change, code, id=f"{name}: {change[1]} -> {change[2]}"[:90])
    for name, tree in TREES.items()
    for code, changes in ((1, tree.inputs), (0, tree.outside))
    for change in changes
]


@pytest.mark.parametrize(("tree", "change", "code"), CHANGES)
def test_other_terms_are_said(nodelint: Run, tmp_path: Path, tree: Tree, change: Change, code: int) -> None:
    for done in plan_both_ways(nodelint, tmp_path, tree, change):
        assert done.returncode == code, done.stdout + done.stderr
        assert ("No node is replaced." in done.stdout) == (code == 0)


def test_the_term_is_named_with_both_values(nodelint: Run, tmp_path: Path) -> None:
    change = "app.yaml", "targetRevision: main", "targetRevision: v2"
    for done in plan_both_ways(nodelint, tmp_path, TREES["an Application"], change):
        shown = " ".join(done.stdout.split())
        assert "its `targetRevision` (HEAD -> v2) changes: what the cluster gets of NodePool web" in shown
        assert "/nodelint-" not in shown


def test_defaults_that_nothing_installs_are_left_out(nodelint: Run, tmp_path: Path) -> None:
    """As `explain` does: each installation of the chart gives another value."""
    release = RELEASE + "  values: {alias: al2023@v20260714}\n"
    tree = Tree({**chart(), "release.yaml": release}, ())
    for done in plan_both_ways(nodelint, tmp_path, tree, ("chart/values.yaml", "v20260618", "v20260101")):
        assert done.returncode == 0 and "1 NodePool, not changed." in done.stdout, done.stdout


def test_a_file_that_moves_out_of_what_is_applied_is_said(nodelint: Run, tmp_path: Path) -> None:
    from tests.repositories import write_files

    write_files(tmp_path / "old", {**NODES, "app.yaml": APPLICATION})
    write_files(tmp_path / "new", {"pool.yaml": POOL, "nodes/class.yaml": class_of(), "app.yaml": APPLICATION})
    done = nodelint("plan", "--old", "old", "new", cwd=tmp_path)
    shown = " ".join(done.stdout.split())
    assert done.returncode == 1 and "NodePool web moves out of the folder that it applies" in shown
