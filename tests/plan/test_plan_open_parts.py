"""What is not known of one field leaves the others as they are: what differs for certain is said all the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.plan.test_plan_command import Run, put

POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: default
spec:
  disruption:
    consolidateAfter: 5m
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      expireAfter: 100h
      requirements:
        - key: kubernetes.io/arch
          operator: In
          values:
            - amd64
ARCHS
        - key: karpenter.sh/capacity-type
          operator: In
          values: [spot]
"""
CLASS = """\
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: default
spec:
  role: one
KUBELET
  amiSelectorTerms:
    - alias: al2023@v20250101
  subnetSelectorTerms:
    - id: subnet-1
  securityGroupSelectorTerms:
    - id: sg-1
GROUPS
"""
LOOKUP = '(lookup "v1" "ConfigMap" "a" "b").data'
CHART = {
    "ARCHS": f"            - {{{{ {LOOKUP}.arch }}}}",
    "GROUPS": f"    {{{{- range {LOOKUP}.groups }}}}\n    - id: {{{{ . }}}}\n    {{{{- end }}}}",
    "KUBELET": f"  {{{{- with {LOOKUP}.kubelet }}}}\n  kubelet:\n"
    "    {{- toYaml . | nindent 4 }}\n  {{- end }}",
}
TEMPLATE = {
    "ARCHS": "%{ for arch in archs ~}\n            - ${arch}\n%{ endfor ~}",
    "GROUPS": "%{ for group in groups ~}\n    - id: ${group}\n%{ endfor ~}",
    "KUBELET": "%{ if has_kubelet ~}\n  kubelet: {maxPods: 10}\n%{ endif ~}",
}
FILLED_BY = """\
variable "archs" {}
variable "groups" {}
variable "prefix" {}
locals {
  limit = "one"
  other = 1
}
resource "kubectl_manifest" "pool" {
  yaml_body = templatefile("${path.module}/pool.tpl", { archs = var.archs })
}
resource "kubectl_manifest" "class" {
  yaml_body = templatefile("${path.module}/class.tpl", {
    groups = var.groups, has_kubelet = "${var.prefix}-${local.limit}" == "a-one"
  })
}
"""
HCL = """\
variable "arch" {}
variable "groups" {}
resource "kubernetes_manifest" "pool" {
  manifest = {
    apiVersion = "karpenter.sh/v1", kind = "NodePool", metadata = { name = "default" }
    spec = { disruption = { consolidateAfter: 5m }, template = { spec = {
      nodeClassRef = { group = "karpenter.k8s.aws", kind = "EC2NodeClass", name = "default" }
      expireAfter: 100h
      requirements = [
        { key = "kubernetes.io/arch", operator = "In", values = ["amd64", var.arch] },
        { key = "karpenter.sh/capacity-type", operator = "In", values: [spot] },
      ]
    } } }
  }
}
resource "kubernetes_manifest" "class" {
  manifest = {
    apiVersion = "karpenter.k8s.aws/v1", kind = "EC2NodeClass", metadata = { name = "default" }
    spec = {
      role: one
      amiSelectorTerms = [{ alias = "al2023@v20250101" }]
      subnetSelectorTerms = [{ id: subnet-1 }]
      securityGroupSelectorTerms = concat([{ id = "sg-1" }], var.groups)
    }
  }
}
"""
WORDS = ("5m", "100h", "one", "subnet-1", "[spot]")


def _fill(text: str, code: dict[str, str]) -> str:
    for name, written in code.items():
        text = text.replace(name, written)
    return text


def _as_hcl(text: str) -> str:
    for word in WORDS:
        value = '["spot"]' if word == "[spot]" else f'"{word}"'
        text = text.replace(f": {word}", f" = {value}")
    return text


