"""What a plan said wrongly, or did not know for no reason, of changes that public repositories made."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.commands.test_cli import Run
from tests.plan.test_plan_inputs import ALIAS, POOL, class_of
from tests.repositories import write_files

CLASS = class_of()


def plan(nodelint: Run, folder: Path, old: dict[str, str], new: dict[str, str]) -> dict[str, list[dict[str, object]]]:
    write_files(folder / "old", old)
    write_files(folder / "new", new)
    found: dict[str, list[dict[str, object]]] = json.loads(
        nodelint("plan", "--old", "old", "new", "--format", "json", cwd=folder).stdout
    )
    return found


def test_a_class_that_cannot_be_read_is_not_gone(nodelint: Run, tmp_path: Path) -> None:
    broken = CLASS.replace("spec:\n", "spec:\n  userData: |\n   a\n  b\n")
    found = plan(nodelint, tmp_path, {"c.yaml": CLASS, "p.yaml": POOL}, {"c.yaml": broken, "p.yaml": POOL})
    assert "gone" not in json.dumps(found["nodePools"])
    assert any(place["changed"] for place in found["notCompared"])


def test_a_placeholder_as_a_key_hides_no_other_field(nodelint: Run, tmp_path: Path) -> None:
    old = CLASS.replace("- tags: {karpenter.sh/discovery: x}", '- tags: {"${key}": x}') + POOL.replace(
        "api", "---\napi", 1
    )
    found = plan(nodelint, tmp_path, {"a.yaml": old}, {"a.yaml": old.replace("role: nodes", "role: others")})
    (pool,) = found["nodePools"]
    assert pool["replaced"] == "all"


@pytest.mark.parametrize(("old", "new", "effects"), [(None, "0s", 0), (None, "5m", 1), ("1m", "0s", 1)])
def test_a_delay_that_is_not_set_is_none(
    nodelint: Run, tmp_path: Path, old: str | None, new: str, effects: int
) -> None:
    def pool(delay: str | None) -> str:
        after = f", consolidateAfter: {delay}" if delay else ""
        return f"{POOL}  disruption: {{consolidationPolicy: WhenEmptyOrUnderutilized{after}}}\n"

    files = [{"c.yaml": CLASS, "p.yaml": pool(delay)} for delay in (old, new)]
    (plan_of_pool,) = plan(nodelint, tmp_path, *files)["nodePools"]
    assert len(plan_of_pool["effects"]) == effects  # type: ignore[arg-type]


def test_a_comment_in_a_known_module_makes_no_pools(nodelint: Run, tmp_path: Path) -> None:
    module = (
        'module "eks" {\n  source = "terraform-aws-modules/eks/aws"\n  version = "20.0.0"\n'
        '  # NodePools find the group by this tag\n  tags = { karpenter = "a" }\n}\n'
    )
    files = {"c.yaml": CLASS, "p.yaml": POOL, "main.tf": module}
    found = plan(nodelint, tmp_path, files, {**files, "main.tf": module.replace('"a"', '"b"')})
    assert found["notCompared"] == []


def test_an_overlay_that_is_not_built_is_compared_by_its_files(nodelint: Run, tmp_path: Path) -> None:
    files = {
        "kustomization.yaml": "resources: [nodes.yaml, vars.yaml]\nconfigurations: [c.yaml]\n",
        "c.yaml": "varReference:\n  - {kind: EC2NodeClass, path: spec/tags/team}\n",
        "nodes.yaml": f"{CLASS}---\n{POOL}",
        "vars.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: v}\ndata: {team: a}\n",
        "other.yaml": "a: 1\n",
    }
    found = plan(nodelint, tmp_path, files, {**files, "vars.yaml": files["vars.yaml"].replace("team: a", "team: b")})
    assert any("vars.yaml" in str(place["reason"]) for place in found["notCompared"] if place["changed"])
    same = plan(nodelint, tmp_path / "b", files, {**files, "other.yaml": "a: 2\n"})
    assert not any(place["changed"] for place in same["notCompared"])


def test_a_command_of_helm_gives_a_chart_values_that_are_compared(nodelint: Run, tmp_path: Path) -> None:
    files = {
        "chart/Chart.yaml": "apiVersion: v2\nname: nodes\nversion: 0.1.0\n",
        "chart/values.yaml": f"alias: {ALIAS}\n",
        "chart/templates/all.yaml": f"{class_of('{{ .Values.alias }}')}---\n{POOL}",
        "deploy.sh": "helm upgrade --install nodes ./chart --set alias=al2023@v20260618\n",
    }
    newer = {**files, "deploy.sh": files["deploy.sh"].replace("v20260618", "v20260714")}
    found = plan(nodelint, tmp_path, files, newer)
    replaced = [pool for pool in found["nodePools"] if pool["replaced"] == "all"]
    assert [(pool["with"], pool["headline"]) for pool in replaced] == [
        ("../deploy.sh", "all nodes are replaced: AMIDrift")
    ]
