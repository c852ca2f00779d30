"""What is known of the releases after 1.14.1, row by row: where each fact stands in the data."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from nodelint.data import table
from nodelint.drift.hashes import version
from nodelint.model.releases import RELEASES, KubernetesVersion, Version, behaves, supported
from nodelint.model.support import EksSupport, eks_support, karpenter_support
from tests.conftest import ROOT

Run = Callable[..., CompletedProcess[str]]


def schema(name: str, *steps: str) -> Any:
    found = json.loads((ROOT / "schemas" / f"{name}.schema.json").read_text(encoding="utf-8"))
    for step in steps:
        found = found[int(step)] if isinstance(found, list) else found[step]
    return found


def of_setting(value: str) -> dict[str, Any]:
    return next(row for row in table("settings")["settings"] if value in (row.get("value"), row.get("variable")))


NEW_RELEASES = {"1.9.3": "2027-02", "1.14.2": "2027-07", "1.14.3": "2027-07", "1.15.0": None, "1.15.1": None}


@pytest.mark.parametrize(("release", "until"), NEW_RELEASES.items())
def test_a_release_is_known_with_its_end_of_support(release: str, until: str | None) -> None:
    assert Version.parse(release) in RELEASES
    assert karpenter_support(Version.parse(release)) == until


@pytest.mark.parametrize(
    ("release", "kubernetes", "is_supported"),
    [("1.14.3", "1.37", False), ("1.15.0", "1.37", True), ("1.15.1", "1.37", True), ("1.15.1", "1.38", False)],
)
def test_kubernetes_of_a_release(release: str, kubernetes: str, is_supported: bool) -> None:
    assert (KubernetesVersion.parse(kubernetes) in supported(Version.parse(release))) == is_supported


EKS = {
    "1.36": ("2027-08-02", "2028-08-02"),
    "1.35": ("2027-03-27", "2028-03-27"),
    "1.34": ("2026-12-02", "2027-12-02"),
    "1.33": ("2026-07-29", "2027-07-29"),
    "1.32": ("2026-03-23", "2027-03-23"),
}


@pytest.mark.parametrize(("kubernetes", "days"), EKS.items())
def test_days_of_eks(kubernetes: str, days: tuple[str, str]) -> None:
    assert eks_support(KubernetesVersion.parse(kubernetes)) == EksSupport(*days)


def test_the_last_day_of_1_31_on_eks() -> None:
    days = eks_support(KubernetesVersion.parse("1.31"))
    assert days is not None
    assert days.extended == "2026-11-26"


def test_hash_versions() -> None:
    assert version("EC2NodeClass", Version.parse("1.14.3")) == "v5"
    assert version("EC2NodeClass", Version.parse("1.15.0")) == "v6"
    assert version("NodePool", Version.parse("1.15.1")) == "v3"


def test_crds() -> None:
    reasons = ("properties", "spec", "properties", "disruption", "properties", "budgets", "items", "properties")
    values = schema("nodepool-v1", *reasons, "reasons", "items")
    assert values["enum"] == ["Underutilized", "Empty", "Drifted", "Unhealthy"]
    assert values["x-karpenter-values"]["Unhealthy"]["since"] == "1.15.0"
    enclaves = schema("ec2nodeclass-v1", "properties", "spec", "properties", "enclaveOptions")
    assert (enclaves["required"], enclaves["x-karpenter-since"]) == (["enabled"], "1.15.0")


GATES = {
    "TerminateFirstDrift": None,
    "TerminateFirstRepair": None,
    "PodDeletionCostManagement": None,
    "NodeClassCEL": "AWS_FEATURE_GATES",
    "DRANVIDIAGPU": "AWS_FEATURE_GATES",
    "DRAEFA": "AWS_FEATURE_GATES",
    "RebootForRepair": "AWS_FEATURE_GATES",
}


@pytest.mark.parametrize(("gate", "variable"), GATES.items())
def test_a_gate_is_new_and_off(gate: str, variable: str | None) -> None:
    row = next(row for row in table("settings")["gates"] if row["gate"] == gate)
    assert (row["releases"], row.get("on"), row.get("list")) == (">=1.15.0", None, variable)


@pytest.mark.parametrize(
    "name",
    [
        "settings.securityGroupRefreshInterval",
        "settings.legacyNodeRepair",
        "AWS_FEATURE_GATES",
        "settings.enableDRA",
        "SCHEDULER_CONFIG",
    ],
)
def test_a_setting_is_new(name: str) -> None:
    assert of_setting(name)["releases"] == ">=1.15.0"


def test_the_chart_has_no_value_for_the_schedulers_configuration() -> None:
    assert "value" not in of_setting("SCHEDULER_CONFIG")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("kubelet-free-form", "spec.kubelet"),
        ("hash-v6", "spec.enclaveOptions"),
        ("enclave-options", "Nitro Enclaves"),
        ("nvidia-consumable-capacity", "DRANVIDIAGPU"),
        ("nitro-sandbox", "not certain"),
        ("consolidate-after-optional", "0s"),
        ("do-not-repair", "not repaired"),
        ("pod-deletion-cost", "karpenter.sh/disruption-cost"),
        ("graceful-repair", "replacement first"),
        ("repair-blocked", "budget of 0"),
        ("unhealthy-reason", "CRDs"),
        ("gates-1.15", "off by default"),
        ("aws-gates-1.15", "off by default"),
        ("scheduler-config", "topology spread"),
        ("enable-dra-alone", "does not render"),
        ("legacy-repair-alone", "TerminateFirstRepair"),
        ("efa-claims", "DRAEFA"),
        ("reboot-instances", "ec2:RebootInstances"),
        ("two-certificates", "two certificates"),
        ("volume-limits", "attach"),
        ("full-reservations", "full"),
        ("late-labels", "label"),
        ("metrics-1.15", "reason"),
        ("kubernetes-1.37", "1.37"),
        ("support-1.15", "1.16.0"),
        ("auto-mode-balanced", "Balanced"),
    ],
)
def test_a_change_is_a_row_of_upgrade(change: str, words: str) -> None:
    row = next(row for row in table("upgrade")["changes"] if row["id"] == change)
    assert row["releases"].startswith((">=1.15.0", ">=1.15.1"))
    assert words in row["text"]
    assert row["source"]


@pytest.mark.parametrize(
    ("defect", "fixed"),
    [
        ("shared-virtualization-offerings", ["1.14.2", "1.15.0"]),
        ("refused-spot-price", ["1.14.3", "1.15.0"]),
        ("relaxed-min-values", ["1.14.3", "1.15.0"]),
    ],
)
def test_a_defect_is_fixed_in(defect: str, fixed: list[str]) -> None:
    assert table("versions")["defects"][defect]["fixed"] == fixed


@pytest.mark.parametrize(
    ("behaviour", "since"),
    [("open-kubelet", "1.15.0"), ("checks-enclaves", "1.15.0"), ("graceful-repair", "1.15.0")],
)
def test_a_behaviour_begins_with(behaviour: str, since: str) -> None:
    assert behaves(behaviour, Version.parse(since))
    assert not behaves(behaviour, Version.parse("1.14.3"))


@pytest.mark.parametrize(
    "reason",
    [
        "KubeletExpressionsDisabled",
        "KubeletExpressionInvalid",
        "KubeletExpressionEval",
        "UnsupportedKubeletConfiguration",
        "NitroEnclavesDisabled",
        "UserDataSizeLimitExceeded",
    ],
)
def test_a_reason_is_known_to_triage(reason: str) -> None:
    assert any(reason in json.dumps(cause["says"]) for cause in table("triage")["causes"])


FIRST_AL2023 = {
    "1.31": "v20240917",
    "1.32": "v20241225",
    "1.33": "v20250519",
    "1.34": "v20250915",
    "1.35": "v20260114",
    "1.36": "v20260610",
}


def test_first_images_of_al2023() -> None:
    first = table("images")["families"]["al2023"]["first"]
    assert FIRST_AL2023.items() <= first.items()


def test_upgrade_names_the_days_of_eks_and_the_annotation(nodelint: Run, tmp_path: Path) -> None:
    (tmp_path / "class.yaml").write_text(
        "apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\n"
        "metadata: {name: a, annotations: {karpenter.k8s.aws/nvidia-consumable-capacity: memory}}\n"
        "spec: {role: nodes, amiSelectorTerms: [{alias: al2023@v20260610}],"
        " subnetSelectorTerms: [{id: subnet-1}], securityGroupSelectorTerms: [{id: sg-1}]}\n"
    )
    done = nodelint("upgrade", ".", "--from", "1.14.1", "--to", "1.15.1", "--kubernetes-version", "1.34")
    output = " ".join(done.stdout.split())
    assert "EKS: Kubernetes 1.34 has standard support until 2026-12-02, extended until 2027-12-02." in output
    assert "karpenter.k8s.aws/nvidia-consumable-capacity" in output
