"""Pools and classes in values, whose chart is not there: their lines are judged, and nothing that they lack."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from nodelint.model.documents import left_out, objects
from nodelint.text import Source

Run = Callable[..., subprocess.CompletedProcess[str]]

VALUES = """\
clusterName: main
nodePools:
  batch:
    # the chart names it
    requirements:
      - key: karpenter.k8s.aws/instance-category
        operator: In
        values: [c7i]
      - {key: kubernetes.io/arch, operator: In, values: [amd64]}
    limits: {resources: {cpu: 10}}
    disruption: {consolidateAfter: 5s, mode: gentle}
  web:
    requirements:
      - {key: karpenter.k8s.aws/instance-family, operator: In, values: [m7i]}
      - {key: karpenter.k8s.aws/instance-generation, operator: Lt, values: ["6"]}
    disruption: {consolidationPolicy: WhenEmptyOrUnderutilized, consolidateAfter: 5s}
ec2NodeClass:
  amiSelectorTerms:
    - alias: al2@latest
  subnetSelectorTerms:
    id: subnet-1
  blockDeviceMappings:
    - deviceName: /dev/xvda
      ebs: {volumeSize: 100Gi}
"""


def indented(text: str, by: int) -> str:
    return "".join(" " * by + line for line in text.splitlines(keepends=True))


APPLICATION = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: pools}
spec:
  source:
    chart: pools
    helm:
      values: |
""" + indented(VALUES, 8)
RELEASE = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: pools}
spec:
  values:
""" + indented(VALUES, 4)
TERRAFORM = (
    'resource "helm_release" "pools" {\n  chart = "pools"\n  values = [<<-EOT\n'
    + indented(VALUES.replace("main", "${local.name}"), 4)
    + "    EOT\n  ]\n}\n"
)
FILES = {"values-prod.yaml": VALUES, "app.yaml": APPLICATION, "release.yaml": RELEASE, "main.tf": TERRAFORM}


def test_values_of_a_chart_that_is_elsewhere(nodelint: Run, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    (tmp_path / "values.yaml").write_text(VALUES)
    done = nodelint("check", "--profile", "strict", ".", cwd=tmp_path)
    assert done.stdout == snapshot


@pytest.mark.parametrize("name", FILES)
def test_wherever_values_stand_the_same_is_said_and_mended(nodelint: Run, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(FILES[name])
    output = nodelint("check", "--profile", "strict", "--format", "concise", ".", cwd=tmp_path).stdout
    rules = [
        "value-of-another-key",
        "no-instance-type",
        "unsupported-alias",
        "unencrypted-volume",
        "one-zone",
    ]
    assert [rule in output for rule in rules] == [True] * len(rules), output
    assert [line.startswith(f"{name}:") for line in output.splitlines()].count(True) == len(rules)
    nodelint("check", "--fix", ".", cwd=tmp_path)
    assert (tmp_path / name).read_text() == FILES[name]  # what the chart makes of it is not known: no fix is safe
    nodelint("check", "--fix", "--unsafe-fixes", "--select", "value-of-another-key", ".", cwd=tmp_path)
    after = (tmp_path / name).read_text()
    assert after == FILES[name].replace("instance-category", "instance-family")


@pytest.mark.parametrize(
    "text",
    [
        "karpenter: {requirements: [{name: numpy, version: '1'}]}\n",
        "karpenter: {requirements: [{key: team, operator: In, values: [a]}]}\n",
        "karpenter: true\nsubnetSelectorTerms: {tags: {a: b}}\n",
        "karpenter: {requirements: []}\n",
        "suite: pools\ntests:\n  - it: works\n    set:\n" + indented(VALUES, 6),
        VALUES.replace("clusterName: main", "apiVersion: example.com/v1\nkind: Fleet"),
    ],
)
def test_what_is_no_pool_to_whatever_chart_is_left_alone(text: str) -> None:
    assert list(objects(Source.from_text("values.yaml", text), more=True)) == []


def test_only_checks_see_what_charts_make_of_values() -> None:
    source = Source.from_text("values.yaml", VALUES)
    assert [obj.kind for obj in objects(source, more=True)] == ["NodePool", "NodePool", "EC2NodeClass"]
    assert list(objects(source)) == [] == list(left_out(source))


def test_a_chart_beside_its_values_says_what_becomes_of_them(nodelint: Run, tmp_path: Path) -> None:
    template = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: karpenter.k8s.aws/instance-generation, operator: Gt, values: ["4"]}
        {{- toYaml .Values.requirements | nindent 8 }}
"""
    values = "requirements:\n  - {key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m]}\n"
    (tmp_path / "templates").mkdir()
    (tmp_path / "Chart.yaml").write_text("apiVersion: v2\nname: pools\nversion: 0.1.0\n")
    (tmp_path / "values.yaml").write_text(values)
    select = ("--select", "old-generations", "--format", "concise", ".")
    assert "old-generations" in nodelint("check", *select, cwd=tmp_path).stdout
    (tmp_path / "templates" / "pool.yaml").write_text(template)
    output = nodelint("check", *select, cwd=tmp_path).stdout
    assert "old-generations" not in output
    assert "1 object " in output


