"""`plan` says which workloads lose the pool that took them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from tests.fit.test_fit import pod
from tests.manifests import nodeclass, nodepool
from tests.repositories import write_files

Run = Callable[..., CompletedProcess[str]]
FAMILY = "key: karpenter.k8s.aws/instance-family, operator: In, values: [m5]"
TEAM = "key: team, operator: In, values: [batch]"


def pools(*lines: str, name: str = "batch", taint: str = "") -> str:
    text = nodepool(FAMILY, *lines, name=name)
    return text.replace("      requirements:", f"      taints: [{taint}]\n      requirements:")


def planned(here: Path, nodelint: Run, before: str, after: str) -> list[dict[str, Any]]:
    for side, text in (("old", before), ("new", after)):
        (here / side).mkdir()
        (here / side / "pools.yaml").write_text(f"{text}---\n{nodeclass()}")
        (here / side / "web.yaml").write_text(pod("nodeSelector: {team: batch}"))
    done = nodelint("plan", "new", "--old", "old", "--format", "json", cwd=here)
    found: list[dict[str, Any]] = json.loads(done.stdout)["workloads"]
    return found


TAINT = "{key: only, effect: NoSchedule}"


@pytest.mark.parametrize(
    ("after", "why"),
    [
        (pools(), 'label "team" does not have known values'),
        (pools(TEAM, taint=TAINT), "did not tolerate taint (taint=only:NoSchedule)"),
        (pools(TEAM, name="other", taint=TAINT), "is deleted"),
    ],
)
def test_a_workload_that_loses_its_only_pool_is_stranded(tmp_path: Path, nodelint: Run, after: str, why: str) -> None:
    (change,) = planned(tmp_path, nodelint, pools(TEAM), after)
    assert (change["kind"], change["name"], change["stranded"]) == ("Deployment", "web", True)
    assert why in change["lost"][0]["message"]
    output = nodelint("plan", "new", "--old", "old", cwd=tmp_path).stdout
    assert "no NodePool accepts its pods any more" in output


def test_a_workload_that_another_pool_takes_is_not_stranded(tmp_path: Path, nodelint: Run) -> None:
    both = pools(TEAM) + "---\n" + pools(TEAM, name="second")
    (change,) = planned(tmp_path, nodelint, both, pools(TEAM, taint=TAINT) + "---\n" + pools(TEAM, name="second"))
    assert not change["stranded"]
    assert change["left"] == ["second"]


def test_nothing_is_said_where_the_pools_go_on_taking_it(tmp_path: Path, nodelint: Run) -> None:
    assert (
        planned(tmp_path, nodelint, pools(TEAM), pools(TEAM, "key: karpenter.sh/capacity-type, operator: Exists"))
        == []
    )


@pytest.mark.parametrize("form", ["markdown", "html"])
def test_every_form_names_the_workloads(tmp_path: Path, nodelint: Run, form: str) -> None:
    planned(tmp_path, nodelint, pools(TEAM), pools(TEAM, taint=TAINT))
    page = nodelint("plan", "new", "--old", "old", "--format", form, cwd=tmp_path).stdout
    assert "no NodePool accepts its pods any more" in page
    assert "did not tolerate taint" in page
    assert "web.yaml:" in page


def test_workloads_are_those_that_charts_make(here: Path, nodelint: Run) -> None:
    files = {
        "Chart.yaml": "apiVersion: v2\nname: web\nversion: 0.1.0\n",
        "values.yaml": "selected: batch\n",
        "templates/web.yaml": pod("nodeSelector: {team: '{{ .Values.selected }}'}"),
    }
    for side, team in (("old", "batch"), ("new", "other")):
        write_files(here / side / "chart", files)
        line = f"key: team, operator: In, values: [{team}]"
        (here / side / "pools.yaml").write_text(f"{pools(line)}---\n{nodeclass()}")
    done = nodelint("plan", "new", "--old", "old", "--format", "json", cwd=here)
    (lost,) = json.loads(done.stdout)["workloads"]
    assert lost["stranded"] is True


def test_a_workload_of_an_overlay_stands_in_its_file(tmp_path: Path, nodelint: Run) -> None:
    write_files(
        tmp_path,
        {
            f"{side}/base/{name}": text
            for side, taint in (("old", ""), ("new", TAINT))
            for name, text in {
                "kustomization.yaml": "resources: [pools.yaml, class.yaml, web.yaml]\n",
                "pools.yaml": pools(TEAM, taint=taint),
                "class.yaml": nodeclass(),
                "web.yaml": pod("nodeSelector: {team: batch}"),
            }.items()
        }
        | {f"{side}/prod/kustomization.yaml": "resources: [../base]\n" for side in ("old", "new")},
    )
    done = nodelint("plan", "new", "--old", "old", "--format", "json", cwd=tmp_path)
    (change,) = json.loads(done.stdout)["workloads"]
    assert change["path"] == "new/base/web.yaml"
