"""Reminders of the strict profile: what was meant on purpose, and what nobody applies, is not shown."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from nodelint.lint.engine import Report
from tests.manifests import nodeclass, nodepool

Run = Callable[..., CompletedProcess[str]]
Check = Callable[..., Report]

AMD = "key: kubernetes.io/arch, operator: In, values: [amd64]"
ANY_ORDER = '{key: karpenter.sh/capacity-type, operator: In, values: ["on-demand", "spot"]}'
ALL_SPOT = '{key: karpenter.sh/capacity-type, operator: In, values: ["spot"]}'
CATEGORIES = "{key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m, r]}"
BURSTABLE = "{key: karpenter.k8s.aws/instance-family, operator: In, values: [t3, t3a]}"
ARM = "{key: kubernetes.io/arch, operator: In, values: [arm64]}"
GRAVITON = "{key: karpenter.k8s.aws/instance-family, operator: In, values: [c8g, m8g]}"
TWO_CPUS = "{key: node.kubernetes.io/instance-type, operator: In, values: [m7i.large, m6i.large]}"
TAINTED = "      taints: [{key: android, effect: NoSchedule}]\n"


@pytest.mark.parametrize(
    ("rule", "name", "template", "limits", "in_strict"),
    [
        ("capacity-order", "a", f"        - {ANY_ORDER} # spot as fallback\n", "", True),
        ("capacity-order", "a", f"        # on-demand first, then spot\n        - {ANY_ORDER}\n", "", True),
        ("capacity-order", "a", f"        - {ANY_ORDER} # both are fine\n", "", False),
        ("capacity-order", "a", f"        - {ANY_ORDER}\n", "", False),
        ("spot-only", "a", f"        - {ALL_SPOT}\n", "", True),
        ("spot-only", "a", f"        - {ALL_SPOT} # spot instances save 70 %\n", "", True),
        ("spot-only", "a", f"        # Spot only, as the task says.\n        - {ALL_SPOT}\n", "", False),
        ("tiny-types", "a", f"        - {CATEGORIES}\n".replace("c, m, r", "t, m"), "", True),
        ("tiny-types", "a", f"        - {ARM}\n", "", False),
        ("spot-only", "a", f"        # Cheaper, so no on-demand here.\n        - {ALL_SPOT}\n", "", False),
        ("spot-only", "a", f"        # If that fails, add on-demand.\n        - {ALL_SPOT}\n", "", True),
        ("burstable-only", "a", f"        - {BURSTABLE}\n", "", False),
        ("burstable-only", "prod-general", f"        - {BURSTABLE}\n", "", True),
        ("burstable-only", "nonprod", f"        - {BURSTABLE}\n", "", False),
        ("old-generations", "a", f"        - {CATEGORIES}\n", "", True),
        ("untainted-arm64", "a", f"        - {ARM}\n        - {CATEGORIES}\n{TAINTED}", "", True),
        ("untainted-arm64", "a", f"        - {ARM}\n        - {GRAVITON}\n{TAINTED}", "", False),
        ("limit-out-of-proportion", "a", f"        - {CATEGORIES}\n", "{cpu: 1000, memory: 250Gi}", True),
        ("limit-out-of-proportion", "a", f"        - {TWO_CPUS}\n", "{cpu: 1000, memory: 1000Gi}", False),
        ("limit-out-of-proportion", "a", f"        - {TWO_CPUS}\n", '{cpu: "1000"}', False),
        ("limit-out-of-proportion", "a", f"        - {TWO_CPUS}\n", "{cpu: 800}", True),
    ],
)
def test_a_reminder_is_shown_where_it_matters(
    nodelint: Run, tmp_path: Path, rule: str, name: str, template: str, limits: str, in_strict: bool
) -> None:
    text = (
        f"apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {{name: {name}}}\nspec:\n"
        f"  limits: {limits or '{cpu: 40}'}\n  template:\n    spec:\n"
        "      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}\n"
        f"      requirements:\n{template}"
    )
    (tmp_path / "pool.yaml").write_text(text, encoding="utf-8")
    shown = [
        f"[{rule}]" in nodelint("check", "--output-format", "concise", *flags, str(tmp_path)).stdout
        for flags in (["--profile", "strict"], ["--select", rule])
    ]
    assert shown == [in_strict, True]


@pytest.mark.parametrize("folder", ["old", "archive", "deprecated"])
def test_reminders_of_files_that_nobody_applies(nodelint: Run, tmp_path: Path, folder: str) -> None:
    """What is fatal is reported there as well; a run of nothing else reports all."""
    text = nodepool(AMD) + "---\n" + nodeclass()
    for name in ("live", folder):
        (tmp_path / name).mkdir()
        (tmp_path / name / "pool.yaml").write_text(text.replace("role: ", "rolle: "), encoding="utf-8")

    def rules_in(where: Path) -> set[tuple[str, str]]:
        found = nodelint("check", "--profile", "strict", "--format", "json", str(where)).stdout
        return {(Path(f["path"]).parent.name, f["rule"]) for f in json.loads(found)["findings"]}

    both = rules_in(tmp_path)
    assert {("live", "no-limits"), ("live", "unknown-field"), (folder, "unknown-field")} <= both
    assert (folder, "no-limits") not in both
    assert (folder, "no-limits") in rules_in(tmp_path / folder)


def test_another_processor_is_not_proposed_to_a_pool_that_names_its_own(check: Check) -> None:
    lines = (
        "key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m, r]",
        'key: karpenter.k8s.aws/instance-generation, operator: Gt, values: ["6"]',
        AMD,
    )
    for name, found in (("general", True), ("intel-heavy", False), ("x86", False)):
        text = nodepool(*lines, name=name) + "---\n" + nodeclass()
        assert bool(check(text, select=["amd64-only"]).results) is found, name