CHART_OF_BLUEPRINTS = """\
ec2NodeClass:
  karpenterRole: nodes
  subnetSelectorTerms: {id: subnet-1}
  instanceStorePolicy: RAID0
nodePool:
  taints: [{key: nvidia.com/gpu, effect: NoSchedule}]
  requirements:
    - {key: karpenter.k8s.aws/instance-family, operator: In, values: [FAMILY]}
    - {key: kubernetes.io/arch, operator: In, values: [amd64]}
  limits: {cpu: 1000}
"""


def _check_output(nodelint: Run, folder: Path, text: str, *options: str) -> str:
    (folder / "pools.tf").write_text(TERRAFORM.replace(indented(VALUES.replace("main", "${local.name}"), 4), text))
    return nodelint("check", "--profile", "strict", "--format", "concise", *options, ".", cwd=folder).stdout


def test_a_policy_of_disks_is_held_against_the_pool_beside_it(nodelint: Run, tmp_path: Path) -> None:
    only = ("--select", "instance-store-without-disks")
    output = _check_output(nodelint, tmp_path, indented(CHART_OF_BLUEPRINTS.replace("FAMILY", "m5"), 4), *only)
    assert "`RAID0` has no effect: none of the" in output
    output = _check_output(nodelint, tmp_path, indented(CHART_OF_BLUEPRINTS.replace("FAMILY", "m5d"), 4), *only)
    assert "RAID0" not in output
    other = CHART_OF_BLUEPRINTS.replace("FAMILY", "m5") + "other:\n" + CHART_OF_BLUEPRINTS.partition("nodePool:\n")[2]
    output = _check_output(nodelint, tmp_path, indented(other.replace("FAMILY", "m5d"), 4), *only)
    assert "RAID0" not in output, "either pool may be the one of the class"


@pytest.mark.parametrize(
    ("family", "limits", "expected"),
    [
        ("g5", "{cpu: 1000}", True),
        ("g5", "{cpu: 1000, nvidia.com/gpu: 8}", False),
        ("g5", "{resources: {cpu: 1000}}", False),
        ("g5", "{}", False),
        ("m5", "{cpu: 1000}", False),
    ],
)
def test_limits_that_count_no_gpus(nodelint: Run, tmp_path: Path, family: str, limits: str, expected: bool) -> None:
    text = CHART_OF_BLUEPRINTS.replace("FAMILY", family).replace("{cpu: 1000}", limits)
    found = _check_output(nodelint, tmp_path, indented(text, 4), "--select", "no-limits")
    assert ("info[no-limits]: no limit covers GPUs" in found) is expected, found


