"""`fit` beside NodePools that it does not judge: that no pool takes a pod is said only where none of these may."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from nodelint.fit.admission import tolerations_for
from nodelint.fit.pods import pod_of
from nodelint.model.cluster_objects import PATTERN, Workload
from nodelint.model.documents import objects
from nodelint.text import Source
from tests.manifests import nodeclass, nodepool
from tests.repositories import write_files

Run = Callable[..., CompletedProcess[str]]
ARM = "key: kubernetes.io/arch, operator: In, values: [arm64]"
POD = "apiVersion: v1\nkind: Pod\nmetadata: {{name: web}}\nspec: {{containers: [{{name: a, image: a}}], {}}}\n"


def auto_mode(*requirements: str, template: str = "", name: str = "auto") -> str:
    """A NodePool of EKS Auto Mode."""
    made = nodepool(*requirements, name=name, template=template)
    return made.replace("group: karpenter.k8s.aws, kind: EC2NodeClass", "group: eks.amazonaws.com, kind: NodeClass")


OWN = auto_mode("key: team, operator: In, values: [a]")
HALF = (
    'apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: "x-{{ .Values.x }}"}\nspec:\n{{ .Values.spec }}\n'
)


@pytest.mark.parametrize(
    ("other", "message", "decided"),
    [
        ("", "nodeSelector: {team: a}", True),
        (HALF, "nodeSelector: {team: a}", False),
    ],
)
def test_a_pool_that_is_not_judged_may_take_a_pod(
    nodelint: Run, tmp_path: Path, other: str, message: str, decided: bool
) -> None:
    pools = f"{nodepool(ARM)}---\n{nodeclass()}"
    write_files(tmp_path, {"pools.yaml": pools, "other.yaml": other or "{}\n", "web.yaml": POD.format(message)})
    done = nodelint("fit", ".", "--format", "json")
    found = json.loads(done.stdout)
    assert [len(found["workloads"]), len(found["skipped"])] == [decided, not decided], found
    assert done.returncode == decided
    reasons = [reason for skip in found["skipped"] for reason in skip["reasons"]]
    assert all(reason.endswith("is not judged, and may take it") for reason in reasons)


def test_a_pod_that_a_judged_pool_takes_is_decided(nodelint: Run, tmp_path: Path) -> None:
    write_files(tmp_path, {"pools.yaml": f"{nodepool(ARM)}---\n{nodeclass()}---\n{HALF}"})
    write_files(tmp_path, {"web.yaml": POD.format("nodeSelector: {kubernetes.io/arch: arm64}")})
    (web,) = json.loads(nodelint("fit", ".", "--format", "json").stdout)["workloads"]
    assert [entry["fits"] for entry in web["pools"]] == [True]


def test_eks_adds_tolerations_for_extended_resources_alone() -> None:
    """`IsExtendedResourceName` of Kubernetes: a domain that is not its own, and no quota of requests."""
    names = ("cpu", "example.com/a", "kubernetes.io/a", "own.kubernetes.io/a", "requests.example.com/a")
    requests = ", ".join(f"{name}: 1" for name in names)
    text = POD.format("").replace("image: a", f"resources: {{requests: {{{requests}}}}}")
    (workload,) = objects(Source.from_text("web.yaml", text, PATTERN), more=True)
    assert isinstance(workload, Workload)
    pod = pod_of(workload)
    assert pod is not None
    assert [toleration.key for toleration in tolerations_for(pod)] == ["example.com/a"]
