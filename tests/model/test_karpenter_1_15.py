"""Karpenter 1.15: repositories that pin it, Nitro Enclaves, and the causes that its classes give."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from nodelint.ec2.catalog import Catalog
from nodelint.model.releases import Version
from nodelint.triage import triage
from tests.model.test_newer_releases import CLASS, PAIR, POOL

Run = Callable[..., CompletedProcess[str]]
TYPES = Catalog.bundled().date

HELM = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: karpenter}
spec:
  chart: {spec: {chart: karpenter, version: 1.15.1}}
  values: {settings: {clusterName: main}}
"""
ARGO = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: karpenter}
spec:
  source: {repoURL: public.ecr.aws/karpenter, chart: karpenter, targetRevision: 1.15.1}
"""
TERRAFORM = """\
resource "helm_release" "karpenter" {
  name       = "karpenter"
  repository = "oci://public.ecr.aws/karpenter"
  chart      = "karpenter"
  version    = "1.15.1"
}
"""
VALUES = """\
# karpenter
controller: {image: {repository: public.ecr.aws/karpenter/controller, tag: 1.15.1}}
settings: {clusterName: main}
"""
PINS = {
    "helmrelease": ("release.yaml", HELM),
    "argo": ("application.yaml", ARGO),
    "terraform": ("karpenter.tf", TERRAFORM),
    "values": ("values.yaml", VALUES),
}
NEW = PAIR.replace('{nodes: "10%"}', '{nodes: "10%"}, {nodes: "2", reasons: [Unhealthy]}').replace(
    "  role: nodes\n", "  role: nodes\n  enclaveOptions: {enabled: true}\n"
)


@pytest.mark.parametrize("pin", PINS)
def test_a_repository_that_pins_it(nodelint: Run, tmp_path: Path, pin: str) -> None:
    name, text = PINS[pin]
    (tmp_path / name).write_text(text, encoding="utf-8")
    for pair in (PAIR, NEW):
        (tmp_path / "pair.yaml").write_text(pair, encoding="utf-8")
        done = nodelint("check")
        assert (done.returncode, done.stderr) == (0, "")
        assert "for Karpenter 1.15.1" in done.stdout and f"by {name}:" in done.stdout
    assert "Karpenter 1.15.1, Kubernetes" in nodelint("explain", "pair.yaml").stdout
    older = nodelint("check", "--karpenter-version", "1.14.3").stdout
    assert older.count("needs Karpenter 1.15.0") == 2


@pytest.mark.parametrize("pin", PINS)
def test_what_a_pin_says_counts_for_hash_plan_and_upgrade(nodelint: Run, tmp_path: Path, pin: str) -> None:
    name, text = PINS[pin]
    for side, change in (("old", ""), ("new", "  enclaveOptions: {enabled: true}\n")):
        (tmp_path / side).mkdir()
        (tmp_path / side / name).write_text(text, encoding="utf-8")
        pair = PAIR.replace("  role: nodes\n", f"  role: nodes\n{change}")
        (tmp_path / side / "pair.yaml").write_text(pair, encoding="utf-8")

    objects = json.loads(nodelint("hash", "--format", "json", "old").stdout)["objects"]
    assert [(obj["karpenter"], obj["hashVersion"]) for obj in objects] == [("1.15.1", "v3"), ("1.15.1", "v6")]

    plan = json.loads(nodelint("plan", "--old", "old", "new", "--format", "json").stdout)
    assert [(pool["name"], pool["replaced"]) for pool in plan["nodePools"]] == [("default", "all")]

    older = text.replace("1.15.1", "1.14.1")
    assert older != text
    (tmp_path / "old" / name).write_text(older, encoding="utf-8")
    flags = ("--to", "1.15.1", "--kubernetes-version", "1.36", "--fail-on", "never", "--format", "json")
    done = nodelint("upgrade", *flags, "old")
    assert done.stdout, done.stderr
    report = json.loads(done.stdout)
    assert report["route"]["trouble"] == []
    assert "hash-v6" in {change["id"] for change in report["changes"]}


@pytest.mark.parametrize(
    ("old", "new", "replaced"),
    [
        ("", "", "none"),
        ("", "  enclaveOptions: {enabled: true}\n", "all"),
        ("", "  enclaveOptions: {enabled: false}\n", "all"),
        ("  enclaveOptions: {enabled: true}\n", "", "all"),
        ("  enclaveOptions: {enabled: true}\n", "  enclaveOptions: {enabled: false}\n", "all"),
        ("  enclaveOptions: {enabled: true}\n", "  enclaveOptions:\n    enabled: true\n", "none"),
    ],
)
def test_a_change_of_enclaves_replaces_all_nodes_of_the_class(
    nodelint: Run, tmp_path: Path, old: str, new: str, replaced: str
) -> None:
    for side, lines, weight in (("old", old, 1), ("new", new, 2)):
        (tmp_path / side).mkdir()
        text = POOL.replace("  limits:", f"  weight: {weight}\n  limits:") + CLASS
        text = text.replace("  role: nodes\n", f"  role: nodes\n{lines}")
        (tmp_path / side / "pair.yaml").write_text(text, encoding="utf-8")
    done = nodelint("plan", "--old", "old", "new", "--karpenter-version", "1.15.1", "--format", "json")
    (pool,) = json.loads(done.stdout)["nodePools"]
    assert pool["replaced"] == replaced
    assert [reason["field"].startswith("spec.enclaveOptions") for reason in pool["reasons"]] == [True] * (
        replaced == "all"
    )


def test_the_hash_of_a_class_with_enclaves_cannot_be_known(nodelint: Run, tmp_path: Path) -> None:
    (tmp_path / "pair.yaml").write_text(NEW, encoding="utf-8")
    pool, node_class = json.loads(nodelint("hash", "--format", "json").stdout)["objects"]
    assert pool["hash"] == "6821555240594823858"
    assert (node_class["hash"], node_class["hashVersion"]) == (None, "v6")
    assert node_class["reason"].startswith("spec.enclaveOptions: it counts in the hash")


@pytest.mark.parametrize("old", ["1.14.1", "1.9.2"])
def test_the_way_there_from_a_cluster_of_kubernetes_1_37(nodelint: Run, tmp_path: Path, old: str) -> None:
    (tmp_path / "pair.yaml").write_text(PAIR, encoding="utf-8")
    flags = ("upgrade", "--from", old, "--to", "1.15.1", "--kubernetes-version", "1.37", "--format", "json")
    report = json.loads(nodelint(*flags, "--fail-on", "never", "pair.yaml").stdout)
    assert report["route"]["kubernetes"]["to"] == {"min": "1.26", "max": "1.37"}
    assert report["route"]["trouble"] == []
    assert len(report["route"]["healed"]) == 1  # the release that is left does not take it
    assert "hash-v6" in {change["id"] for change in report["changes"]}
    support = {entry["minor"]: entry["until"] for entry in report["route"]["support"]}
    assert support["1.15"] is None
    assert support["1.14"] == "2027-07"


CONDITION = """\
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {{name: web}}
status:
  conditions:
    - {{type: ValidationSucceeded, status: "False", reason: {reason}, message: "{message}",
       lastTransitionTime: "2026-11-01T00:00:00Z"}}