FORMS = {
    "chart": {
        "Chart.yaml": "apiVersion: v2\nname: pools\nversion: 1.0.0\n",
        "values.yaml": "a: 1\n",
        "templates/pool.yaml": _fill(POOL, CHART),
        "templates/class.yaml": _fill(CLASS, CHART),
    },
    "template of Terraform": {
        "main.tf": FILLED_BY,
        "pool.tpl": _fill(POOL, TEMPLATE),
        "class.tpl": _fill(CLASS, TEMPLATE),
    },
    "Terraform": {"main.tf": _as_hcl(HCL)},
}
CHANGES = [
    pytest.param("role", "one", "two", "NodeClassDrift", id="role"),
    pytest.param("expireAfter", "100h", "200h", "NodePoolDrifted", id="lifetime"),
    pytest.param("values", "spot", "on-demand", "RequirementsDrifted", id="another requirement"),
    pytest.param("- id", "subnet-1", "subnet-2", "SubnetDrift", id="subnet"),
]


def _plan(nodelint: Run, folder: Path, form: str, *changes: tuple[str, str]) -> str:
    for path, text in FORMS[form].items():
        put(folder / "old" / path, text)
        for old, new in changes:
            text = text.replace(old, new)
        put(folder / "new" / path, text)
    done = nodelint("plan", "--old", "old", "new", cwd=folder)
    assert done.returncode == ("No node is replaced" not in done.stdout), done.stdout
    return " ".join(done.stdout.split())


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("field", "old", "new", "reason"), CHANGES)
def test_what_differs_for_certain_is_said_beside_an_entry_that_is_not_known(
    nodelint: Run, tmp_path: Path, form: str, field: str, old: str, new: str, reason: str
) -> None:
    shown = _plan(nodelint, tmp_path, form, (old, new))
    assert f"all nodes are replaced: {reason}" in shown and "1 NodePool: all its nodes are replaced." in shown, field


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("changes", [[], [("5m", "6m")]], ids=["nothing", "what moves no node"])
def test_what_is_not_known_and_equal_by_its_inputs_is_no_alarm(
    nodelint: Run, tmp_path: Path, form: str, changes: list[tuple[str, str]]
) -> None:
    assert "No node is replaced." in _plan(nodelint, tmp_path, form, *changes)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("old", "new"), [("amd64", "arm64"), ("sg-1", "sg-2")], ids=["requirement", "group"])
def test_a_list_that_changes_beside_its_unknown_entry_may_replace_nodes(
    nodelint: Run, tmp_path: Path, form: str, old: str, new: str
) -> None:
    assert "1 NodePool: its nodes may be replaced." in _plan(nodelint, tmp_path, form, (old, new))


def test_an_input_of_a_condition_in_an_object_that_changes_elsewhere_is_named(nodelint: Run, tmp_path: Path) -> None:
    form, word = "template of Terraform", 'limit = "one"'
    shown = _plan(nodelint, tmp_path, form, ("5m", "6m"), (word, 'limit = "two"'))
    assert "its nodes may be replaced" in shown and "`local.limit`" in shown
    assert "No node is replaced." in _plan(nodelint, tmp_path, form, ("5m", "6m"), ("other = 1", "other = 2"))


def test_a_field_that_a_condition_may_set_is_not_called_new(nodelint: Run, tmp_path: Path) -> None:
    whole = "  kubelet: {maxPods: 10}\n"
    shown = _plan(
        nodelint, tmp_path, "template of Terraform", ("%{ if has_kubelet ~}\n" + whole + "%{ endif ~}\n", whole)
    )
    assert "its nodes may be replaced" in shown and "all nodes" not in shown


def test_a_requirement_that_was_not_known_before_decides_nothing(nodelint: Run, tmp_path: Path) -> None:
    """Nodes may have met it all along; what differs for another key is said all the same."""
    plain = POOL.replace("ARCHS\n", "")
    for side, values in (("old", "${zone}"), ("new", "us-east-1a")):
        zone = f"        - {{key: topology.kubernetes.io/zone, operator: In, values: [{values!r}]}}\n"
        put(tmp_path / side / "pool.yaml", plain + zone)
    shown = " ".join(nodelint("plan", "--old", "old", "new", cwd=tmp_path).stdout.split())
    assert "nodes may be replaced; the files do not show it: RequirementsDrifted" in shown
    assert "(a value is not known here)" in shown and "AWS account" not in shown
    put(tmp_path / "new" / "pool.yaml", (plain + zone).replace("[spot]", "[on-demand]"))
    assert (
        "all nodes are replaced: RequirementsDrifted" in nodelint("plan", "--old", "old", "new", cwd=tmp_path).stdout
    )
