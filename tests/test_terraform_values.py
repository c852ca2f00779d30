"""Texts that Terraform fills in are judged with what its variables have, and with nothing that is not known."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodelint.source.filling import fill
from nodelint.source.gotemplate import BadTemplate
from nodelint.source.hcl import members
from nodelint.source.nodes import MappingEntry, Node
from nodelint.source.text import Source
from nodelint.source.tftemplate import parse
from tests.test_growth import growth

Run = Callable[..., subprocess.CompletedProcess[str]]

POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: ${name}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - key: node.kubernetes.io/instance-type
          operator: In
          values: ${jsonencode(types)}
        - key: kubernetes.io/arch
          operator: In
          values:
%{ for arch in arches ~}
          - ${arch}
%{ endfor ~}
"""
CALL = """\
resource "kubectl_manifest" "pool" {
  yaml_body = templatefile("${path.module}/templates/pool.yaml", {
    name   = var.name
    types  = var.types
    arches = local.arches
  })
}
locals {
  arches = var.arches
}
"""
VARIABLES = """\
variable "name" {
  type = string
  validation {
    condition = length(var.name) < 20
  }
}
variable "types" {
  type    = list(string)
  default = ["m5.large", "m5.xlrge"]
}
variable "arches" { default = ["amd64"] }
"""


def module(folder: Path, **files: str) -> None:
    for name, text in files.items():
        path = folder / (name.replace("__", "/").replace("_dot_", "."))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def told(nodelint: Run, *args: str) -> list[str]:
    done = nodelint("check", "--format", "concise", "--select", "unknown-value,no-instance-type", *args)
    return [line for line in done.stdout.splitlines() if "[" in line.partition(" ")[2]]


def test_a_file_of_templatefile_is_judged_with_the_defaults_of_variables(nodelint: Run, tmp_path: Path) -> None:
    module(tmp_path, main_dot_tf=CALL, variables_dot_tf=VARIABLES, templates__pool_dot_yaml=POOL)
    (line,) = told(nodelint, "templates")
    assert line.startswith("templates/pool.yaml:12:19: ")
    assert "m5.xlrge" in line
    text = nodelint("check", "templates").stdout
    assert "the variable's value" in text
    assert "variables.tf" in text
    before = (tmp_path / "variables.tf").read_text(encoding="utf-8")
    nodelint("check", "--fix", "--unsafe-fixes", ".")
    assert (tmp_path / "variables.tf").read_text(encoding="utf-8") == before
    assert (tmp_path / "templates/pool.yaml").read_text(encoding="utf-8") == POOL


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({"terraform_dot_tfvars": 'types = ["m5.large"]\n'}, ""),
        ({"terraform_dot_tfvars": 'arches = ["x86_64"]\ntypes = ["m5.large"]\n'}, "x86_64"),
        ({"a_dot_auto_dot_tfvars": 'types = ["c5.lrge", "c5.large"]\n'}, "c5.lrge"),
        ({"other_dot_tf": CALL.replace('"pool"', '"other"')}, ""),
        ({"variables_dot_tf": VARIABLES.replace("default = [", "# [")}, ""),
        ({"variables_dot_tf": VARIABLES.replace('["m5.large", "m5.xlrge"]', "[]")}, ""),
        ({"main_dot_tf": CALL.replace("var.types", "concat(var.types, [])")}, ""),
        ({"main_dot_tf": CALL.replace("var.types", '["r5.lrge", "m5.large"]')}, "r5.lrge"),
        ({"main_dot_tf": CALL.replace("templates/pool", "templates/other")}, ""),
        (
            {"main_dot_tf": CALL.replace("locals {", "locals { # arches\n  b = 1").replace("local.a", "local.b")},
            "xlrge",
        ),
    ],
)
def test_what_fills_a_template_is_what_terraform_would_take(
    nodelint: Run, tmp_path: Path, files: dict[str, str], found: str
) -> None:
    given = {"main_dot_tf": CALL, "variables_dot_tf": VARIABLES, "templates__pool_dot_yaml": POOL, **files}
    module(tmp_path, **given)
    lines = told(nodelint, "templates")
    assert [found in line for line in lines] == [True] * bool(found)


