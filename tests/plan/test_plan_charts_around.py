"""The values of a chart within others: those of whatever installs these, and else its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.plan.test_plan_inputs import (
    ALIAS,
    CHART,
    NEWER,
    Change,
    Run,
    Tree,
    changed,
    chart,
    class_of,
    plan_both_ways,
)

INNER = "alias: al2023@v20260401\nrole: nodes\n"
OLDER = ("v20260401", "v20260402")
"""A change of the default that the chart around replaces."""
APPLICATION = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: nodes, namespace: argocd}
spec:
  source:
    repoURL: https://example.com/x.git
    path: up
    helm:
      valuesObject: {nodes: {alias: al2023@v20260701}}
  destination: {server: https://kubernetes.default.svc}
"""


def umbrella(values: str, more: str = "", chart_folder: str = "chart") -> dict[str, str]:
    """A chart with a class whose alias and role come from values, and a chart around it."""
    role = "{{ .Values.role }}"
    repository = "" if chart_folder.startswith("up/") else ", repository: 'file://../chart'"
    return {
        **chart(chart_folder, values=INNER),
        f"{chart_folder}/templates/class.yaml": class_of("{{ .Values.alias }}").replace("nodes", role),
        "up/Chart.yaml": CHART.replace("nodes", "up")
        + f"dependencies:\n  - {{name: nodes, version: 0.1.0{more}{repository}}}\n",
        "up/values.yaml": values,
    }


def top(values: str) -> dict[str, str]:
    """A chart around the umbrella."""
    dependency = "dependencies:\n  - {name: up, version: 0.1.0, repository: 'file://../up'}\n"
    return {"top/Chart.yaml": CHART.replace("nodes", "top") + dependency, "top/values.yaml": values}


GIVEN = f"nodes:\n  alias: {ALIAS}\n"
OWN_ROLE = ("chart/values.yaml", "role: nodes", "role: others")
TREES = {
    "by its path": Tree(umbrella(GIVEN), (("up/values.yaml", *NEWER), OWN_ROLE), (("chart/values.yaml", *OLDER),)),
    "under an alias": Tree(
        umbrella(f"prod:\n  alias: {ALIAS}\nnodes:\n  alias: {ALIAS}\n", ", alias: prod"),
        (("up/values.yaml", f"prod:\n  alias: {ALIAS}", "prod:\n  alias: al2023@v20260714"), OWN_ROLE),
        (
            ("chart/values.yaml", *OLDER),
            ("up/values.yaml", f"nodes:\n  alias: {ALIAS}", "nodes:\n  alias: al2023@v20260714"),
        ),
    ),
    "switched on by its tags": Tree(
        umbrella(f"{GIVEN}tags:\n  karpenter: true\n", ", tags: [karpenter, other]"),
        (("up/values.yaml", "karpenter: true", "karpenter: false"), ("up/values.yaml", *NEWER)),
        (("chart/values.yaml", *OLDER), ("up/Chart.yaml", ", other", "")),
    ),
    "switched off by its own default": Tree(
        {**umbrella(GIVEN, ", condition: nodes.enabled"), "chart/values.yaml": f"{INNER}enabled: true\n"},
        (("chart/values.yaml", "enabled: true", "enabled: false"), OWN_ROLE),
    ),
    "switched off": Tree(
        umbrella(f"{GIVEN}  enabled: false\n", ", condition: nodes.enabled"),
        (OWN_ROLE,),
        (("up/values.yaml", *NEWER), ("up/values.yaml", "enabled: false", "enabled: true")),
    ),
    "within two others": Tree(
        {**umbrella(f"{GIVEN}  role: up\n"), **top("up:\n  nodes:\n    alias: al2023@v20260701\n")},
        (("top/values.yaml", "v20260701", "v20260702"), ("up/values.yaml", "role: up", "role: others")),
        (("up/values.yaml", *NEWER), ("chart/values.yaml", *OLDER), OWN_ROLE),
    ),
    "by a file beside the values around": Tree(
        {**umbrella(GIVEN), "up/values-prod.yaml": "nodes:\n  alias: al2023@v20260701\n"},
        (("up/values-prod.yaml", "v20260701", "v20260702"), ("up/values.yaml", *NEWER)),
        (("chart/values.yaml", *OLDER),),
    ),
    "by an application of the chart around": Tree(
        {**umbrella(f"{GIVEN}  role: up\n"), "apps/nodes.yaml": APPLICATION},
        (("apps/nodes.yaml", "v20260701", "v20260702"), ("up/values.yaml", "role: up", "role: others")),
        (("up/values.yaml", *NEWER), ("chart/values.yaml", *OLDER), OWN_ROLE),
    ),
    "in the folder of others, by an application": Tree(
        {**umbrella(GIVEN, chart_folder="up/charts/nodes"), "apps/nodes.yaml": APPLICATION},
        (
            ("apps/nodes.yaml", "v20260701", "v20260702"),
            ("up/charts/nodes/values.yaml", "role: nodes", "role: others"),
        ),
        (("up/values.yaml", *NEWER), ("up/charts/nodes/values.yaml", *OLDER)),
    ),
    "in the folder of others, without values for it": Tree(
        umbrella("other: 1\n", ", condition: nodes.enabled", "up/charts/nodes"),
        (("up/charts/nodes/values.yaml", *OLDER), ("up/values.yaml", "other: 1", "nodes: {enabled: false}")),
        (("up/values.yaml", "other: 1", "other: 2"),),
    ),
}
INPUTS = [
    pytest.param(tree, change, id=f"{name}, {n}")
    for name, tree in TREES.items()
    for n, change in enumerate(tree.inputs)
]
OUTSIDE = [
    pytest.param(tree, change, id=f"{name}, {n}")
    for name, tree in TREES.items()
    for n, change in enumerate(tree.outside)
]


@pytest.mark.parametrize(("tree", "change"), INPUTS)
def test_a_value_that_the_charts_come_to_is_an_alarm(
    nodelint: Run, tmp_path: Path, tree: Tree, change: Change
) -> None:
    for done in plan_both_ways(nodelint, tmp_path, tree, change):
        assert done.returncode == 1, done.stdout + done.stderr


@pytest.mark.parametrize(("tree", "change"), OUTSIDE)
def test_a_value_that_a_chart_around_replaces_is_none(
    nodelint: Run, tmp_path: Path, tree: Tree, change: Change
) -> None:
    for done in plan_both_ways(nodelint, tmp_path, tree, change):
        assert done.returncode == 0, done.stdout + done.stderr


def test_a_chart_that_is_left_out_loses_its_nodes(nodelint: Run, tmp_path: Path) -> None:
    tree = TREES["switched on by its tags"]
    done = next(plan_both_ways(nodelint, tmp_path, tree, tree.inputs[0]))
    assert "- NodePool web" in done.stdout
    assert "+" not in done.stdout.split("- NodePool web")[0]


def test_both_trees_differ_where_a_change_is_made() -> None:
    for tree in TREES.values():
        assert all(changed(tree.files, change) != tree.files for change in (*tree.inputs, *tree.outside))
