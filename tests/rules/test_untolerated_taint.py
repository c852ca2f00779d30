"""`check` on taints that no workload of a repository tolerates: told only where all that may tolerate one is read."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.manifests import nodeclass, nodepool
from tests.repositories import write_files

Run = Callable[..., CompletedProcess[str]]
RULE = "untolerated-taint"
TAINT = "      taints: [{key: team, value: batch, effect: NoSchedule}]\n"
POOL = nodepool("key: kubernetes.io/arch, operator: In, values: [amd64]", template=TAINT)
SPEC = "{{containers: [{{name: a, image: a}}], {}}}"


def workload(fields: str, kind: str = "Deployment") -> str:
    spec = SPEC.format(fields)
    return f"apiVersion: apps/v1\nkind: {kind}\nmetadata: {{name: w}}\nspec: {{template: {{spec: {spec}}}}}\n"


def findings_of(nodelint: Run, folder: Path, files: dict[str, str], *args: str) -> list[str]:
    (folder / ".git").mkdir(exist_ok=True)
    write_files(folder, {"pools.yaml": f"{POOL}---\n{nodeclass()}"} | files)
    output = nodelint("check", *(args or (".",)), "--select", RULE, "--format", "json", cwd=folder).stdout
    return [finding["message"] for finding in json.loads(output)["findings"] if finding["rule"] == RULE]


OTHER = {"other.yaml": workload("nodeSelector: {a: b}")}


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (OTHER, True),
        ({}, False),
        ({"w.yaml": workload("tolerations: [{key: team, operator: Exists}]")}, False),
        ({"w.yaml": workload("tolerations: [{key: team, value: bach}]")}, True),
        ({"w.yaml": workload("tolerations: [{operator: Exists}]")}, False),
        (OTHER | {"d.yaml": workload("tolerations: [{operator: Exists}]", "DaemonSet")}, True),
        (OTHER | {"d.yaml": workload("tolerations: [{key: team, operator: Exists}]", "DaemonSet")}, True),
        ({"d.yaml": workload("tolerations: [{operator: Exists}]", "DaemonSet")}, False),
        (OTHER | {"values.yaml": "web:\n  tolerations:\n    - {key: team, value: batch}\n"}, False),
        (OTHER | {"values.yaml": "web:\n  tolerations:\n    - {key: other}\n"}, True),
        (
            OTHER | {"ray.yaml": "apiVersion: ray.io/v1\nkind: RayCluster\nspec: {tolerations: [{key: team}]}\n"},
            False,
        ),
        (OTHER | {"w.yaml": workload("tolerations: {{ toYaml .Values.tolerations }}")}, False),
        (OTHER | {"w.yaml": workload("runtimeClassName: batch")}, False),
        (OTHER | {"apply.sh": f"kubectl apply -f - <<E\n{workload('tolerations: [{key: team}]')}E\n"}, False),
    ],
)
def test_what_tolerates_a_taint_is_all_read_or_nothing_is_told(
    nodelint: Run, tmp_path: Path, files: dict[str, str], expected: bool
) -> None:
    """`Tolerates` of core's pkg/scheduling/taints.go@v1.14.1:72."""
    assert (
        findings_of(nodelint, tmp_path, files)
        == ["no workload of the repository tolerates `team=batch:NoSchedule`"] * expected
    )


def test_a_run_about_a_part_of_a_repository_tells_nothing(nodelint: Run, tmp_path: Path) -> None:
    assert (
        findings_of(nodelint, tmp_path, {f"here/{path}": text for path, text in OTHER.items()}, "pools.yaml", "here")
        == []
    )


def test_pods_that_request_a_device_tolerate_its_taint(nodelint: Run, tmp_path: Path) -> None:
    """ExtendedResourceToleration, an admission plugin that EKS runs."""
    taint = nodepool(
        "key: kubernetes.io/arch, operator: In, values: [amd64]", template=TAINT.replace("team", "nvidia.com/gpu")
    )
    asking = workload("initContainers: [{name: b, image: b, resources: {limits: {nvidia.com/gpu: 1}}}]")
    assert findings_of(nodelint, tmp_path, {"pools.yaml": taint, "w.yaml": asking}) == []
    assert findings_of(nodelint, tmp_path, {"pools.yaml": taint, "w.yaml": OTHER["other.yaml"]}) != []
