"""A literal of Terraform is fixed where it is written, with no other byte changed; a computed value is not."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Sequence
from itertools import cycle
from pathlib import Path
from textwrap import indent

import pytest

from nodelint.inventory import build
from nodelint.laws.rule_laws import Trial, alone, cases, target_of
from nodelint.lint.autofix import fix
from nodelint.lint.engine import LintRequest, Report, lint
from nodelint.rule.definition import Rule
from nodelint.text import Source
from tests.forms.terraform.test_terraform_shapes import EACH, SHAPES, pool
from tests.repositories import write_files

Run = Callable[..., subprocess.CompletedProcess[str]]


def texts(folder: Path, files: dict[str, str]) -> dict[str, str]:
    return {path: (folder / path).read_bytes().decode() for path in files}


LITERAL = sorted(
    name
    for name, shape in SHAPES.items()
    if "m5.xlrge" in str(shape.files)
    and not any(path.endswith((".json", ".yaml", ".tftpl")) for path in shape.files)
    and "quoted" not in name
)


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("name", LITERAL)
def test_a_literal_is_fixed_where_it_is_written(nodelint: Run, tmp_path: Path, name: str, newline: str) -> None:
    files = {path: text.replace("\n", newline) for path, text in SHAPES[name].files.items()}
    write_files(tmp_path, files)
    done = nodelint("check", ".", "--fix", "--unsafe-fixes", "--select", "unknown-value")
    assert "Traceback" not in done.stderr, done.stderr
    assert texts(tmp_path, files) == {path: text.replace("m5.xlrge", "m5.xlarge") for path, text in files.items()}


COMPUTED = {
    "a function": ('upper("M5.XLRGE")', ""),
    "a part of a text": ('"m5.${local.size}"', 'locals {\n  size = "xlrge"\n}\n'),
    "a key of a loop": ("each.key", ""),
}


@pytest.mark.parametrize("name", COMPUTED)
def test_what_is_computed_is_left_alone(nodelint: Run, tmp_path: Path, name: str) -> None:
    value, more = COMPUTED[name]
    head = EACH.replace("local.pools", 'toset(["m5.xlrge", "m5.large"])')
    value = value.replace("upper", "lower")
    files = {"m.tf": more + pool(f'[{value}, "m5.metal"]', '"a-${each.key}"', head)}
    write_files(tmp_path, files)
    done = nodelint("check", ".", "--fix", "--unsafe-fixes", "--select", "unknown-value")
    assert "m5.xlrge" in done.stdout, done.stdout
    assert texts(tmp_path, files) == files


def test_a_value_goes_from_a_list_of_literals(nodelint: Run, tmp_path: Path) -> None:
    types = '[\n    "m5.large", # stays\n    "a1.metal", # goes\n    "m5.metal",\n  ]'
    arch = 'requirements = [{ key = "kubernetes.io/arch", operator = "In", values = ["amd64"] }, {'
    files = {
        "m.tf": pool("var.types").replace("requirements = [{", arch),
        "v.tf": 'variable "types" {}\n',
        "terraform.tfvars": f"types = {types}\n",
    }
    write_files(tmp_path, files)
    done = nodelint("check", ".", "--fix", "--unsafe-fixes", "--select", "unmatchable-value")
    assert "Traceback" not in done.stderr, done.stderr
    wanted = {**files, "terraform.tfvars": files["terraform.tfvars"].replace('    "a1.metal", # goes\n', "")}
    assert texts(tmp_path, files) == wanted


CLASS = """\
resource "kubernetes_manifest" "class" {
  manifest = {
    apiVersion = "karpenter.k8s.aws/v1"
    kind       = "EC2NodeClass"
    metadata   = { name = NAME }
    spec       = { role = "x", amiSelectorTerms = [{ alias = "al2023@v20250403" }] }
  }
}
"""


@pytest.mark.parametrize(
    ("name", "class_name", "ref", "found"),
    [
        ("a local", "local.name", '"defualt"', True),
        ("two locals", "local.name", "local.ref", True),
        ("a default that somebody may replace", "var.name", '"defualt"', False),
        ("a reference that somebody may replace", "local.name", "var.ref", False),
        ("a condition over such a default", "local.name", 'var.name == "" ? "a" : "defualt"', False),
        ("a class whose name is not known", "random_id.x.hex", '"defualt"', False),
    ],
)
def test_a_reference_is_judged_where_both_names_are_settled(
    nodelint: Run, tmp_path: Path, name: str, class_name: str, ref: str, found: bool
) -> None:
    values = (
        'variable "name" {\n  default = "default"\n}\nvariable "ref" {\n  default = "defualt"\n}\n'
        'locals {\n  name = "default"\n  ref = "defualt"\n}\n'
    )
    text = pool('["m5.large"]').replace('name = "default"', f"name = {ref}")
    write_files(tmp_path, {"m.tf": values + text + CLASS.replace("NAME", class_name)})
    done = nodelint("check", ".", "--format", "concise", "--select", "unknown-node-class")
    lines = re.findall(r"(?m)^m\.tf:(\d+):.*unknown-node-class.*did you mean `default`", done.stdout)
    assert len(lines) == found, done.stdout


FORMS: dict[str, Callable[[str], dict[str, str]]] = {
    "heredoc": lambda text: {
        "m.tf": 'locals {\n  note = "n"\n}\n\nresource "kubectl_manifest" "x" {\n'
        "  yaml_body = <<-YAML\n    # ${local.note}\n" + indent(text.rstrip("\n"), "    ") + "\n  YAML\n}\n"
    },
    "templatefile": lambda text: {
        "m.tf": 'resource "kubectl_manifest" "x" {\n'
        '  yaml_body = templatefile("${path.module}/p.yaml", { note = "n" })\n}\n',
        "p.yaml": text.rstrip("\n") + "\n# ${note}\n",
    },
}
NOT_LED = {"flex-preference", "idle-capacity-buffer", "ignored-pod-annotation", "unknown-field", "yaml-syntax"}
"""Rules with an example whose edits touch more than the text of one manifest."""


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_a_fix_of_any_rule_lands_in_the_text_that_terraform_fills_in(
    rules: dict[str, Rule], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    """Each form takes every other example, and the lines of every other one of these end with CRLF."""
    monkeypatch.chdir(tmp_path)
    trial = Trial(rules)
    turns = cycle(FORMS)

    def make(text: str, newline: str) -> dict[str, str]:
        return {path: written.replace("\n", newline) for path, written in FORMS[form](text).items()}

    def judge(sources: Sequence[Source], request: LintRequest) -> Report:
        return lint(sources, request, built=build(sources).built)

    newlines = cycle(("\n", "\r\n"))
    for case in (case for rule in rules.values() for case in cases(rule)):
        text = case.bad.text
        if "{{" in text or "${" in text or not text.startswith(("apiVersion", "kind")) or not trial.has_fix(case):
            continue
        if next(turns) != form:
            continue
        newline = next(newlines)
        files, wanted = make(text, newline), make(trial.good(case).text, newline)
        write_files(tmp_path, files)
        sources = [Source(path, written) for path, written in files.items()]
        request = LintRequest(target_of(case.bad), rules, alone(case.rule))
        found = {source.path: source.text for source in fix(sources, request, unsafe=True, judge=judge).sources}
        assert found == wanted or (found == files and case.rule.name in NOT_LED), case.rule.name


MODULE = """\
resource "helm_release" "karpenter" {
  name    = "karpenter"
  chart   = "oci://public.ecr.aws/karpenter/karpenter"
  version = "1.8.2"
}

