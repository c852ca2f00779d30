"""A variable or value that nobody gives is not known: taking a default away brings no new finding."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]

DEFAULTS = {
    "name": '"default"',
    "role": '"KarpenterNodeRole-dev"',
    "terms": '[{ alias = "al2023@v20250403" }]',
    "zones": '["eu-west-1a", "eu-west-1b"]',
    "arch": '"arm64"',
    "taints": '[{ key = "team", value = "a", effect = "NoSchedule" }]',
    "weight": "10",
    "policy": '"WhenEmpty"',
    "cpu": '"1000"',
    "subnets": '["subnet-0123456789abcdef0"]',
    "large": "true",
    "tags": '{ team = "a" }',
}
OBJECTS = """\
resource "kubernetes_manifest" "class" {
  manifest = {
    apiVersion = "karpenter.k8s.aws/v1"
    kind       = "EC2NodeClass"
    metadata   = { name = var.name }
    spec = {
      role                       = var.role
      amiSelectorTerms           = var.terms
      subnetSelectorTerms        = [for id in var.subnets : { id = id }]
      securityGroupSelectorTerms = [{ tags = merge(var.tags, { "karpenter.sh/discovery" = "x" }) }]
      tags                       = var.tags
    }
  }
}
resource "kubernetes_manifest" "pool" {
  manifest = {
    apiVersion = "karpenter.sh/v1"
    kind       = "NodePool"
    metadata   = { name = var.name }
    spec = {
      weight     = var.weight
      limits     = { cpu = var.cpu }
      disruption = { consolidationPolicy = var.policy, consolidateAfter = var.large ? "1m" : "30s" }
      template = { spec = {
        nodeClassRef = { group = "karpenter.k8s.aws", kind = "EC2NodeClass", name = var.name }
        taints       = var.taints
        requirements = [
          { key = "topology.kubernetes.io/zone", operator = "In", values = var.zones },
          { key = "kubernetes.io/arch", operator = "In", values = [var.arch] },
        ]
      } }
    }
  }
}
"""
TEMPLATE = """\
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: ${V.name}
spec:
  role: ${V.role}
  amiSelectorTerms: ${jsonencode(V.terms)}
  subnetSelectorTerms:
%{ for id in V.subnets ~}
    - id: ${id}
%{ endfor ~}
  securityGroupSelectorTerms:
    - id: sg-0123456789abcdef0
  tags: ${jsonencode(V.tags)}
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: ${V.name}
spec:
  weight: ${V.weight}
  limits:
    cpu: ${V.cpu}
  disruption:
    consolidationPolicy: ${V.policy}
%{ if V.large ~}
    consolidateAfter: 1m
%{ else ~}
    consolidateAfter: 30s
%{ endif ~}
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: ${V.name}}
      taints: ${jsonencode(V.taints)}
      requirements:
        - key: topology.kubernetes.io/zone
          operator: In
          values: ${jsonencode(V.zones)}
        - key: kubernetes.io/arch
          operator: In
          values: ["${V.arch}"]
"""
CHART = """\
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: {{ .Values.name }}
spec:
  role: {{ .Values.role | quote }}
  amiSelectorTerms: {{ .Values.terms | toJson }}
  subnetSelectorTerms:
    {{- range .Values.subnets }}
    - id: {{ . }}
    {{- end }}
  securityGroupSelectorTerms:
    - id: sg-0123456789abcdef0
  tags: {{ toJson .Values.tags }}
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: {{ .Values.name }}
spec:
  weight: {{ .Values.weight }}
  limits:
    cpu: {{ .Values.cpu | quote }}
  disruption:
    consolidationPolicy: {{ .Values.policy }}
    consolidateAfter: {{ ternary "1m" "30s" .Values.large }}
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: {{ .Values.name }}}
      taints:
        {{- toYaml .Values.taints | nindent 8 }}
      requirements:
        - key: topology.kubernetes.io/zone
          operator: In
          values: {{ .Values.zones | toJson }}
        - key: kubernetes.io/arch
          operator: In
          values: [{{ .Values.arch }}]
