"""The rules about what an object is and what it points to: removed-api, node-class-ref, unknown-node-class."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from nodelint.lint.autofix import fix
from nodelint.lint.engine import LintRequest, Selection, Target, lint
from nodelint.model.releases import NEWEST, target
from nodelint.rule.definition import Rule
from nodelint.text import Source
from tests.manifests import nodeclass, nodepool

Run = Callable[..., CompletedProcess[str]]

POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {{name: a}}
spec:
  template:
    spec:
      nodeClassRef:
        {}
      requirements:
        - {{key: kubernetes.io/arch, operator: In, values: [amd64]}}
"""
RIGHT = "group: karpenter.k8s.aws\n        kind: EC2NodeClass\n        name: a"


def mended(text: str, rules: dict[str, Rule], karpenter: str = str(NEWEST)) -> tuple[str, list[str]]:
    """The text after every fix, and the rules that spoke before it."""
    chosen = Selection(frozenset({"removed-api", "node-class-ref", "unknown-node-class", "invalid-field"}))
    done = fix([Source.from_text("a.yaml", text)], LintRequest(Target(target(karpenter)), rules, chosen), unsafe=True)
    return done.sources[0].text, [r.rule.name for r in done.applied]


@pytest.mark.parametrize(
    "written",
    [
        "group:\n        kind: EC2NodeClass\n        name: a",
        "group: karpenter.k8s.aws\n        kind:\n        name: a",
        "group: karpenter.k8s.aws\n        kind: AWSNodeTemplate\n        name: a",
        "group: karpenter.k8s.aws/v1\n        kind: EC2NodeClass\n        name: a",
        "group: karpenter.sh\n        kind: EC2NodeClass\n        name: a",
        "apiVersion: karpenter.k8s.aws/v1beta1\n        kind: EC2NodeClass\n        name: a",
        "group: karpenter.k8s.aws\n        apiVersion: v1\n        kind: EC2NodeClass\n        name: a",
        "group: karpenter.k8s.aws\n        name: a",
        "kind: EC2NodeClass\n        name: a",
        "name: a",
    ],
)
def test_a_reference_is_put_right_by_one_finding(written: str, rules: dict[str, Rule]) -> None:
    assert mended(POOL.format(written), rules) == (POOL.format(RIGHT), ["node-class-ref"])


@pytest.mark.parametrize(
    "written",
    [
        "{group: eks.amazonaws.com, kind: NodeClass, name: default}",
        "{group: karpenter.azure.com, kind: AKSNodeClass, name: default}",
        '{group: "${GROUP}", kind: EC2NodeClass, name: default}',
    ],
)
def test_other_providers_and_placeholders_are_left_in_peace(written: str, rules: dict[str, Rule]) -> None:
    assert mended(POOL.format(written), rules) == (POOL.format(written), [])