"""


@pytest.mark.parametrize(
    ("reason", "cause"),
    [
        ("KubeletExpressionsDisabled", "kubelet-expressions-off"),
        ("KubeletExpressionInvalid", "kubelet-expression-invalid"),
        ("KubeletExpressionEvalFailed", "kubelet-expression-failed"),
        ("KubeletExpressionEvaluationFailed", "kubelet-expression-failed"),
        ("UnsupportedKubeletConfiguration", "kubelet-field-unsupported"),
        ("UserDataSizeLimitExceeded", "user-data-size"),
        ("CreateFleetAuthCheckFailed", "permission-refused"),
    ],
)
def test_a_class_that_is_not_valid_is_told_by_its_reason(reason: str, cause: str) -> None:
    text = CONDITION.format(reason=reason, message="see the class")
    found = triage(text.encode().splitlines(keepends=True))
    assert [(group.cause and group.cause.id, group.verdict) for group in found.groups] == [(cause, "stays")]


@pytest.mark.parametrize(
    ("message", "release", "cause", "verdict"),
    [
        ("NitroEnclavesDisabled: eks.amazonaws.com/nitro-sandbox is asked for", "1.15.1", "enclaves-off", "stays"),
        ("SpotMaxPriceTooLow: your Spot request price is lower", "1.14.3", "spot-price", "passes"),
        ("SpotMaxPriceTooLow: your Spot request price is lower", "1.14.2", "spot-price", "stays"),
    ],
)
def test_a_launch_that_fails_is_told_by_its_release(message: str, release: str, cause: str, verdict: str) -> None:
    line = {
        "level": "ERROR",
        "time": "2026-11-01T00:00:00.000Z",
        "logger": "controller",
        "message": "failed launching nodeclaim",
        "error": message,
        "controller": "nodeclaim.lifecycle",
        "NodeClaim": {"name": "web-1"},
    }
    found = triage([json.dumps(line).encode() + b"\n"], Version.parse(release))
    assert [(group.cause and group.cause.id, group.verdict) for group in found.groups] == [(cause, verdict)]


@pytest.mark.parametrize(
    ("alias", "kubernetes", "found"),
    [
        ("al2023@v20240807", "1.33", True),
        ("al2023@v20250518", "1.33", True),
        ("al2023@v20250519", "1.33", False),
        ("al2023@v20250520", "1.33", False),
        ("al2023@v20240807", None, False),
        ("al2023@v20240807", "1.37", False),  # the changelog names no image for it
        ("al2023@v20261301", None, True),
        ("al2023@v20250230", None, True),
        ("al2@v20240916", "1.31", True),
        ("al2@v20240917", "1.31", False),
        ("bottlerocket@1.46.0", "1.34", True),
        ("bottlerocket@v1.47.0", "1.34", False),
        ("bottlerocket@1.20.0", "1.33", False),
        ("al2023@latest", "1.36", False),
    ],
)
def test_an_image_that_is_older_than_the_clusters_kubernetes(
    nodelint: Run, tmp_path: Path, alias: str, kubernetes: str | None, found: bool
) -> None:
    (tmp_path / "pair.yaml").write_text(PAIR.replace("al2023@v20260610", alias), encoding="utf-8")
    flags = () if kubernetes is None else ("--kubernetes-version", kubernetes)
    done = nodelint("check", "--select", "unsupported-alias", "--format", "json", *flags)
    assert [finding["severity"] for finding in json.loads(done.stdout)["findings"]] == ["error"] * found


@pytest.mark.parametrize(
    ("alias", "mapping", "found"),
    [
        ("al2023@v20260610", "{deviceName: /dev/xvda, ebs: {volumeSize: 10Gi}}", True),
        ("al2023@v20260610", "{deviceName: /dev/xvda, ebs: {volumeSize: 19Gi}}", True),
        ("al2023@v20260610", "{deviceName: /dev/xvda, ebs: {volumeSize: 20G}}", True),
        ("al2023@v20260610", "{deviceName: /dev/xvda, ebs: {volumeSize: 20Gi}}", False),
        ("al2023@v20260610", "{deviceName: /dev/xvda, ebs: {volumeSize: 21G}}", False),
        ("al2023@v20260610", "{deviceName: /dev/xvdb, ebs: {volumeSize: 10Gi}}", False),
        ("al2023@v20260610", "{deviceName: /dev/xvda, ebs: {volumeSize: 10Gi, snapshotID: snap-1}}", False),
        ("bottlerocket@v1.66.0", "{deviceName: /dev/xvda, ebs: {volumeSize: 1Gi}}", True),
        ("bottlerocket@v1.66.0", "{deviceName: /dev/xvda, ebs: {volumeSize: 2Gi}}", False),
        ("windows2022@latest", "{deviceName: /dev/sda1, ebs: {volumeSize: 49Gi}}", True),
        ("windows2022@latest", "{deviceName: /dev/sda1, ebs: {volumeSize: 50Gi}}", False),
    ],
)
def test_a_volume_below_the_snapshot_of_the_image_never_starts(
    nodelint: Run, tmp_path: Path, alias: str, mapping: str, found: bool
) -> None:
    text = PAIR.replace("al2023@v20260610", alias) + f"  blockDeviceMappings: [{mapping}]\n"
    (tmp_path / "pair.yaml").write_text(text, encoding="utf-8")
    done = nodelint("check", "--select", "controller-check", "--format", "json")
    assert [finding["severity"] for finding in json.loads(done.stdout)["findings"]] == ["error"] * found
    other = text.replace(f"[{{alias: {alias}}}]", "[{id: ami-0123456789abcdef0}]\n  amiFamily: AL2023")
    (tmp_path / "pair.yaml").write_text(other, encoding="utf-8")
    done = nodelint("check", "--select", "controller-check", "--format", "json")
    assert json.loads(done.stdout)["findings"] == []  # what an image of one's own is made of is not known


@pytest.mark.parametrize(
    ("key", "value", "error"),
    [
        ("karpenter.k8s.aws/instance-family", "r9g", False),
        ("karpenter.k8s.aws/instance-family", "t8i", False),
        ("node.kubernetes.io/instance-type", "r9g.xlarge", False),
        ("karpenter.k8s.aws/instance-family", "r99g", False),
        ("node.kubernetes.io/instance-type", "m5.huge", True),
    ],
)
def test_a_type_that_is_newer_than_the_catalogue_is_no_error(
    nodelint: Run, tmp_path: Path, key: str, value: str, error: bool
) -> None:
    line = "        - {key: kubernetes.io/arch"
    text = PAIR.replace(line, f"        - {{key: {key}, operator: In, values: [{value}]}}\n{line}")
    (tmp_path / "pair.yaml").write_text(text.replace("[amd64]", "[amd64, arm64]"), encoding="utf-8")
    done = nodelint("check", "--format", "json")
    found = json.loads(done.stdout)["findings"]
    assert ("error" in {entry["severity"] for entry in found}) == error, found
    if error:
        assert f"nodelint knows the types of {TYPES}" in found[0]["note"]


@pytest.mark.parametrize(("enabled", "release", "expected"), [("true", "1.15.1", True), ("false", "1.15.1", False)])
def test_which_types_have_enclaves_is_said_not_to_be_known(
    nodelint: Run, tmp_path: Path, enabled: str, release: str, expected: bool
) -> None:
    text = PAIR.replace("  role: nodes\n", f"  role: nodes\n  enclaveOptions: {{enabled: {enabled}}}\n")
    (tmp_path / "pair.yaml").write_text(text, encoding="utf-8")
    done = nodelint("explain", "pair.yaml", "--karpenter-version", release)
    assert ("only AWS knows which types support Nitro Enclaves" in " ".join(done.stdout.split())) == expected