def test_the_one_call_of_a_module_gives_its_variables(nodelint: Run, tmp_path: Path) -> None:
    root = 'module "pools" {\n  source = "./modules/pools"\n  types = var.kinds\n  name = module.eks.name\n}\n'
    kinds = 'variable "kinds" { default = ["t3.smal", "t3.large"] }\nvariable "eks" {\n  default = "x"\n}\n'
    files = {"main_dot_tf": CALL, "variables_dot_tf": VARIABLES, "templates__pool_dot_yaml": POOL}
    module(tmp_path, main_dot_tf=root + kinds, **{f"modules__pools__{name}": text for name, text in files.items()})
    (line,) = told(nodelint, "modules")
    assert "t3.smal" in line
    module(tmp_path, main_dot_tf=root + root.replace('"pools"', '"more"') + kinds)
    (line,) = told(nodelint, "modules")
    assert "m5.xlrge" in line


def test_a_data_source_fills_in_a_file_as_well(nodelint: Run, tmp_path: Path) -> None:
    call = 'data "template_file" "p" {\n  template = file("./pool.tpl")\n  vars = {\n    types = var.types\n  }\n}\n'
    module(tmp_path, main_dot_tf=call, variables_dot_tf=VARIABLES, pool_dot_tpl=POOL)
    (line,) = told(nodelint, "pool.tpl")
    assert line.startswith("pool.tpl:12:19: ")


def test_heredocs_and_objects_of_terraform_have_their_variables(nodelint: Run, tmp_path: Path) -> None:
    text = POOL.replace("${jsonencode(", "${jsonencode(var.").replace("in arches", "in var.arches")
    heredoc = f'resource "kubectl_manifest" "p" {{\n  yaml_body = <<-EOT\n{text}  EOT\n}}\n'
    objects = """\
resource "kubernetes_manifest" "q" {
  manifest = {
    apiVersion = "karpenter.sh/v1"
    kind       = "NodePool"
    metadata   = { name = var.name }
    spec = { template = { spec = {
      nodeClassRef = { group = "karpenter.k8s.aws", kind = "EC2NodeClass", name = "default" }
      requirements = [{ key = "node.kubernetes.io/instance-type", operator = "In", values = var.types }]
    } } }
  }
}
"""
    module(tmp_path, main_dot_tf=VARIABLES + heredoc, objects_dot_tf=objects)
    lines = told(nodelint, ".")
    assert [line.partition(":")[0] for line in lines] == ["main.tf", "objects.tf"]
    assert all("m5.xlrge" in line for line in lines)


def filled(text: str, **values: str) -> str:
    source = Source("variables.tf", "\n".join(values.values()))
    root, at = Node(source, 0, 0, "mapping", "hcl"), 0
    for name, value in values.items():
        node = Node(source, at, at + len(value), "scalar", "plain", value)
        root.entries.append(MappingEntry(node, node, name))
        at += len(value) + 1
    return fill(text, parse(text, [(0, len(text))]), root, "nothing").text


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("a: ${x}\n", "a: 1\n"),
        ("a: $${x} %%{ if y }\n", "a: $${x} %%{ if y }\n"),
        ("a: ${x + 1}\n", "a: ${x + 1}\n"),
        ("%{ if x == 1 ~}\na: 1\n%{ endif ~}\nb: 2\n", "%{ if x == 1 ~}\na: 1\n%{ endif ~}\nb: 2\n"),
        ("%{ if x ~}\n  a: 1\n%{ else ~}\n  a: 2\n%{ endif ~}\nb: 2\n", "  a: 1\nb: 2\n"),
        ("a: ${ x ~}\n  b", "a: 1  b"),
        ("a:\n  %{~ if x }1%{ endif ~}\n", "a:\n1"),
        ("a: ${upper(y)}", "a: Z"),
    ],
)
def test_templates_are_filled_as_terraform_fills_them(text: str, result: str) -> None:
    assert filled(text, x="1", y="z") == result


def test_a_file_of_variables_takes_work_that_grows_with_its_length() -> None:
    def make(size: int) -> Callable[[], object]:
        text = "".join(f'variable "v{n}" {{\n  type    = list(string)\n  default = ["a"]\n}}\n' for n in range(size))
        source = Source("variables.tf", text)
        places = [match.end() - 1 for match in re.finditer(r'" \{', text)]
        return lambda: [members(source, place) for place in places]

    assert growth(make, 20) < 1.3


@given(
    st.lists(
        st.sampled_from(["${", "%{", "}", "~", " for ", " in ", "x", "\n", "if ", "endif", "endfor", '"', "$", " "])
    )
)
def test_no_text_breaks_the_reader(words: list[str]) -> None:
    text = "".join(words)
    try:
        parse(text, [(0, len(text))])
    except BadTemplate:
        return
    assert isinstance(filled(text, x="1"), str)