@pytest.mark.parametrize(
    ("written", "fixed"),
    [
        ('{group: "", kind: xEC2NodeClass, name: a}', '{group: "karpenter.k8s.aws", kind: EC2NodeClass, name: a}'),
        ('{group: x.y, kind: "", name: a}', '{group: karpenter.k8s.aws, kind: "EC2NodeClass", name: a}'),
        ('{group: "", kind: AKSNodeClass, name: a}', None),
        ('{group: "", kind: NodeClass, name: a}', None),
        ("{kind: AKSNodeClass, name: a}", None),
    ],
)
def test_an_empty_group_or_kind_is_no_other_provider(written: str, fixed: str | None, rules: dict[str, Rule]) -> None:
    """The API server takes neither; a fix is offered unless the class looks like another provider's."""
    chosen = Selection(frozenset({"node-class-ref"}))
    report = lint([Source.from_text("a.yaml", POOL.format(written))], LintRequest(Target(NEWEST), rules, chosen))
    found = [(result.rule.name, result.severity, result.fixable) for result in report.results]
    assert found == [("node-class-ref", "error", fixed is not None)]
    assert report.skipped == ()
    assert mended(POOL.format(written), rules)[0] == POOL.format(fixed or written)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            POOL.format(RIGHT).replace("karpenter.sh/v1", "v1"),
            "`v1` has no NodePool; Karpenter's is of `karpenter.sh/v1`",
        ),
        (
            POOL.format(RIGHT).replace("karpenter.sh/v1", "karpenter.example.com/v1"),
            "`karpenter.example.com/v1` has no NodePool; Karpenter's is of `karpenter.sh/v1`",
        ),
        (
            "apiVersion: v1\nkind: EC2NodeClass\nmetadata: {name: a, labels: {karpenter.sh/a: b}}\nspec: {rool: x}\n",
            "`v1` has no EC2NodeClass; Karpenter's is of `karpenter.k8s.aws/v1`",
        ),
        (
            "apiVersion: v1\nkind: List\nitems:\n"
            "- {apiVersion: v1, kind: Provisioner, metadata: {name: a, labels: {karpenter.sh/a: b}}, spec: {}}\n",
            "`v1` has no Provisioner",
        ),
    ],
    ids=lambda value: value[-40:],
)
def test_what_is_not_judged_is_said(text: str, reason: str, nodelint: Run, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(text, encoding="utf-8")
    done = nodelint("check", "a.yaml")
    assert done.returncode == 0
    assert f": {reason}.\n" in done.stdout and "Skipped: " in done.stdout
    report = json.loads(nodelint("check", "a.yaml", "--format", "json").stdout)
    assert [(skip["path"], skip["reason"]) for skip in report["skipped"]] == [("a.yaml", reason)]
    assert report["skipped"][0]["object"]["kind"] in reason or "kind: NodePool" in text
    assert reason in nodelint("explain", "a.yaml").stderr


def test_a_kind_of_the_same_name_that_is_none_of_karpenters_is_not_mentioned(nodelint: Run, tmp_path: Path) -> None:
    text = POOL.format(RIGHT).replace("karpenter.sh/v1", "hypershift.openshift.io/v1beta1")
    (tmp_path / "a.yaml").write_text(text, encoding="utf-8")
    assert "Skipped" not in nodelint("check", "a.yaml").stdout


@pytest.mark.parametrize("karpenter", ["1.0.0", "1.1.0"])
def test_a_class_without_a_name_is_one_finding(karpenter: str, rules: dict[str, Rule]) -> None:
    text = POOL.format('{group: karpenter.k8s.aws, kind: EC2NodeClass, name: ""}')
    report = lint([Source.from_text("a.yaml", text)], LintRequest(Target(target(karpenter)), rules))
    (result,) = report.results
    assert (result.rule.name, text[result.span.start : result.span.end]) == ("node-class-ref", '""')


@pytest.mark.parametrize("group", ["karpenter.k8s.aws", "karpenter.sh"])
def test_an_old_pool_in_the_wrong_group_ends_as_v1(group: str, rules: dict[str, Rule]) -> None:
    old = POOL.format("name: a").replace("karpenter.sh/v1", f"{group}/v1beta1")
    new, message = mended(old, rules)
    assert new == POOL.format("name: a\n        group: karpenter.k8s.aws\n        kind: EC2NodeClass")
    assert set(message) == {"removed-api"}


def test_where_v1beta1_is_served_only_its_group_is_put_right(rules: dict[str, Rule]) -> None:
    old = POOL.format("name: a").replace("karpenter.sh/v1", "karpenter.k8s.aws/v1beta1")
    assert mended(old, rules, "1.0.5")[0] == POOL.format("name: a").replace("sh/v1", "sh/v1beta1")


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_what_lost_its_indent_goes_below_metadata(end: str, rules: dict[str, Rule]) -> None:
    right = POOL.format(RIGHT)
    old = right.replace("metadata: {name: a}", "metadata:\nname: a\nlabels:\n  a: b")
    new = right.replace("metadata: {name: a}", "metadata:\n  name: a\n  labels:\n    a: b")
    source = Source.from_text("a.yaml", old.replace("\n", end))
    chosen = Selection(frozenset({"unknown-field"}))
    report = lint([source], LintRequest(Target(target(str(NEWEST))), rules, chosen))
    assert [r.finding.message for r in report.results] == [
        f"`{name}` is not a known field: it belongs under `metadata`" for name in ("name", "labels")
    ]
    assert fix([source], LintRequest(Target(target(str(NEWEST))), rules, chosen)).sources[0].text == new.replace(
        "\n", end
    )


@pytest.mark.parametrize(
    ("version", "kind", "meant"),
    [
        ("karpenter.k8s.aws/v1alpha1", "AWSNodeInstanceProfile", "EC2NodeClass of `karpenter.k8s.aws/v1`"),
        ("karpenter.sh/v1", "NodeClass", "EC2NodeClass of `karpenter.k8s.aws/v1`"),
        ("karpenter.sh/v1", "NodePools", "NodePool of `karpenter.sh/v1`"),
        ("karpenter.sh/v1alpha1", "NodeDisruptionBudget", "remove the object"),
    ],
)
def test_a_kind_that_no_release_had(version: str, kind: str, meant: str, rules: dict[str, Rule]) -> None:
    text = f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: a, namespace: karpenter}}\nspec: {{x: 1}}\n"
    report = lint([Source.from_text("a.yaml", text)], LintRequest(Target(target(str(NEWEST))), rules))
    (result,) = report.results
    assert (result.rule.name, result.severity) == ("removed-api", "error")
    assert text[result.span.start : result.span.end] == kind
    assert f"no release of Karpenter has a kind `{kind}`" in result.finding.message
    assert meant in (result.finding.help or "")


