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
