"""Objects that keep their names while what makes them gets another: they are deleted and created again."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.plan.test_plan import CLASS, POOL
from tests.plan.test_plan_command import Run, put
from tests.plan.test_plan_gone_appliers import APPLICATION, FLUX, NODES, SET
from tests.plan.test_plan_inputs import CHART, heredoc

MODULE = {"modules/nodes/main.tf": heredoc("pool", POOL) + heredoc("class", CLASS)}
CALL = 'module "nodes" {\n  source = "./modules/nodes"\n}\n'
RELEASE = 'resource "helm_release" "nodes" {\n  name = "nodes"\n  namespace = "karpenter"\n  chart = "./chart"\n}\n'
CHART_FILES = {
    "chart/Chart.yaml": CHART,
    "chart/values.yaml": "a: 1\n",
    "chart/templates/pool.yaml": f"{POOL}---\n{CLASS}",
}
HELM_RELEASE = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: nodes, namespace: karpenter}
spec:
  chart: {spec: {chart: ./chart, sourceRef: {kind: GitRepository, name: flux-system}}}
"""
FINALIZER = "metadata: {name: nodes, finalizers: [resources-finalizer.argocd.argoproj.io]}"
CASCADING = APPLICATION.replace("metadata: {name: nodes}", FINALIZER)


def hcl(**files: str) -> dict[str, str]:
    return {f"{name}.tf": text for name, text in files.items()}


def moved(old: str, new: str) -> str:
    return f"moved {{\n  from = {old}\n  to   = {new}\n}}\n"


def removed(name: str, destroy: str) -> str:
    return f"removed {{\n  from = {name}\n  lifecycle {{\n    destroy = {destroy}\n  }}\n}}\n"


CLASS_HCL = heredoc("class", CLASS)
PLAIN = hcl(main=heredoc("pool", POOL) + CLASS_HCL)
RENAMED = hcl(main=heredoc("web", POOL) + CLASS_HCL)
EACH = heredoc("pool", POOL, '  for_each = toset(["a"])\n') + CLASS_HCL
FROM_POOL = "`kubectl_manifest.pool` made it"
RECREATED = {
    "a resource": (PLAIN, RENAMED, FROM_POOL),
    "a resource, and a `moved` block of another": (
        PLAIN,
        {**RENAMED, "moved.tf": moved("kubectl_manifest.poo", "kubectl_manifest.web")},
        FROM_POOL,
    ),
    "a call of a module": (
        {**MODULE, "main.tf": CALL},
        {**MODULE, "main.tf": CALL.replace('"nodes"', '"karpenter"')},
        "`module.nodes.kubectl_manifest.pool` made it, and `module.karpenter.kubectl_manifest.pool` makes it now",
    ),
    "into a module": (PLAIN, {**MODULE, "main.tf": CALL}, FROM_POOL),
    "for_each": (PLAIN, hcl(main=EACH), "`kubectl_manifest.pool[each.key]` makes it now"),
    "another tool": (PLAIN, NODES, "`kubectl_manifest.pool`, which made it, is gone"),
    "another tool, destroyed": (
        PLAIN,
        {**NODES, "main.tf": removed("kubectl_manifest.pool", "true")},
        "`kubectl_manifest.pool`, which made it, is gone",
    ),
    "a block of a release": (
        {**CHART_FILES, "main.tf": RELEASE},
        {**CHART_FILES, "main.tf": RELEASE.replace('" "nodes"', '" "web"')},
        "`helm_release.nodes` made it, and `helm_release.web` makes it now",
    ),
    "a release in another namespace": (
        {**CHART_FILES, "main.tf": RELEASE},
        {**CHART_FILES, "main.tf": RELEASE.replace('"karpenter"', '"kube-system"')},
        "`helm_release.nodes` becomes another release",
    ),
    "a HelmRelease": (
        {**CHART_FILES, "r.yaml": HELM_RELEASE},
        {**CHART_FILES, "r.yaml": HELM_RELEASE.replace("{name: nodes, ", "{name: web, ")},
        "HelmRelease nodes is gone, and HelmRelease web applies NodePool",
    ),
    "a Kustomization of Flux": (
        {**NODES, "a.yaml": FLUX},
        {**NODES, "a.yaml": FLUX.replace("{name: nodes,", "{name: web,")},
        "Flux deletes what a Kustomization with `prune` has applied",
    ),
    "an Application with a finalizer": (
        {**NODES, "a.yaml": CASCADING},
        {**NODES, "a.yaml": CASCADING.replace("{name: nodes,", "{name: web,")},
        "Application nodes is gone, and Application web applies",
    ),
    "an ApplicationSet": (
        {**NODES, "a.yaml": SET},
        {**NODES, "a.yaml": SET.replace("{name: all}", "{name: every}")},
        "ApplicationSet all is gone, and ApplicationSet every applies",
    ),
}
KEPT = {
    "a `moved` block": (PLAIN, {**RENAMED, "moved.tf": moved("kubectl_manifest.pool", "kubectl_manifest.web")}),
    "`moved` blocks in a row": (
        PLAIN,
        {
            **RENAMED,
            "moved.tf": moved("kubectl_manifest.pool", "kubectl_manifest.a")
            + moved("kubectl_manifest.a", "kubectl_manifest.web"),
        },
    ),
    "a `moved` block with a key": (
        PLAIN,
        hcl(main=EACH, moved=moved("kubectl_manifest.pool", 'kubectl_manifest.pool["a"]')),
    ),
    "a `moved` call": (
        {**MODULE, "main.tf": CALL},
        {**MODULE, "main.tf": CALL.replace('"nodes"', '"web"') + moved("module.nodes", "module.web")},
    ),
    "count": (PLAIN, hcl(main=heredoc("pool", POOL, "  count = 1\n") + CLASS_HCL)),
    "another file": (PLAIN, hcl(pool=heredoc("pool", POOL), main=CLASS_HCL)),
    "another folder of the module": (
        {**MODULE, "main.tf": CALL},
        {"modules/pools/main.tf": MODULE["modules/nodes/main.tf"], "main.tf": CALL.replace("s/nodes", "s/pools")},
    ),
    "removed, and not destroyed": (
        PLAIN,
        {
            **NODES,
            "main.tf": removed("kubectl_manifest.pool", "false") + removed("kubectl_manifest.class", "false"),
        },
    ),
    "a suspended HelmRelease": (
        {**CHART_FILES, "r.yaml": f"{HELM_RELEASE}  suspend: true\n"},
        {**CHART_FILES, "r.yaml": HELM_RELEASE.replace("{name: nodes, ", "{name: web, ")},
    ),
    "a Kustomization that leaves orphans": (
        {**NODES, "a.yaml": f"{FLUX}  deletionPolicy: Orphan\n"},
        {**NODES, "a.yaml": FLUX.replace("{name: nodes,", "{name: web,")},
    ),
    "an ApplicationSet that preserves": (
        {**NODES, "a.yaml": f"{SET}  syncPolicy: {{preserveResourcesOnDeletion: true}}\n"},
        {**NODES, "a.yaml": SET.replace("{name: all}", "{name: every}")},
    ),
}
SUSPENDED = f"{FLUX}  suspend: true\n"


