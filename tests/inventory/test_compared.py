"""What policies and tests only compare with objects is no object. What they apply is one."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.manifests import nodeclass
from tests.repositories import write_files

Run = Callable[..., subprocess.CompletedProcess[str]]

CLASS = nodeclass(role="nodes", net="tags: {a: b}")
PART = 'apiVersion: karpenter.sh/v1, kind: NodePool, metadata: {name: a}, spec: {limits: {cpu: "?*"}}'
PATTERN = f"validate: {{pattern: {{{PART}}}}}"
OF_TERRAFORM = """\
resource "kubernetes_manifest" "a" {
  manifest = {
    apiVersion = "kyverno.io/v1"
    kind       = "ClusterPolicy"
    metadata   = { name = "a" }
    spec = { rules = [{ name = "a", validate = { KEY = [{
      apiVersion = "karpenter.sh/v1"
      kind       = "NodePool"
      metadata   = { name = "?*" }
      spec       = { limits = { cpu = "?*" } }
    }] } }] }
  }
}
"""
KYVERNO = "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: a}\nspec: {rules: [{name: a, %s}]}\n"
CHAINSAW = "apiVersion: chainsaw.kyverno.io/v1alpha1\nkind: Test\nmetadata: {name: a}\nspec: {steps: [{try: [%s]}]}\n"
MANAGED = (
    "apiVersion: policy.open-cluster-management.io/v1\nkind: ConfigurationPolicy\nmetadata: {name: a}\n"
    "spec: {object-templates: [{complianceType: %s, objectDefinition: {%s}}]}\n"
)
UNITTEST = "suite: pools\ntests: [{it: a, asserts: [{isSubset: {path: '', content: {%s}}}]}]\n"
STATE = 'apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: a}\nstatus: {conditions: [{type: "Ready"}]}\n'
STEPS = {"chainsaw-test.yaml": CHAINSAW % "{assert: {file: x.yaml}}"}


def list_messages(nodelint: Run, folder: Path, files: dict[str, str]) -> list[str]:
    """Return the messages about files beside a class, and the line about files that were not read."""
    write_files(folder, {"class.yaml": CLASS, **files})
    found = json.loads(nodelint("check", str(folder), "--format", "json").stdout)["findings"]
    shown = nodelint("check", str(folder)).stdout.splitlines()
    return [item["message"] for item in found] + [line for line in shown if line.startswith("Not read")]


@pytest.mark.parametrize(
    "files",
    [
        {"a.yaml": KYVERNO % PATTERN},
        {"a.yaml": KYVERNO % f"validate: {{anyPattern: [{{{PART}}}, {{{PART}}}]}}"},
        {"a.yaml": KYVERNO % f"validate: {{foreach: [{{list: a, pattern: {{{PART}}}}}]}}"},
        {"a.yaml": KYVERNO % f"mutate: {{patchStrategicMerge: {{{PART}}}}}"},
        {"a.yaml": KYVERNO % f"validate: {{assert: {{all: [{{check: {{{PART}}}}}]}}}}"},
        {"c/values.yaml": f"policies:\n- validate: {{pattern: {{{PART}}}}}\n", "c/Chart.yaml": "name: c\n"},
        {"a.yaml": CHAINSAW % f"{{assert: {{resource: {{{PART}}}}}}}, {{error: {{resource: {{{PART}}}}}}}"},
        {"a.yaml": KYVERNO % f"match: {{any: [{{{PART}}}]}}, exclude: {{any: [{{{PART}}}]}}"},
        {"a.yaml": KYVERNO % f"preconditions: {{all: [{{key: a, operator: Equals, value: {{{PART}}}}}]}}"},
        {"a.yaml": MANAGED % ("mustnothave", PART)},
        {"tests/a_test.yaml": UNITTEST % PART},
        {"main.tf": 'resource "kubectl_manifest" "a" {\n  yaml_body = <<EOF\n%sEOF\n}\n' % (KYVERNO % PATTERN)},
        {"e2e/00-assert.yaml": STATE},
        {"e2e/01-assert-ready.yaml": STATE},
        {"e2e/01-errors.yaml": STATE},
        {**STEPS, "x-assert.yaml": STATE, "assert.yaml": STATE},
    ],
    ids=range(16),
)
def test_what_is_only_compared_is_not_judged(nodelint: Run, tmp_path: Path, files: dict[str, str]) -> None:
    assert list_messages(nodelint, tmp_path, files) == []


@pytest.mark.parametrize(
    "files",
    [
        {"a.yaml": CHAINSAW % f"{{apply: {{resource: {{{PART}}}}}}}"},
        {"a.yaml": MANAGED % ("musthave", PART)},
        {"a.yaml": KYVERNO % f"generate: {{data: {{{PART}}}}}"},
        {"e2e/00-install.yaml": STATE},
        {"e2e/asserted.yaml": STATE},
        {"x-assert.yaml": STATE},
    ],
    ids=range(6),
)
def test_what_is_applied_is_judged(nodelint: Run, tmp_path: Path, files: dict[str, str]) -> None:
    assert list_messages(nodelint, tmp_path, files) != []


@pytest.mark.parametrize(("key", "count"), [("anyPattern", 0), ("objects", 3)])
def test_an_object_of_terraform(nodelint: Run, tmp_path: Path, key: str, count: int) -> None:
    messages = list_messages(nodelint, tmp_path, {"main.tf": OF_TERRAFORM.replace("KEY", key)})
    assert len([message for message in messages if not message.startswith("Not read")]) == count