@pytest.mark.parametrize(
    ("stated", "judged"),
    [("0.37.0", "states 0.37.0, which is older"), ("1.2.1", "Karpenter 1.2.1, by addons.tf:3")],
)
def test_the_release_that_installs_karpenter_is_that_of_values(
    nodelint: Run, tmp_path: Path, stated: str, judged: str
) -> None:
    addons = f'module "addons" {{\n  karpenter = {{\n    chart_version = "{stated}"\n  }}\n}}\n'
    (tmp_path / "addons.tf").write_text(addons)
    assert judged in _check_output(nodelint, tmp_path, indented(CHART_OF_BLUEPRINTS.replace("FAMILY", "m5"), 4))


def test_one_subnet_is_one_zone(nodelint: Run, tmp_path: Path) -> None:
    text = CHART_OF_BLUEPRINTS.replace("FAMILY", "m5").replace("subnet-1", "${module.vpc.private_subnets[2]}")
    only = ("--select", "one-zone")
    assert "pools.tf:6:33: info[one-zone]: the class has one subnet in one zone" in _check_output(
        nodelint, tmp_path, indented(text, 4), *only
    )
    assert "[one-zone]" not in _check_output(
        nodelint, tmp_path, indented(text.replace("${module.vpc.private_subnets[2]}", ""), 4), *only
    )
    several = indented(text, 4).replace("private_subnets[2]", "private_subnets")
    assert "[one-zone]" not in _check_output(nodelint, tmp_path, several, *only)


@pytest.mark.parametrize(
    ("subnet", "families", "found"), [("b", "m5", 0), ("a", "m5", 1), ("b", "c5", 1), ("b", "m5, c5", 0)]
)
def test_a_class_for_each_zone_is_meant(
    nodelint: Run, tmp_path: Path, subnet: str, families: str, found: int
) -> None:
    def pair(name: str, subnet: str, families: str) -> str:
        return f"""\
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {{name: {name}}}
spec:
  template:
    spec:
      nodeClassRef: {{group: karpenter.k8s.aws, kind: EC2NodeClass, name: {name}}}
      requirements: [{{key: karpenter.k8s.aws/instance-family, operator: In, values: [{families}]}}]
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {{name: {name}}}
spec:
  role: nodes
  amiSelectorTerms: [{{alias: al2023@v20250403}}]
  subnetSelectorTerms: [{{id: subnet-{subnet}}}]
  securityGroupSelectorTerms: [{{tags: {{a: b}}}}]
"""

    (tmp_path / "pools.yaml").write_text(pair("one", "a", "m5") + pair("two", subnet, families))
    output = nodelint("check", "--select", "one-zone", "--format", "concise", ".", cwd=tmp_path).stdout
    assert output.count("info[one-zone]") == output.count("(and 1 more EC2NodeClass)") == found, output


@pytest.mark.parametrize(
    ("subnet", "expected"),
    [
        ("aws_subnet.public[0].id", True),
        ("aws_subnet.public_a.id", True),
        ("module.vpc.public_subnets[0]", True),
        ("module.vpc.private_subnets[0] # not module.vpc.public_subnets", False),
        ("aws_subnet.private[0].id", False),
        ("var.subnet", False),
    ],
)
def test_subnets_that_terraform_calls_public_are_told(
    nodelint: Run, tmp_path: Path, subnet: str, expected: bool
) -> None:
    text = f"""\
resource "kubectl_manifest" "class" {{
  yaml_body = yamlencode({{
    apiVersion = "karpenter.k8s.aws/v1"
    kind       = "EC2NodeClass"
    metadata   = {{ name = "default" }}
    spec = {{
      role                       = "nodes"
      amiSelectorTerms           = [{{ alias = "al2023@latest" }}]
      securityGroupSelectorTerms = [{{ id = "sg-0123456789abcdef0" }}]
      subnetSelectorTerms = [
        {{
          id = {subnet}
        }}
      ]
    }}
  }})
}}
"""
    (tmp_path / "main.tf").write_text(text, encoding="utf-8")
    output = nodelint("check", "--select", "public-nodes", "--format", "concise", "main.tf", cwd=tmp_path).stdout
    assert ("[public-nodes]" in output) == expected, output