@pytest.mark.parametrize("whole", [nodepool(), nodeclass()], ids=["pool", "class"])
@pytest.mark.parametrize(
    ("change", "place", "message"),
    [
        (("kind: ", "# kind: "), "karpenter.", "the object has no `kind`"),
        (("kind: ", "kind: # "), "kind", "the object has no `kind`"),
        (("kind: ", "Kind: "), "Kind", "the object has no `kind`"),
        (("apiVersion: ", "# apiVersion: "), "", "the object has no `apiVersion`"),
        (("apiVersion: ", "apiversion: "), "apiversion", "the object has no `apiVersion`"),
    ],
)
def test_an_object_that_does_not_say_what_it_is(
    change: tuple[str, str], place: str, message: str, whole: str, rules: dict[str, Rule]
) -> None:
    text = whole.replace(*change, 1)
    request = LintRequest(Target(target(str(NEWEST))), rules)
    (result,) = lint([Source.from_text("a.yaml", f"{text}# karpenter.sh\n")], request).results
    assert (result.rule.name, result.severity) == ("removed-api", "error")
    assert text[result.span.start : result.span.end].startswith(place)
    assert result.finding.message == f"{message}: the API server refuses it"


@pytest.mark.parametrize(
    "text",
    [
        "apiVersion: karpenter.sh/v1\nspec: {a: 1}\n",
        nodepool().replace("kind: NodePool", "{{ .Values.kind }}"),
        nodepool().replace("NodePool", "${KIND}"),
        nodepool().replace("karpenter.sh/v1", "${API}"),
        nodepool().replace("apiVersion: karpenter.sh/v1", "apiVersion: cloud.example.com/v1"),
        "pool:\n" + textwrap.indent(nodepool().replace("kind: ", "# kind: ", 1), "  "),
    ],
)
def test_what_may_say_it_elsewhere_lacks_nothing(text: str, rules: dict[str, Rule]) -> None:
    report = lint([Source.from_text("a.yaml", text)], LintRequest(Target(target(str(NEWEST))), rules))
    assert not [result for result in report.results if result.rule.name == "removed-api"]


OLD = """\
apiVersion: karpenter.sh/v1beta1
kind: NodePool
metadata:
  name: old
spec:
  template:
    spec:
      nodeClassRef:
        name: old
      requirements:
        - {key: karpenter.k8s.aws/instance-family, operator: In, values: [m5, m99]}
  disruption:
    consolidationPolicy: WhenEmpty
    consolidateAfter: 1h
    expireAfter: Never # moves into the template
---
apiVersion: karpenter.k8s.aws/v1beta1
kind: EC2NodeClass
metadata:
  name: old
spec:
  amiFamily: AL2
  role: nodes
  subnetSelectorTerms:
    - tags: {karpenter.sh/discovery: main}
  securityGroupSelectorTerms:
    - tags: {karpenter.sh/discovery: main}
  userData: |
    #!/bin/bash
    /etc/eks/bootstrap.sh main
"""

PROVISIONER = """\
apiVersion: karpenter.sh/v1alpha5
kind: Provisioner
metadata:
  name: old
spec:
  requirements:
    - {key: karpenter.k8s.aws/instance-family, operator: In, values: [m5, m99]}
  providerRef:
    name: old
"""


def marked_by_rule(text: str, rules: dict[str, Rule], karpenter: str = str(NEWEST)) -> dict[str, str]:
    """What each rule says a place is about."""
    # By name, for reminders about an object of an old API wait else.
    selection = Selection(frozenset(rules))
    report = lint([Source.from_text("a.yaml", text)], LintRequest(Target(target(karpenter)), rules, selection))
    return {r.rule.name: text[r.span.start : r.span.end] for r in report.results}