resource "kubectl_manifest" "pool" {
  yaml_body = <<-YAML
    apiVersion: karpenter.sh/v1
    kind: NodePool
    metadata: {name: gpu}
    spec:
      template:
        spec:
          nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: gpu}
          requirements: []
      limits:
        gpu: ${var.limit}
      disruption:
        consolidateAfter: 20m
        expireAfter: 720h
  YAML
}
"""
EKS = 'module "eks" {\n  source          = "terraform-aws-modules/eks/aws"\n  cluster_version = "VERSION"\n}\n'


def test_an_error_that_stays_does_not_keep_a_fix_back_where_clusters_differ(tmp_path: Path, nodelint: Run) -> None:
    """Staging uses the module; production, as near to its file, states another version of Kubernetes."""
    module = 'module "karpenter" {\n  source = "../karpenter"\n  limit  = 4\n}\n'
    files = {
        "karpenter/main.tf": MODULE,
        "staging/main.tf": EKS.replace("VERSION", "1.33") + module,
        "production/main.tf": EKS.replace("VERSION", "1.34"),
    }
    write_files(tmp_path, files)
    nodelint("check", "--fix", "--select", "unknown-limit", ".", cwd=tmp_path)
    expected = files | {"karpenter/main.tf": MODULE.replace("        gpu:", "        nvidia.com/gpu:")}
    assert texts(tmp_path, files) == expected
