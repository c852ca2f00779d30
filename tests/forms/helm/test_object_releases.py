"""A template of the CDK and a stack of Pulumi install charts of the repository with their values."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.repositories import write_files

Run = Callable[..., CompletedProcess[str]]

POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: web}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements: []
  limits: {cpu: {{ .Values.cpu | quote }}}
"""
HASH = "ab" * 32
VALUES = {"cpu": "3x"}


def chart(folder: str) -> dict[str, str]:
    head = "apiVersion: v2\nname: nodes\nversion: 0.1.0\n"
    return {f"{folder}/Chart.yaml": head, f"{folder}/values.yaml": "cpu: 100\n", f"{folder}/templates/p.yaml": POOL}


def cdk(**properties: object) -> str:
    resource = {"Type": "Custom::AWSCDK-EKS-HelmChart", "Properties": {"Release": "nodes", **properties}}
    return json.dumps({"Resources": {"Nodes": resource}}, indent=1)


def pulumi(**inputs: object) -> str:
    resource = {"type": "kubernetes:helm.sh/v3:Release", "inputs": inputs}
    return json.dumps({"version": 3, "deployment": {"resources": [resource]}}, indent=1)


ASSET = {"Fn::Sub": f"s3://cdk-assets-${{AWS::AccountId}}-${{AWS::Region}}/{HASH}.zip"}
JOINED = {"Fn::Join": ["", ['{"cpu":"3x","role":"', {"Ref": "Role"}, '"}']]}
OF_ASSET = {"cdk.out/s.template.json": cdk(ChartAssetURL=ASSET, Values=json.dumps(VALUES))}
TREES: dict[str, tuple[str, Mapping[str, str]]] = {
    "asset": (
        f"cdk.out/asset.{HASH}",
        {"cdk.out/s.template.json": cdk(ChartAssetURL=ASSET, Values=json.dumps(VALUES))},
    ),
    "path": ("charts/nodes", {"cdk.out/s.template.json": cdk(Chart="./charts/nodes", Values=json.dumps(VALUES))}),
    "joined": ("charts/nodes", {"s.template.json": cdk(Chart="./charts/nodes", Values=JOINED)}),
    "export": ("charts/nodes", {"infra/stack.json": pulumi(chart="../charts/nodes", values=VALUES)}),
}


@pytest.mark.parametrize("name", TREES)
def test_the_chart_is_judged_with_the_values(nodelint: Run, tmp_path: Path, name: str) -> None:
    folder, files = TREES[name]
    write_files(tmp_path, {".git/HEAD": "ref: refs/heads/main\n", **chart(folder), **files})
    report = json.loads(nodelint("check", "--format", "json", ".").stdout)
    found = [(finding["rule"], finding["path"]) for finding in report["findings"] if finding["severity"] == "error"]
    assert found == [("invalid-field", next(iter(files)))]


@pytest.mark.parametrize(
    "other", [{"Chart": "nginx", "Repository": "https://x.example"}, {"ChartAssetURL": "s3://b/a"}]
)
def test_a_release_of_another_chart_gives_no_values(nodelint: Run, tmp_path: Path, other: dict[str, str]) -> None:
    files = {"s.template.json": cdk(Values=json.dumps(VALUES), **other)}
    write_files(tmp_path, {".git/HEAD": "ref: refs/heads/main\n", **chart("charts/nodes"), **files})
    assert nodelint("check", ".").returncode == 0


RELEASE = """\
resource "helm_release" "nodes" {
  name   = "nodes"
  chart  = "./charts/nodes"
  values = [yamlencode({ cpu = 100, families = VALUE })]
}
"""


@pytest.mark.parametrize(
    ("value", "more"),
    [
        ('["m5", "c7-a"]', ""),
        ('["m5", local.family]', 'locals {\n  family = "c7-a"\n}\n'),
    ],
)
def test_a_literal_of_a_release_is_fixed_and_a_local_is_not(
    nodelint: Run, tmp_path: Path, value: str, more: str
) -> None:
    """A local may also decide about other values of the release."""
    family = "{key: karpenter.k8s.aws/instance-family, operator: In, values: {{ toJson .Values.families }}}"
    pool = POOL.replace("requirements: []", f"requirements: [{family}]")
    files = {**chart("charts/nodes"), "charts/nodes/templates/p.yaml": pool, "main.tf": RELEASE + more}
    write_files(tmp_path, {".git/HEAD": "ref: refs/heads/main\n", **files})
    main = tmp_path / "main.tf"
    main.write_text(main.read_text(encoding="utf-8").replace("VALUE", value), encoding="utf-8")
    (tmp_path / "charts/nodes/values.yaml").write_text("cpu: 100\nfamilies: [m5]\n", encoding="utf-8")
    done = nodelint("check", "--unsafe-fixes", ".")
    assert ('"c7a"' in main.read_text(encoding="utf-8")) == (more == ""), done.stdout
