"""What NodePools ask of nodes: startup taints, names against requirements, kinds and generations of types."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from nodelint.lint.engine import Report

Check = Callable[..., Report]

CLASS = "{group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}"
AUTO = "{group: eks.amazonaws.com, kind: NodeClass, name: default}"


def pool(*lines: str, name: str = "apps", more: str = "", spec: str = "", ref: str = CLASS) -> str:
    """A NodePool with these requirements (`key operator value,value`), fields of the template and of the spec."""
    written = [line.split() for line in lines]
    asked = "".join(
        f"        - {{key: {key}, operator: {how}, values: [{values}]}}\n" for key, how, values in written
    )
    return (
        f"apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {{name: {name}}}\nspec:\n{spec}  template:\n"
        f"    spec:\n{more}      nodeClassRef: {ref}\n      requirements:\n{asked or '        []'}\n"
    )


def said(report: Report) -> list[tuple[str, str]]:
    return [(result.rule.name, result.finding.message) for result in report.results]


ANY = "kubernetes.io/arch In amd64"


class TestStartupTaints:
    RULES = ("odd-taint", "own-startup-taint")

    @pytest.mark.parametrize(
        ("key", "rule"),
        [
            ("node.cilium.io/agent-not-ready", None),
            ("ebs.csi.aws.com/agent-not-ready", None),
            ("cni.istio.io/not-ready", None),
            ("readiness.k8s.io/network", None),
            ("node.cloudprovider.kubernetes.io/uninitialized", None),
            ("example.com/another-taint", "odd-taint"),
            ("team.example.org/wait", "odd-taint"),
            ("node.karpenter.sh/initializing", "odd-taint"),
            ("karpenter.sh/startup", "odd-taint"),
            ("startup", "own-startup-taint"),
            ("katacontainers.io/runtime-not-ready", "own-startup-taint"),
            ("notexample.com/x", "own-startup-taint"),
        ],
    )
    def test_who_removes_it(self, check: Check, key: str, rule: str | None) -> None:
        taint = f"      startupTaints: [{{key: {key}, effect: NoSchedule}}]\n"
        for ref in (CLASS, AUTO):
            found = said(check(pool(ANY, more=taint, ref=ref), select=list(self.RULES)))
            assert [name for name, _ in found] == ([rule] if rule else [])

    def test_a_taint_that_stays_is_none_of_it(self, check: Check) -> None:
        taint = "      taints: [{key: example.com/special, effect: NoSchedule}]\n"
        assert said(check(pool(ANY, more=taint), select=list(self.RULES))) == []


FAMILY = "karpenter.k8s.aws/instance-family"
TAINT = "      taints: [{{key: {}, effect: NoSchedule}}]\n"


class TestDeviceOfAnotherVendor:
    RULE = "device-of-another-vendor"

    @pytest.mark.parametrize(
        ("families", "taint", "limit", "wrong"),
        [
            ("g4ad,g5", "nvidia.com/gpu", None, "`g4ad` has `amd.com/gpu`"),
            ("g4ad,g5", "team", "nvidia.com/gpu: 4", "`g4ad` has `amd.com/gpu`"),
            ("inf2,g5", "nvidia.com/gpu", None, "`inf2` has `aws.amazon.com/neuron`"),
            ("inf2,g5", "aws.amazon.com/neuroncore", None, "`g5` has `nvidia.com/gpu`"),
            ("g5,g6", "nvidia.com/gpu", None, None),
            ("g4ad,g5", "gpu", None, None),
            ("g4ad,g5", "team", "nvidia.com/gpu: 0", None),
            ("g4ad,g5", "nvidia.com/gpu", "amd.com/gpu: 8", None),
            ("m5,g5", "nvidia.com/gpu", None, None),
            ("m5,m6i", "nvidia.com/gpu", None, "no instance type left has `nvidia.com/gpu`"),
            ("m5,m6i", "team", "nvidia.com/gpu: 1", None),
            ("g6f", "nvidia.com/gpu", None, None),
        ],
    )
    def test_listed(self, check: Check, families: str, taint: str, limit: str | None, wrong: str | None) -> None:
        spec = f"  limits: {{cpu: 1000, {limit}}}\n" if limit else ""
        text = pool(f"{FAMILY} In {families}", more=TAINT.format(taint), spec=spec)
        found = said(check(text, select=[self.RULE]))
        assert [message.startswith(wrong or "-") for _, message in found] == ([True] if wrong else [])

    def test_a_category_that_holds_other_vendors_types_too_is_let_be(self, check: Check) -> None:
        text = pool("karpenter.k8s.aws/instance-category In g", more=TAINT.format("nvidia.com/gpu"))
        assert said(check(text, select=[self.RULE])) == []

    def test_in_auto_mode_and_by_name(self, check: Check) -> None:
        text = pool("eks.amazonaws.com/instance-family In g4ad,g5", name="nvidia-apps", ref=AUTO)
        assert len(said(check(text, select=[self.RULE]))) == 1