def plan(nodelint: Run, folder: Path, old: dict[str, str], new: dict[str, str]) -> tuple[int, str]:
    for side, files in (("old", old), ("new", new)):
        for path, text in files.items():
            put(folder / side / path, text)
    done = nodelint("plan", "--old", "old", "new", cwd=folder)
    assert done.returncode in (0, 1), done.stderr
    return done.returncode, " ".join(done.stdout.split())


@pytest.mark.parametrize("case", RECREATED)
def test_what_is_deleted_and_created_again_is_named(nodelint: Run, tmp_path: Path, case: str) -> None:
    old, new, reason = RECREATED[case]
    code, shown = plan(nodelint, tmp_path, old, new)
    assert code == 1, shown
    assert reason in shown


@pytest.mark.parametrize("case", KEPT)
def test_what_stays_is_no_alarm(nodelint: Run, tmp_path: Path, case: str) -> None:
    code, shown = plan(nodelint, tmp_path, *KEPT[case])
    assert code == 0, shown


def test_a_suspended_change_is_one_once_it_is_resumed(nodelint: Run, tmp_path: Path) -> None:
    changed = {**NODES, "nodes/class.yaml": CLASS.replace("role: ", "role: other-"), "a.yaml": SUSPENDED}
    code, shown = plan(nodelint, tmp_path, {**NODES, "a.yaml": SUSPENDED}, changed)
    assert code == 1
    assert "all its nodes are replaced" in shown
    assert "suspended: `Kustomization nodes` applies nothing for now, and all of this once it is resumed" in shown


def test_a_change_that_something_else_applies_too_is_not_held_back(nodelint: Run, tmp_path: Path) -> None:
    changed = {**NODES, "nodes/class.yaml": CLASS.replace("role: ", "role: other-")}
    appliers = {"a.yaml": SUSPENDED, "b.yaml": APPLICATION}
    _, shown = plan(nodelint, tmp_path, {**NODES, **appliers}, {**changed, **appliers})
    assert "suspended" not in shown


@pytest.mark.parametrize(("before", "after", "code"), [(SUSPENDED, FLUX, 1), (FLUX, SUSPENDED, 0)])
def test_what_is_resumed_may_bring_older_changes(
    nodelint: Run, tmp_path: Path, before: str, after: str, code: int
) -> None:
    found, shown = plan(nodelint, tmp_path, {**NODES, "a.yaml": before}, {**NODES, "a.yaml": after})
    assert found == code
    assert ("it is resumed" in shown) == bool(code)
