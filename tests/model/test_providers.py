"""NodePools of EKS Auto Mode and of other providers are judged as far as core goes, and what is left is said."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from nodelint.lint.engine import Report
from nodelint.model.documents import objects
from nodelint.model.manifest import NodePool
from nodelint.text import Source
from tests.manifests import nodepool

Check = Callable[..., Report]
Run = Callable[..., subprocess.CompletedProcess[str]]

AUTO = "{group: eks.amazonaws.com, kind: NodeClass, name: default}"
TAINT = "{key: a, effect: NoSchedule}"
ZONE = "topology.kubernetes.io/zone"
OLD_ZONE = "failure-domain.beta.kubernetes.io/zone"
AZURE = "{group: karpenter.azure.com, kind: AKSNodeClass, name: default}"


def pool(ref: str, lines: str = "", more: str = "", spec: str = "") -> str:
    arch = "key: kubernetes.io/arch, operator: In, values: [amd64]"
    return nodepool(arch, name="apps", ref=ref, template=more, spec=spec) + lines


def names(report: Report) -> list[str]:
    return [r.rule.name for r in report.results]


def line(key: str, values: str, operator: str = "In") -> str:
    return f"        - {{key: {key}, operator: {operator}, values: [{values}]}}\n"


def test_of_an_old_api_of_another_provider_nothing_is_judged_and_that_is_said(check: Check) -> None:
    report = check(pool(AZURE, spec="  wieght: 3\n").replace("karpenter.sh/v1\n", "karpenter.sh/v1beta1\n"))
    assert names(report) == []
    assert [skipped.reason for skipped in report.skipped if skipped.rule is None] == [
        "a NodePool of another provider (`AKSNodeClass`): its API `v1beta1` is an old one, of which nothing is judged"
    ]


@pytest.mark.parametrize("ref", [AUTO, AZURE])
class TestWhatHoldsForEveryProvider:
    def test_a_sound_pool_is_judged_and_what_was_not_is_said(self, check: Check, ref: str) -> None:
        report = check(pool(ref))
        assert (names(report), len(report.objects), report.unjudged) == ([], 1, 0)
        of_azure = (
            "a NodePool of another provider (`AKSNodeClass`): its schema, requirements, budgets and taints are "
            "judged, and no instance types"
        )
        assert [s.reason for s in report.skipped if s.rule is None] == ([] if ref is AUTO else [of_azure])

    @pytest.mark.parametrize(
        ("text", "rule"),
        [
            ({"spec": "  wieght: 3\n"}, "unknown-field"),
            ({"spec": "  weight: none\n"}, "invalid-field"),
            ({"spec": "  disruption: {budgets: [{nodes: '0'}], consolidateAfter: 1m}\n"}, "blocking-budget"),
            ({"spec": "  disruption: {budgets: [], consolidateAfter: 1m}\n"}, "budget-gap"),
            ({"more": "      taints: [{key: a, value: Exists, effect: NoSchedule}]\n"}, "misused-taint"),
            ({"more": f"      taints: [{TAINT}, {TAINT}]\n"}, "controller-check"),
            ({"lines": line(ZONE, "us-east-1a") + line(OLD_ZONE, "us-east-1b")}, "no-instance-type"),
            ({"lines": line("kubernetes.io/arch", "arm64")}, "no-instance-type"),
            ({"lines": line("kubernetes.io/arch", "amd64", "NotIn")}, "no-instance-type"),
        ],
    )  # fmt: skip
    def test_a_mistake_that_core_knows(self, check: Check, ref: str, text: dict[str, str], rule: str) -> None:
        assert names(check(pool(ref, **text))) == [rule]

    def test_labels_and_types_that_aws_does_not_know_are_let_be(self, check: Check, ref: str) -> None:
        lines = line("a.example/b", "c") + line("eks.amazonaws.com/something-new", "d")
        if ref is AZURE:
            lines += line("node.kubernetes.io/instance-type", "Standard_D4s_v5")
            lines += line("eks.amazonaws.com/instance-gpu-name", "t9")
        assert names(check(pool(ref, lines))) == []


OPENSHIFT = "{group: karpenter.hypershift.openshift.io, kind: OpenshiftEC2NodeClass, name: default}"
GCP = "{group: karpenter.k8s.gcp, kind: GCENodeClass, name: default}"


class TestOtherClassesOfEC2:
    @pytest.mark.parametrize(
        ("ref", "lines", "expected"),
        [
            (OPENSHIFT, line("node.kubernetes.io/instance-type", "m7g.large"), ["no-instance-type"]),
            (OPENSHIFT, line("karpenter.k8s.aws/instance-family", "m7g"), ["no-instance-type"]),
            (OPENSHIFT, line("karpenter.k8s.aws/instance-family", "m5"), []),
            (OPENSHIFT, line("karpenter.hypershift.openshift.io/something", "a"), []),
            (AZURE, line("node.kubernetes.io/instance-type", "m7g.large"), []),
            (AZURE, line("karpenter.azure.com/sku-family", "D"), []),
            (GCP, line("karpenter.k8s.gcp/instance-family", "n4"), []),
        ],
    )
    def test_instance_types_are_judged_where_they_are_those_of_ec2(
        self, check: Check, ref: str, lines: str, expected: list[str]
    ) -> None:
        assert names(check(pool(ref, lines))) == expected

    def test_what_is_not_judged_is_said(self, check: Check) -> None:
        [reason] = [skip.reason for skip in check(pool(OPENSHIFT)).skipped if skip.rule is None]
        assert reason == (
            "a NodePool of another provider (`OpenshiftEC2NodeClass`): its schema, requirements, budgets, taints and "
            "instance types are judged, and its class is not"
        )


class TestAutoMode:
    def test_its_own_labels_exclude_each_other_too(self, check: Check) -> None:
        lines = line("eks.amazonaws.com/instance-generation", "'6'", "Gt") + line(
            "eks.amazonaws.com/instance-generation", "'5'", "Lt"
        )
        [result] = check(pool(AUTO, lines)).results
        assert result.rule.name == "no-instance-type"

    @pytest.mark.parametrize(
        ("key", "meant"),
        [
            ("karpenter.k8s.aws/instance-category", "eks.amazonaws.com/instance-category"),
            ("eks.amazonaws.com/instance-catgory", "eks.amazonaws.com/instance-category"),
            ("eks.amazonaws.com/something-new", None),
            ("eks.amazonaws.com/instance-category", None),
            ("team.example/instance-category", None),
        ],
    )
    def test_labels(self, check: Check, key: str, meant: str | None) -> None:
        found = check(pool(AUTO, line(key, "c"))).results
        assert [r.rule.name for r in found] == (["auto-mode-label"] if meant else [])
        assert all(f"`{meant}`" in r.finding.message for r in found)

    @pytest.mark.parametrize(
        ("lines", "rule"),
        [
            ([("instance-family", "p4, m5")], "unknown-value"),
            ([("instance-generation", "'99'")], "unknown-value"),
            ([("instance-size", "huge, large")], "unknown-value"),
            ([("instance-category", "m5, m6i")], "value-of-another-key"),
            ([("instance-family", "'m5*'")], "wildcard-value"),
            ([("instance-family", "m5, m7g")], "unmatchable-value"),
            ([("instance-family", "m5, p3")], "retired-type"),
            ([("instance-family", "m5"), ("instance-size", "nano")], "no-instance-type"),
            ([("instance-size", "small, large")], "unmatchable-value"),
            ([("instance-cpu", "'1', '2'")], "unmatchable-value"),
            ([("instance-size", "micro")], "no-instance-type"),
        ],
    )  # fmt: skip
    def test_values_are_those_of_instance_types(self, check: Check, lines: list[tuple[str, str]], rule: str) -> None:
        text = "".join(line(f"eks.amazonaws.com/{key}", values) for key, values in lines)
        assert names(check(pool(AUTO, text))) == [rule]

    def test_a_fix_writes_its_own_keys(self, check: Check) -> None:
        [result] = check(pool(AUTO, line("eks.amazonaws.com/instance-category", "m5, m6i"))).results
        assert [edit.text for edit in result.finding.edits] == ["eks.amazonaws.com/instance-family"]

    def test_a_class_of_the_same_name_is_not_its_class(self, check: Check) -> None:
        other = "---\napiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nmetadata: {name: default}\nspec:\n"
        other += "  role: nodes\n  amiSelectorTerms: [{alias: windows2022@latest}]\n"
        other += "  subnetSelectorTerms: [{id: subnet-12345678}]\n  securityGroupSelectorTerms: [{id: sg-12345678}]\n"
        text = pool(AUTO, line("kubernetes.io/os", "linux"))
        assert "no-instance-type" not in names(check(text + other))

    @pytest.mark.parametrize(
        ("capacity", "names_of_class", "found"),
        [
            ("on-demand", ("default",), ["unused-reservation"]),
            ("reserved, on-demand", ("default",), []),
            (None, ("default",), []),
            ("on-demand", ("other",), []),
            ("on-demand", ("other", "default"), ["unused-reservation"]),
        ],
    )
    def test_reservations_of_its_class_are_to_be_used(
        self, check: Check, capacity: str | None, names_of_class: tuple[str, ...], found: list[str]
    ) -> None:
        classes = "".join(
            f"---\napiVersion: eks.amazonaws.com/v1\nkind: NodeClass\nmetadata: {{name: {name}}}\nspec:\n  role: r\n"
            "  subnetSelectorTerms: [{tags: {a: b}}]\n  securityGroupSelectorTerms: [{tags: {a: b}}]\n"
            "  capacityReservationSelectorTerms: [{tags: {a: b}}]\n"
            for name in names_of_class
        )
        lines = line("karpenter.sh/capacity-type", capacity) if capacity else ""
        assert [name for name in names(check(pool(AUTO, lines) + classes)) if name != "class-of-auto-mode"] == found

    def test_reservations_that_another_of_its_pools_uses(self, check: Check) -> None:
        cls = "---\napiVersion: eks.amazonaws.com/v1\nkind: NodeClass\nmetadata: {name: default}\nspec:\n"
        cls += "  capacityReservationSelectorTerms: [{tags: {a: b}}]\n"
        first = pool(AUTO, line("karpenter.sh/capacity-type", "on-demand"))
        second = pool(AUTO, line("karpenter.sh/capacity-type", "reserved")).replace("name: apps", "name: reserved")
        third = first.replace("name: apps", "name: spot").replace("on-demand", "spot")
        assert names(check(f"{first}---\n{second}{cls}", select=["unused-reservation"])) == []
        [result] = check(f"{first}---\n{third}{cls}", select=["unused-reservation"]).results
        assert result.rule.name == "unused-reservation"
        assert (len(result.finding.also), result.finding.edits) == (2, ())

    @pytest.mark.parametrize(
        ("lines", "more", "rule"),
        [
            (line("karpenter.sh/capacity-type", "spot"), "", "spot-only"),
            (line("eks.amazonaws.com/instance-category", "c") + line("kubernetes.io/arch", "amd64"), "",
             "repeated-requirement"),
            (line("eks.amazonaws.com/instance-cpu", "'2'", "Gt"), "", "accelerator-by-accident"),
            (line("eks.amazonaws.com/instance-category", "c"), "  limits: {cpu: 8}\n", "types-beyond-limit"),
            (line("topology.kubernetes.io/zone", "us-east-1a"), "", "one-zone"),
            (line("eks.amazonaws.com/instance-category", "t"), "", "old-generations"),
        ],
    )  # fmt: skip
    def test_practice_is_the_same(self, check: Check, lines: str, more: str, rule: str) -> None:
        assert names(check(pool(AUTO, lines, spec=more), select=[rule])) == [rule]

    def test_types_on_xen_are_those_that_it_supports(self, check: Check) -> None:
        lines = line("eks.amazonaws.com/instance-category", "t")
        [result] = check(pool(AUTO, lines), select=["old-generations"]).results
        assert result.finding.message.partition(": ")[2] == "t2"
        assert names(check(pool(AUTO, line("eks.amazonaws.com/instance-family", "c3")))) == ["no-instance-type"]
        lines += line("eks.amazonaws.com/instance-generation", "'4'", "Gt")
        assert names(check(pool(AUTO, lines), select=["old-generations"])) == []

    def test_a_fix_leaves_accelerators_out_by_its_own_key(self, check: Check) -> None:
        text = pool(AUTO, line("eks.amazonaws.com/instance-cpu", "'2'", "Gt"))
        [result] = check(text, select=["accelerator-by-accident"]).results
        assert "eks.amazonaws.com/instance-category" in "".join(edit.text for edit in result.finding.edits)

    def test_its_pools_see_each_other(self, check: Check) -> None:
        spot = pool(AUTO, line("karpenter.sh/capacity-type", "spot"))
        neighbours = pool(AUTO, line("karpenter.sh/capacity-type", "on-demand")).replace("name: apps", "name: steady")
        assert names(check(f"{spot}---\n{neighbours}", select=["spot-only"])) == []
        others = neighbours.replace(AUTO, "{group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}")
        assert names(check(f"{spot}---\n{others}", select=["spot-only"])) == ["spot-only"]

    def test_pools_of_one_weight_for_the_same_pods(self, check: Check) -> None:
        first = pool(AUTO, line("eks.amazonaws.com/instance-family", "m5, m6i"), spec="  weight: 5\n")
        second = first.replace("name: apps", "name: other")
        assert "overlapping-pools" in names(check(f"{first}---\n{second}"))

    def test_a_pool_by_its_labels_alone(self) -> None:
        text = pool("{name: default}", line("eks.amazonaws.com/instance-category", "c"))
        assert [o.provider for o in objects(Source.from_text("a.yaml", text), True) if isinstance(o, NodePool)] == [
            "auto-mode"
        ]


OTHER = "a class of another provider"
CLASS = "apiVersion: {}\nkind: {}\nmetadata: {{name: default}}\nspec: {{}}\n"


@pytest.mark.parametrize(
    ("version", "kind", "reason"),
    [
        ("karpenter.azure.com/v1beta1", "AKSNodeClass", f"{OTHER} (`karpenter.azure.com`) is not judged"),
        ("karpenter.k8s.gcp/v1alpha1", "GCENodeClass", f"{OTHER} (`karpenter.k8s.gcp`) is not judged"),
        ("karpenter.sh/v1beta1", "NodeOverlay", "a NodeOverlay is not judged"),
        ("karpenter.sh/v1alpha5", "Machine", "a Machine is not judged"),
        ("karpenter.sh/v1", "NodeClaim", "a NodeClaim is not judged"),
    ],
)  # fmt: skip
def test_what_is_not_judged_is_named_and_counted(
    tmp_path: Path, nodelint: Run, version: str, kind: str, reason: str
) -> None:
    (tmp_path / "class.yaml").write_text(CLASS.format(version, kind), encoding="utf-8")
    (tmp_path / "values.yaml").write_text(f"extra:\n- {CLASS.format(version, kind).replace(chr(10), chr(10) + '  ')}")
    found = nodelint("check", ".")
    inside = kind != "AKSNodeClass" and kind != "GCENodeClass"
    assert found.stdout.endswith(f"Nothing was judged: 0 of {'2 objects' if inside else '1 object'} in 2 files.\n")
    assert f"{kind}/default (class.yaml)" in found.stdout or not inside
    assert f": {reason}.\n" in found.stdout
    summary = json.loads(nodelint("check", "--format", "json", ".").stdout)["summary"]
    assert (summary["objects"], summary["unjudged"]) == (0, 2 if inside else 1)


def test_the_summary_counts_all_that_was_seen(tmp_path: Path, nodelint: Run) -> None:
    (tmp_path / "auto.yaml").write_text(
        pool(AZURE) + "---\n" + CLASS.format("karpenter.azure.com/v1beta1", "AKSNodeClass"), encoding="utf-8"
    )
    message = (
        "o findings; 1 class not judged, 1 pool not judged in full: 1 of 2 objects in 1 file, for Karpenter 1.15.1"
    )
    assert nodelint("check", ".").stdout.splitlines()[-1] == f"N{message} (newest known)."
    assert f"n{message}\n" in nodelint("check", "--format", "markdown", ".").stdout


@pytest.mark.parametrize(
    ("lines", "severity"),
    [
        (line("kubernetes.io/os", "windows"), "error"),
        (line("kubernetes.io/os", "linux", "NotIn"), "error"),
        (line("node.kubernetes.io/windows-build", "10.0.17763"), "error"),
        (line("kubernetes.io/os", "linux, windows"), "warning"),
        (line("kubernetes.io/os", "linux"), None),
        (line("kubernetes.io/os", "windows", "NotIn"), None),
    ],
)
def test_auto_mode_runs_linux_only(check: Check, lines: str, severity: str | None) -> None:
    found = [(r.rule.name, r.finding.severity or r.rule.severity) for r in check(pool(AUTO, lines)).results]
    assert found == ([("auto-mode-windows", severity)] if severity else [])
    assert "auto-mode-windows" not in names(
        check(pool("{group: karpenter.k8s.aws, kind: EC2NodeClass, name: a}", lines))
    )