KUBELET = """\
apiVersion: karpenter.sh/v1beta1
kind: NodePool
metadata: {name: default}
spec:
  template:
    spec:
      kubelet:
        maxPods: 110
      nodeClassRef: {name: default}
      requirements:
        - {key: node.kubernetes.io/instance-type, operator: In, values: [t3.medium]}
---
apiVersion: karpenter.k8s.aws/v1beta1
kind: EC2NodeClass
metadata: {name: default}
spec:
  amiFamily: AL2023
  role: nodes
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
"""


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_an_object_of_an_old_api_is_judged_as_what_it_becomes(newline: str, rules: dict[str, Rule]) -> None:
    found = marked_by_rule(OLD.replace("\n", newline), rules)
    assert found["removed-api"] == "karpenter.k8s.aws/v1beta1"
    assert found["unknown-value"] == "m99"
    assert found["never-expires"] == "Never", "a line that conversion moves is found again"
    assert found["unsupported-alias"] == "AL2", "an alias that conversion adds stands for the family"
    assert found["repeated-bootstrap"].strip() == "/etc/eks/bootstrap.sh main"


def test_a_kubelet_setting_that_moves_to_the_class_is_judged_where_it_stands(rules: dict[str, Rule]) -> None:
    pool = KUBELET.partition("---\n")[0]
    named = Selection(frozenset({"max-pods-beyond-network"}))
    report = lint([Source.from_text("a.yaml", KUBELET)], LintRequest(Target(target(str(NEWEST))), rules, named))
    [result] = [r for r in report.results if r.rule.name == "max-pods-beyond-network"]
    assert pool[result.span.start : result.span.end] == "110"
    assert result.object is not None and result.object.kind == "NodePool"


def test_what_is_found_in_a_converted_object_has_no_fix_of_its_own(rules: dict[str, Rule]) -> None:
    report = lint([Source.from_text("a.yaml", OLD)], LintRequest(Target(target(str(NEWEST))), rules))
    assert {r.rule.name for r in report.results if r.fixable} == {"removed-api"}


def test_a_provisioner_is_judged_at_its_lines(rules: dict[str, Rule]) -> None:
    assert marked_by_rule(PROVISIONER, rules)["unknown-value"] == "m99"


def test_a_comment_in_an_old_object_silences_what_is_said_of_the_new_one(rules: dict[str, Rule]) -> None:
    silenced = PROVISIONER.replace("m99]}", "m99]}  # nodelint: ignore[unknown-value] a plan")
    found = marked_by_rule(silenced, rules)
    assert "unknown-value" not in found and "unused-suppression" not in found


BLOCKED = """\
apiVersion: karpenter.sh/v1beta1
kind: NodePool
metadata: {name: default}
spec:
  disruption: {consolidationPolicy: WhenUnderutilized, expireAfter: Never}
  template:
    spec:
      kubelet: {maxPods: 20}
      nodeClassRef: {name: elsewhere}
      requirements:
        - {key: karpenter.k8s.aws/instance-family, operator: In, values: [m99]}
"""


def test_a_pool_whose_kubelet_settings_find_no_class_is_judged_without_them(rules: dict[str, Rule]) -> None:
    found = marked_by_rule(BLOCKED, rules)
    assert found["unknown-value"] == "m99" and found["never-expires"] == "Never"
    report = lint([Source.from_text("a.yaml", BLOCKED)], LintRequest(Target(target(str(NEWEST))), rules))
    assert not any(r.fixable for r in report.results), "no edit drops the settings from the file"


def test_a_bracket_that_is_still_open_is_marked(rules: dict[str, Rule]) -> None:
    text = BLOCKED.replace("[m99]}", "[m99\n")
    (result,) = lint([Source.from_text("a.yaml", text)], LintRequest(Target(target(str(NEWEST))), rules)).results
    (also,) = result.finding.also
    assert (result.rule.name, text[also.span.start :][:4], also.message) == (
        "yaml-syntax",
        "[m99",
        "it is still open at this line",
    )


def test_a_spec_that_is_an_expression_is_no_fault_of_ours(rules: dict[str, Rule]) -> None:
    text = """\
resource "kubernetes_manifest" "template" {
  manifest = {
    apiVersion = "karpenter.k8s.aws/v1alpha1"
    kind       = "AWSNodeTemplate"
    metadata   = { name = "default" }
    spec       = local.spec
  }
}
"""
    report = lint([Source.from_text("main.tf", text)], LintRequest(Target(target(str(NEWEST))), rules))
    assert [r.rule.name for r in report.results] == ["removed-api"] and not report.faults
