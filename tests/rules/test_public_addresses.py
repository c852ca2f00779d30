"""Public addresses of nodes with several network interfaces, in YAML, a chart and Terraform."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.manifests import nodeclass, nodepool
from tests.repositories import write_files

Run = Callable[..., CompletedProcess[str]]
TYPES = "key: node.kubernetes.io/instance-type, operator: In, values: [%s]"
JOB = """apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  template:
    spec:
      restartPolicy: Never
      nodeSelector: {karpenter.sh/nodepool: default}
      containers: [{name: a, image: a, resources: {limits: {%s: 1, cpu: 4}}}]
"""
INTERFACES = """networkInterfaces:
    - {networkCardIndex: 0, deviceIndex: 0, interfaceType: interface}
    - {networkCardIndex: 1, deviceIndex: 1, interfaceType: efa-only}"""


def as_chart(text: str) -> dict[str, str]:
    templated = text.replace("associatePublicIPAddress: true", "associatePublicIPAddress: {{ .Values.public }}")
    chart = {
        "chart/Chart.yaml": "apiVersion: v2\nname: nodes\nversion: 0.1.0\n",
        "chart/values.yaml": "public: true\n",
    }
    return chart | {"chart/templates/pool.yaml": templated}


def as_terraform(text: str) -> dict[str, str]:
    body = "".join(f"    {line}\n" for line in text.splitlines())
    return {"main.tf": f'resource "kubectl_manifest" "nodes" {{\n  yaml_body = <<-YAML\n{body}  YAML\n}}\n'}


FORMS: dict[str, Callable[[str], dict[str, str]]] = {
    "yaml": lambda text: {"pool.yaml": text},
    "chart": as_chart,
    "terraform": as_terraform,
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("extra", "count"), [(f"\n  {INTERFACES}", 1), ("", 0)])
def test_several_interfaces_of_the_class(tmp_path: Path, nodelint: Run, form: str, extra: str, count: int) -> None:
    text = nodeclass(f"associatePublicIPAddress: true{extra}")
    write_files(tmp_path, {".git/HEAD": "", **FORMS[form](text)})
    shown = nodelint("check", "--select", "public-address-refused", "--output-format", "concise", str(tmp_path))
    assert shown.stdout.count("[public-address-refused]") == count


@pytest.mark.parametrize(
    ("types", "resource", "count"),
    [
        ("p5.48xlarge", "vpc.amazonaws.com/efa", 1),
        ("g6.8xlarge", "vpc.amazonaws.com/efa", 0),
        ("p5.48xlarge, g6.8xlarge", "vpc.amazonaws.com/efa", 0),
        ("p5.48xlarge", "nvidia.com/gpu", 0),
    ],
)
def test_pods_that_ask_for_efa(tmp_path: Path, nodelint: Run, types: str, resource: str, count: int) -> None:
    nodes = f"{nodepool(TYPES % types)}---\n{nodeclass('associatePublicIPAddress: true')}"
    write_files(tmp_path, {".git/HEAD": "", "pool.yaml": nodes, "job.yaml": JOB % resource})
    shown = nodelint("check", "--output-format", "concise", str(tmp_path))
    assert shown.stdout.count("[public-address-refused]") == count
