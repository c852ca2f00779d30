"""What a setting or a new instance type decides, and no file tells: neither yes nor no."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from tests.fit.test_fit import pod
from tests.manifests import nodeclass, nodepool
from tests.repositories import write_files

Run = Callable[..., CompletedProcess[str]]
FAMILIES = "key: karpenter.k8s.aws/instance-family, operator: In, values: [%s]"
TERM = "matchExpressions: [{key: %s, operator: In, values: [%s]}]"
FAMILY, ARCH = "karpenter.k8s.aws/instance-family", "kubernetes.io/arch"


def affinity(*terms: str, preferred: str) -> str:
    required = ", ".join(f"{{{term}}}" for term in terms)
    return (
        "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
        f"{{nodeSelectorTerms: [{required}]}}, preferredDuringSchedulingIgnoredDuringExecution: "
        f"[{{weight: 1, preference: {{{preferred}}}}}]}}}}\n"
    )


# Respected, the preference goes together with the first term; ignored, the first term is tried alone.
SPLIT = affinity(TERM % (FAMILY, "m7i"), TERM % (FAMILY, "nothing"), preferred=TERM % (ARCH, "arm64"))
NARROWED = affinity(TERM % (FAMILY, "m7i, m7g"), preferred=TERM % (ARCH, "arm64"))

CHART = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: karpenter, namespace: kube-system}
spec:
  chart: {spec: {chart: karpenter, version: 1.8.3, sourceRef: {kind: HelmRepository, name: karpenter}}}
%s
"""
TERRAFORM = """\
variable "policy" {}
resource "helm_release" "karpenter" {
  repository = "oci://public.ecr.aws/karpenter"
  chart      = "karpenter"
  version    = "1.8.3"
  set {
    name  = "settings.preferencePolicy"
    value = var.policy
  }
}
"""
OPEN = {
    "values of a ConfigMap that is not here": {
        "hr.yaml": CHART % "  valuesFrom: [{kind: ConfigMap, name: karpenter-values}]"
    },
    "a variable without a value": {"main.tf": TERRAFORM},
}
KNOWN = {
    "Respect": {"hr.yaml": CHART % "  values: {settings: {preferencePolicy: Respect}}"},
    "Ignore": {"hr.yaml": CHART % "  values: {settings: {preferencePolicy: Ignore}}"},
}


def tree(path: Path, workload: str, families: str, more: dict[str, str]) -> None:
    pool = f"{nodepool(FAMILIES % families, labels='{team: x}')}---\n{nodeclass()}"
    write_files(path, {".git/HEAD": "", "p.yaml": pool, "w.yaml": pod("nodeSelector: {team: x}\n" + workload)} | more)


def answer(nodelint: Run) -> tuple[dict[str, Any] | None, str, int]:
    """What the JSON has of the workload, None where it is not decided; the text on one line, and the exit code."""
    done = nodelint("fit", ".")
    report = json.loads(nodelint("fit", ".", "--format", "json").stdout)
    assert len(report["workloads"]) + len(report["skipped"]) == 1
    return next(iter(report["workloads"]), None), " ".join(done.stdout.split()), done.returncode


@pytest.mark.parametrize("files", OPEN.values(), ids=list(OPEN))
def test_a_preference_policy_that_is_not_known_makes_neither_yes_nor_no(
    tmp_path: Path, nodelint: Run, files: dict[str, str]
) -> None:
    tree(tmp_path, SPLIT, "m7i, m7g", files)
    found, text, code = answer(nodelint)
    assert (found, code) == (None, 0)
    assert "may be taken by `default`" in text and "settings.preferencePolicy" in text
    assert "0 workloads with a pool, 0 without, 1 not decided." in text
    assert "no-pool-for-workload" not in nodelint("check", ".").stdout


@pytest.mark.parametrize(("policy", "possible"), [("Respect", False), ("Ignore", True)])
def test_a_preference_policy_that_is_stated_decides(
    tmp_path: Path, nodelint: Run, policy: str, possible: bool
) -> None:
    tree(tmp_path, SPLIT, "m7i, m7g", KNOWN[policy])
    found, _, _ = answer(nodelint)
    assert found is not None and found["possible"] is possible


def test_the_number_of_types_says_that_the_policy_is_not_known(tmp_path: Path, nodelint: Run) -> None:
    counts = {}
    for name, files in [*KNOWN.items(), ("open", OPEN["values of a ConfigMap that is not here"])]:
        tree(tmp_path, NARROWED, "m7i, m7g", files)
        found, text, _ = answer(nodelint)
        assert found is not None
        counts[name] = found["pools"][0]["instanceTypes"]
        assert ("(at most: `preferencePolicy` is not known)" in text) is (name == "open")
    assert counts["Respect"] < counts["Ignore"] == counts["open"]


@pytest.mark.parametrize(("families", "selects"), [("r9g", ""), ("r9g, m7i", f", {FAMILY}: r9g"), ("q1g", "")])
def test_a_type_newer_than_the_catalogue_makes_neither_yes_nor_no(
    tmp_path: Path, nodelint: Run, families: str, selects: str
) -> None:
    pool = f"{nodepool(FAMILIES % families, labels='{team: x}')}---\n{nodeclass()}"
    workload = pod(f"nodeSelector: {{team: x{selects}}}")
    write_files(tmp_path, {".git/HEAD": "", "p.yaml": pool, "w.yaml": workload})
    found, text, code = answer(nodelint)
    assert (found, code) == (None, 0)
    assert "=> not known: no known instance type holds it, and a newer one may" in text
    assert "no-pool-for-workload" not in nodelint("check", ".").stdout
    explained = nodelint("explain", ".").stdout
    assert ("=> not known: none of" in explained) == (selects == "")


def test_a_pod_without_the_label_of_such_a_pool_has_no_pool(tmp_path: Path, nodelint: Run) -> None:
    pool = f"{nodepool(FAMILIES % 'r9g', labels='{team: x}')}---\n{nodeclass()}"
    write_files(tmp_path, {".git/HEAD": "", "p.yaml": pool, "w.yaml": pod("nodeSelector: {team: y}")})
    found, _, code = answer(nodelint)
    assert found is not None and (found["possible"], code) == (False, 1)


def test_a_placeholder_among_the_items_of_a_list_is_named_at_its_line(nodelint: Run, tmp_path: Path) -> None:
    workload = (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  tolerations:\n    - {operator: Exists}\n"
        "    - '{{ .Values.toleration }}'\n  containers: [{name: app, image: a}]\n"
    )
    write_files(tmp_path, {"pool.yaml": nodepool(), "class.yaml": nodeclass(), "pod.yaml": workload})
    assert "a placeholder stands for tolerations (pod.yaml:7)" in nodelint("fit").stdout