"""


def variables(without: str = "", instead: str = "") -> str:
    lines = []
    for name, value in DEFAULTS.items():
        default = instead if name == without else f"default = {value}"
        lines.append(f'variable "{name}" {{\n  {default}\n}}\n')
    return "".join(lines)


def as_yaml(value: str) -> str:
    return re.sub(r"(\w+) = ", r"\1: ", value)


def write(folder: Path, shape: str, without: str = "", empty: str | None = None) -> None:
    if shape == "chart":
        chart = folder / "chart"
        (chart / "templates").mkdir(parents=True)
        (chart / "Chart.yaml").write_text("apiVersion: v2\nname: x\nversion: 0.1.0\n", encoding="utf-8")
        (chart / "templates/all.yaml").write_text(CHART, encoding="utf-8")
        given = {**DEFAULTS, **({without: empty} if empty is not None else {})}
        lines = [
            f"{name}: {as_yaml(value)}\n" for name, value in given.items() if name != without or empty is not None
        ]
        (chart / "values.yaml").write_text("".join(lines), encoding="utf-8")
        return
    text = variables(without, "" if empty is None else f"default = {empty}")
    if shape == "objects":
        text += OBJECTS
    elif shape == "heredoc":
        # Behind `~}` of a directive `<<-` takes no indentation away: people who write both write no indentation.
        body = TEMPLATE.replace("V.", "var.")
        text += f'resource "kubectl_manifest" "all" {{\n  yaml_body = <<EOT\n{body}\nEOT\n}}\n'
    else:
        (folder / "all.yaml.tpl").write_text(TEMPLATE.replace("V.", ""), encoding="utf-8")
        given = ", ".join(f"{name} = var.{name}" for name in DEFAULTS)
        text += f'locals {{\n  all = templatefile("${{path.module}}/all.yaml.tpl", {{ {given} }})\n}}\n'
    (folder / "main.tf").write_text(text, encoding="utf-8")


SHAPES = ("objects", "heredoc", "templatefile", "chart")


def finding_lines(nodelint: Run) -> list[str]:
    done = nodelint("check", ".", "--format", "concise", "--ignore", "placeholder-left")
    assert done.returncode in (0, 1), done.stderr
    return [line for line in done.stdout.splitlines() if re.search(r": (error|warning)\[", line)]


@pytest.mark.parametrize("shape", SHAPES)
def test_a_value_that_nobody_gives_is_no_null(nodelint: Run, tmp_path: Path, shape: str) -> None:
    cases: list[tuple[str, str | None]] = [("", None)]
    cases += [(name, empty) for name in DEFAULTS for empty in (None, "null")]
    for n, (name, empty) in enumerate(cases):
        folder = tmp_path / f"{n}"
        folder.mkdir()
        write(folder, shape, name, empty)
    lines = finding_lines(nodelint)
    found = {cases[int(line.split("/")[0])]: line for line in lines}
    assert not found


@pytest.mark.parametrize("shape", SHAPES)
def test_the_same_files_with_a_wrong_value_are_found_out(nodelint: Run, tmp_path: Path, shape: str) -> None:
    """The values do reach the objects: what holds above is no silence."""
    for n, (name, wrong) in enumerate((("policy", '"Always"'), ("arch", '"x86"'), ("weight", "1000"))):
        folder = tmp_path / f"{n}"
        folder.mkdir()
        write(folder, shape, name, wrong)
    assert {line.split("/")[0] for line in finding_lines(nodelint)} == {"0", "1", "2"}


CHOSEN = """\
variable "kind" { type = string }
variable "spot" { type = bool }
resource "kubectl_manifest" "pool" {
  yaml_body = yamlencode(var.spot ? {
    apiVersion = "karpenter.sh/v1"
    kind       = "NodePool"
    metadata   = { name = "spot" }
    spec = { template = { spec = {
      requirements = [{ key = "karpenter.sh/capacity-type", operator = "In", values = ["spot", var.kind] }]
    } } }
  } : {
    apiVersion = "karpenter.sh/v1"
    kind       = "NodePool"
    metadata   = { name = "other" }
    spec = { template = { spec = {
      requirements = [{ key = "kubernetes.io/arch", operator = "In", values = ["amd64", var.kind] }]
    } } }
  })
}
"""


@pytest.mark.parametrize(("kind", "is_wrong"), [("spot", False), ("arm64", True)])
def test_of_two_objects_only_the_one_that_the_condition_chooses_is_filled_in(
    nodelint: Run, tmp_path: Path, kind: str, is_wrong: bool
) -> None:
    (tmp_path / "main.tf").write_text(CHOSEN)
    (tmp_path / "terraform.tfvars").write_text(f'kind = "{kind}"\nspot = true\n')
    shown = nodelint("check", ".", "--select", "value-of-another-key", "--format", "concise").stdout
    assert ("value-of-another-key" in shown) == is_wrong, shown
