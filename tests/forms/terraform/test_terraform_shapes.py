"""Terraform as people write it: each shape holds one wrong value, which is found where it is written."""

from __future__ import annotations

import json
import re
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodelint.forms.terraform import parsed as hcl_texts
from nodelint.forms.terraform import terragrunt
from nodelint.forms.terraform.evaluate import EvaluationBudget
from nodelint.forms.terraform.file_blocks import TerraformBlock
from nodelint.forms.terraform.filled_texts import filled_texts
from nodelint.forms.terraform.hcl import Text
from nodelint.forms.terraform.modules import ModuleFiles
from nodelint.text import Source
from tests.plain_yaml import load_yaml
from tests.repositories import write_files

Run = Callable[..., subprocess.CompletedProcess[str]]


class Shape(NamedTuple):
    """Files of a module, and where its findings stand: `file: text of the line`, in order."""

    files: dict[str, str]
    found: tuple[str, ...]


SPEC = """\
    spec = {
      template = { spec = {
        nodeClassRef = { group = "karpenter.k8s.aws", kind = "EC2NodeClass", name = "default" }
        requirements = [{ key = "node.kubernetes.io/instance-type", operator = "In", values = VALUES }]
      } }
    }
"""


def pool(values: str, name: str = '"a"', head: str = 'resource "kubernetes_manifest" "pool" {') -> str:
    return f"""\
{head}
  manifest = {{
    apiVersion = "karpenter.sh/v1"
    kind       = "NodePool"
    metadata   = {{ name = {name} }}
{SPEC.replace("VALUES", values)}  }}
}}
"""


EACH = 'resource "kubernetes_manifest" "pool" {\n  for_each = local.pools\n'
YAML = """\
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
          values:
%{ for type in types ~}
            - ${type}
%{ endfor ~}
"""

QUOTED = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: a
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: "node.kubernetes.io/instance-type", operator: In, values: ["m5.xlrge", "m5.large"]}
"""
SHAPES = {
    "default": Shape(
        {"v.tf": 'variable "types" { default = ["m5.xlrge", "m5.large"] }', "m.tf": pool("var.types")},
        ("v.tf: variable",),
    ),
    "default in the same file": Shape(
        {"m.tf": 'variable "types" {\n  default = ["m5.xlrge", "m5.large"]\n}\n' + pool("var.types")},
        ('m.tf: default = ["m5.xlrge", "m5.large"]',),
    ),
    "tfvars": Shape(
        {
            "v.tf": 'variable "types" { default = ["m5.large"] }',
            "terraform.tfvars": 'types = ["m5.large", "m5.xlrge"]',
            "m.tf": pool("var.types"),
        },
        ("terraform.tfvars: types",),
    ),
    "tfvars as JSON, the last file counts": Shape(
        {
            "v.tf": 'variable "types" {}',
            "terraform.tfvars.json": '{"types": ["m5.large"]}',
            "z.auto.tfvars.json": '{"types": ["m5.xlrge", "m5.large"]}',
            "m.tf": pool("var.types"),
        },
        ("z.auto.tfvars.json: ",),
    ),
    "locals with functions": Shape(
        {
            "m.tf": 'locals {\n  family = "m5"\n  more = ["large"]\n'
            '  types = toset([for s in concat(local.more, ["xlrge"]) : "${local.family}.${lower(s)}"])\n}\n'
            + pool("tolist(local.types)")
        },
        ('m.tf: types = toset([for s in concat(local.more, ["xlrge"]) :',),
    ),
    "for_each over a map of locals": Shape(
        {
            "m.tf": 'locals {\n  pools = {\n    good = { types = ["m5.large"] }\n'
            '    bad = { types = ["m5.xlrge", "m5.large"] }\n  }\n}\n' + pool("each.value.types", "each.key", EACH)
        },
        ('m.tf: bad = { types = ["m5.xlrge", "m5.large"] }',),
    ),
    "for_each over a set": Shape(
        {"m.tf": pool('["${each.key}.large"]', "each.key", EACH.replace("local.pools", 'toset(["m5", "m99"])'))},
        ('m.tf: values = ["${each.key}.large"]',),
    ),
    "count": Shape(
        {
            "m.tf": 'locals {\n  sizes = ["large", "xlrge"]\n}\n'
            + pool(
                '["m5.${local.sizes[count.index]}"]',
                '"p-${count.index}"',
                'resource "kubernetes_manifest" "p" {\n  count = length(local.sizes)',
            )
        },
        ('m.tf: values = ["m5.${local.sizes[count.index]}"]',),
    ),
    "a resource that is switched off": Shape(
        {
            "m.tf": 'variable "on" {\n  default = false\n}\n'
            + pool('["m5.xlrge", "m5.large"]', head='resource "x" "p" {\n  count = var.on ? 1 : 0')
        },
        ('m.tf: values = ["m5.xlrge", "m5.large"]',),
    ),
    "yamlencode of what is merged": Shape(
        {
            "m.tf": """\
locals {
  base = {
    apiVersion = "karpenter.sh/v1"
    kind       = "NodePool"
    metadata   = { name = "a" }
  }
}
resource "kubectl_manifest" "p" {
  yaml_body = yamlencode(merge(local.base, {
"""
            + SPEC.replace("VALUES", '["m5.xlrge", "m5.large"]')
            + "  }))\n}\n"
        },
        ('m.tf: values = ["m5.xlrge", "m5.large"]',),
    ),
    "parts of objects, merged where they are used": Shape(
        {
            "m.tf": """\
locals {
  base = {
    apiVersion = "karpenter.sh/v1"
    kind       = "NodePool"
    metadata   = { name = "base" }
    spec       = { weight = 10 }
  }
  class = {
    apiVersion = "karpenter.k8s.aws/v1"
    kind       = "EC2NodeClass"
    metadata   = { name = "default" }
    spec       = { amiSelectorTerms = [{ alias = "al2023@v20250403" }] }
  }
}
resource "kubectl_manifest" "pool" {
  for_each = { a = ["m5.xlrge", "m5.large"] }
  yaml_body = yamlencode(merge(local.base, {
    metadata = { name = each.key }
    spec = merge(local.base.spec, { template = { spec = {
      nodeClassRef = { group = "karpenter.k8s.aws", kind = "EC2NodeClass", name = "default" }
      requirements = [{ key = "node.kubernetes.io/instance-type", operator = "In", values = each.value }]
    } } })
  }))
}
resource "kubectl_manifest" "class" {
  yaml_body = yamlencode(merge(local.class, { spec = merge(local.class.spec, {
    role                       = "x"
    subnetSelectorTerms        = [{ tags = { Name = "a" } }]
    securityGroupSelectorTerms = [{ tags = { Name = "a" } }]
  }) }))
}
"""
        },
        ('m.tf: for_each = { a = ["m5.xlrge", "m5.large"] }',),
    ),
    "a part of an object, merged with what is not known": Shape(
        {
            "m.tf": 'variable "more" {}\nlocals {\n  base = {\n'
            '    apiVersion = "karpenter.sh/v1"\n    kind = "NodePool"\n'
            '    metadata = { name = "a" }\n    spec = { weight = 1000 }\n  }\n}\n'
            'resource "kubectl_manifest" "p" {\n  yaml_body = yamlencode(merge(local.base, var.more))\n}\n'
        },
        ("m.tf: spec = { weight = 1000 }",),
    ),
    "a map of whole objects": Shape(
        {
            "m.tf": 'locals {\n  all = { for k, v in { a = ["m5.xlrge", "m5.large"] } : k => {\n'
            '    apiVersion = "karpenter.sh/v1"\n    kind = "NodePool"\n    metadata = { name = k }\n'
            + SPEC.replace("VALUES", "v")
            + '  } }\n}\nresource "kubectl_manifest" "p" {\n  for_each  = local.all\n'
            "  yaml_body = yamlencode(each.value)\n}\n"
        },
        ('m.tf: all = { for k, v in { a = ["m5.xlrge", "m5.large"] }',),
    ),
    "heredoc with a loop": Shape(
        {
            "m.tf": 'variable "types" {\n  default = ["m5.xlrge", "m5.large"]\n}\n'
            'resource "kubectl_manifest" "p" {\n  yaml_body = <<-EOT\n'
            + re.sub("(?m)^", "    ", YAML.replace("in types", "in var.types").replace("${name}", "a"))
            + "\n  EOT\n}\n"
        },
        ('m.tf: default = ["m5.xlrge", "m5.large"]',),
    ),
    "heredoc with yamlencode": Shape(
        {
            "m.tf": 'locals {\n  reqs = [{\n    key = "node.kubernetes.io/instance-type"\n    operator = "In"\n'
            '    values = ["m5.xlrge", "m5.large"]\n  }]\n}\n'
            'resource "kubectl_manifest" "p" {\n  yaml_body = <<-EOT\n'
            + re.sub("(?m)^", "    ", YAML[: YAML.index("        - key")].replace("${name}", "a"))
            + "        ${indent(8, yamlencode(local.reqs))}\n  EOT\n}\n"
        },
        ('m.tf: values = ["m5.xlrge", "m5.large"]',),
    ),
    "templatefile in a loop": Shape(
        {
            "m.tf": 'locals {\n  pools = { a = ["m5.large"], b = ["m5.xlrge", "m5.large"] }\n}\n'
            'resource "kubectl_manifest" "p" {\n  for_each = local.pools\n'
            '  yaml_body = templatefile("${path.module}/p.yaml.tftpl", { name = each.key, types = each.value })\n}\n',
            "p.yaml.tftpl": YAML,
        },
        ("m.tf: pools = {",),
    ),
    "a module of the repository, called twice": Shape(
        {
            "main.tf": 'module "a" {\n  source = "./pools"\n  types = ["m5.large"]\n}\n'
            'module "b" {\n  source   = "./pools"\n  for_each = { x = ["m5.xlrge", "m5.large"] }\n'
            "  types    = each.value\n}\n",
            "pools/m.tf": 'variable "types" {}\n' + pool("var.types"),
        },
        ("main.tf: for_each = { x",),
    ),
    "optional attributes": Shape(
        {
            "m.tf": """\
variable "pools" {
  type = map(object({
    types  = optional(list(string), ["m5.xlrge", "m5.large"])
    weight = optional(number)
  }))
  default = { a = {}, b = { types = ["m5.large"] } }
}
"""
            + pool("each.value.types", "each.key", EACH.replace("local.pools", "var.pools"))
        },
        ('m.tf: types  = optional(list(string), ["m5.xlrge", "m5.large"])',),
    ),
    "a condition over what is known": Shape(
        {
            "m.tf": 'variable "env" {\n  default = "prod"\n}\n'
            + pool('var.env == "prod" ? ["m5.xlrge", "m5.large"] : ["m5.large"]')
        },
        ('m.tf: values = var.env == "prod" ? ["m5.xlrge", "m5.large"]',),
    ),
    "values of a YAML file": Shape(
        {
            "m.tf": 'locals {\n  pools = yamldecode(file("${path.module}/pools.yaml"))\n}\n'
            + pool("each.value.types", "each.key", EACH),
            "pools.yaml": "a:\n  types: [m5.xlrge, m5.large]\n",
        },
        ("pools.yaml: types: [m5",),
    ),
    "lookup, try and coalesce": Shape(
        {
            "m.tf": 'locals {\n  a = { b = "m5.xlrge" }\n}\n'
            + pool('[lookup(local.a, "b", "x"), try(local.a.c, "m5.large"), coalesce("", "m5.metal")]')
        },
        ('m.tf: a = { b = "m5.xlrge" }',),
    ),
    "the variables of an environment": Shape(
        {
            "m.tf": 'variable "types" {}\nvariable "name" {\n  default = "a"\n}\n' + pool("var.types", "var.name"),
            "envs/prod/terraform.tfvars": 'types = ["m5.xlrge", "m5.large"]\nname  = "prod"\n',
            "envs/dev.tfvars": 'types = ["m5.large"]\n',
        },
        ("envs/prod/terraform.tfvars: types",),
    ),
    "a module that the folder of an environment calls": Shape(
        {
            "modules/pools/m.tf": 'variable "types" {}\n' + pool("var.types"),
            "environments/prod/m.tf": 'module "pools" {\n  source = "../../modules/pools"\n  types  = var.types\n}\n'
            'variable "types" {}\n',
            "environments/prod/terraform.tfvars": 'types = ["m5.xlrge", "m5.large"]\n',
        },
        ("environments/prod/terraform.tfvars: types",),
    ),
    "a module that is called from far away": Shape(
        {
            "modules/pools/m.tf": 'variable "types" {}\n' + pool("var.types"),
            "live/prod/eu/a/m.tf": 'module "karpenter" {\n  source = "../../../../modules/pools"\n'
            '  types  = ["m5.xlrge", "m5.large"]\n}\n',
        },
        ("live/prod/eu/a/m.tf: types",),
    ),
    "inputs of Terragrunt": Shape(
        {
            "modules/pools/m.tf": 'variable "types" {}\nvariable "name" {}\n' + pool("var.types", "var.name"),
            "live/root.hcl": 'inputs = {\n  name = "default"\n}\n',
            "live/dev/terragrunt.hcl": """\
include "root" {
  path = find_in_parent_folders("root.hcl")
}
locals {
  size = "large"
}
terraform {
  source = "${get_repo_root()}/modules//pools"
}
inputs = {
  types = ["m5.${local.size}", "m5.xlrge"]
}
""",
            ".git/HEAD": "",
        },
        ("live/dev/terragrunt.hcl: types",),
    ),
    "what optional() says of a variable that nobody gives": Shape(
        {
            "m.tf": 'variable "all" {\n  type = object({\n    on = bool\n    karpenter = optional(object({\n'
            '      types = optional(list(string), ["m5.xlrge", "m5.large"])\n      any = optional(any, {})\n'
            "    }), {})\n  })\n}\n" + pool("var.all.karpenter.types")
        },
        ('m.tf: types = optional(list(string), ["m5.xlrge"',),
    ),
    "a heredoc in a condition, with code of several lines": Shape(
        {
            "m.tf": """\
variable "tags" {}
locals {
  types = ["m5.xlrge", "m5.large"]
  pool  = !var.tags.on ? "" : <<-EOT
    apiVersion: karpenter.sh/v1
    kind: NodePool
    metadata:
      name: a
      %{~ if coalesce(var.tags, {}) != {} ~}
      labels: ${jsonencode(merge(
  {
    a = "b"
  },
  var.tags
))}
      %{~ endif ~}
    spec:
      template:
        spec:
          nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
          requirements:
            - key: node.kubernetes.io/instance-type
              operator: In
              values: ${jsonencode(local.types)}
  EOT
}
"""
        },
        ('m.tf: types = ["m5.xlrge", "m5.large"]',),
    ),
    "a value of another manifest": Shape(
        {
            "m.tf": pool('["m5.xlrge", "m5.large"]')
            + pool(
                "kubernetes_manifest.pool.manifest.spec.template.spec.requirements[0].values",
                '"b"',
                'resource "kubernetes_manifest" "b" {',
            )
        },
        ('m.tf: requirements = [{ key = "node.kubernetes.io/instance-type", operator = "In", values = ["m5.xlrge"',),
    ),
    "yamlencode of an object": Shape(
        {
            "m.tf": 'locals {\n  types = ["m5.xlrge", "m5.large"]\n}\n'
            + pool("local.types", head='resource "kubectl_manifest" "pool" {')
            .replace("manifest = {", "yaml_body = yamlencode({")
            .replace("  }\n}\n", "  })\n}\n")
        },
        ('m.tf: types = ["m5.xlrge", "m5.large"]',),
    ),
    "values of a raw chart": Shape(
        {
            "m.tf": 'locals {\n  types = ["m5.xlrge", "m5.large"]\n}\nresource "helm_release" "p" {\n'
            '  values = [yamlencode({\n    resources = [{\n      apiVersion = "karpenter.sh/v1"\n'
            '      kind = "NodePool"\n      metadata = { name = "a" }\n'
            + SPEC.replace("VALUES", "local.types")
            + "    }]\n  })]\n}\n"
        },
        ('m.tf: types = ["m5.xlrge", "m5.large"]',),
    ),
    "values of a raw chart in a template": Shape(
        {
            "m.tf": 'locals {\n  types = ["m5.xlrge", "m5.large"]\n}\nresource "helm_release" "p" {\n'
            '  values = [templatefile("${path.module}/values.yaml", { types = local.types, name = "a" })]\n}\n',
            "values.yaml": "resources:\n"
            + re.sub("(?m)^(?!%)", "    ", YAML).replace("    api", "  - api", 1).rstrip(" "),
        },
        ('m.tf: types = ["m5.xlrge", "m5.large"]',),
    ),
    "nothing of it is known": Shape(
        {
            "m.tf": 'variable "a" {}\n'
            + pool('concat(var.a, data.x.y.z, module.m.types, regexall("x", "y"))', "random_id.x.hex")
        },
        (),
    ),
    "a list of which a part is known": Shape(
        {"m.tf": 'variable "more" {}\n' + pool('concat(["m5.xlrge", "m5.large"], var.more)')},
        ('m.tf: values = concat(["m5.xlrge", "m5.large"], var.more)',),
    ),
    "an object of which a part is known": Shape(
        {
            "m.tf": 'variable "more" {}\n'
            + pool('["m5.xlrge", "m5.large"]')
            .replace("template = {", "template = merge(var.more, {")
            .replace("} }\n    }", "} })\n    }")
        },
        ('m.tf: values = ["m5.xlrge", "m5.large"]',),
    ),
    "documents of a provider": Shape(
        {
            "m.tf": 'data "kubectl_path_documents" "d" {\n  pattern = "${path.module}/man/*.yaml"\n'
            '  vars = { type = "m5.xlrge" }\n}\n',
            "man/pool.yaml": QUOTED.replace("m5.xlrge", "${type}"),
        },
        ("m.tf: vars",),
    ),
    "files of a pattern": Shape(
        {
            "m.tf": 'resource "kubectl_manifest" "p" {\n  for_each = fileset(path.module, "man/{a,b}/**/*.tftpl")\n'
            '  yaml_body = templatefile("${path.module}/${each.value}", { type = "m5.xlrge" })\n}\n',
            "man/b/c/pool.tftpl": QUOTED.replace("m5.xlrge", "${type}"),
        },
        ("m.tf: yaml_body",),
    ),
    "an output of a module": Shape(
        {
            "m.tf": 'module "types" {\n  source = "./types"\n  type   = "m5.xlrge"\n}\n' + pool("module.types.all"),
            "types/m.tf": 'variable "type" {}\noutput "all" {\n  value = [var.type, "m5.large"]\n}\n',
        },
        ("m.tf: type",),
    ),
    "modules within modules": Shape(
        {
            "m.tf": 'module "a" {\n  source = "./a"\n  types  = ["m5.xlrge"]\n}\n',
            "a/m.tf": 'variable "types" {}\nmodule "b" {\n  source = "../b"\n  types  = var.types\n}\n',
            "b/m.tf": 'variable "types" {}\nmodule "c" {\n  source = "../c"\n  types  = var.types\n}\n',
            "c/m.tf": 'variable "types" {}\n' + pool('concat(var.types, ["m5.large"])'),
        },
        ("m.tf: types",),
    ),
    "a file that Terramate writes": Shape(
        {
            "stack.tm.hcl": 'generate_hcl "pool.tf" {\n  content {\n' + pool('["m5.xlrge", "m5.large"]') + "  }\n}\n",
            "m.tf": "# nothing\n",
        },
        ("stack.tm.hcl: values",),
    ),
    "a quoted text of JSON": Shape(
        {"m.tf.json": json.dumps({"resource": {"kubectl_manifest": {"p": {"yaml_body": QUOTED}}}}, indent=1)},
        ("m.tf.json: m5.xlrge",),
    ),
    "JSON in a quoted text of JSON": Shape(
        {
            "m.tf.json": json.dumps(
                {"resource": {"kubectl_manifest": {"p": {"yaml_body": json.dumps(load_yaml(QUOTED))}}}}, indent=1
            )
        },
        ("m.tf.json: m5.xlrge",),
    ),
    "a quoted text": Shape(
        {"m.tf": f'resource "kubectl_manifest" "p" {{\n  yaml_body = {json.dumps(QUOTED)}\n}}\n'},
        ("m.tf: m5.xlrge",),
    ),
    "only apply knows how many": Shape(
        {"m.tf": pool("each.value", "each.key", EACH.replace("local.pools", "data.x.y.pools"))},
        (),
    ),
}


def findings(nodelint: Run, select: str) -> list[tuple[str, int]]:
    done = nodelint("check", ".", "--format", "concise", "--select", select)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return [(m[1], int(m[2])) for m in re.finditer(r"(?m)^([^:\n]+):(\d+):\d+: (?:error|warning)\[", done.stdout)]


@pytest.mark.parametrize("name", SHAPES)
def test_a_wrong_value_is_found_where_it_is_written(nodelint: Run, tmp_path: Path, name: str) -> None:
    shape = SHAPES[name]
    write_files(tmp_path, shape.files)
    found = findings(nodelint, "unknown-value,no-instance-type,invalid-field,refused-combination")
    lines = [
        f"{path}: {(tmp_path / path).read_text(encoding='utf-8').splitlines()[line - 1].strip()}"
        for path, line in found
    ]
    assert len(lines) == len(shape.found), lines
    for line, place in zip(lines, shape.found, strict=True):
        path, _, text = place.partition(": ")
        assert line.startswith(path + ": ")
        assert text in line


def test_a_name_of_the_caller_is_no_text_of_the_template(nodelint: Run, tmp_path: Path) -> None:
    (tmp_path / "class.yaml.tpl").write_text(
        "apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nmetadata: {name: a}\nspec:\n  role: ${role}\n"
        "  amiSelectorTerms: [{alias: al2023@v20250403}]\n  subnetSelectorTerms: [{id: subnet-0123456789abcdef0}]\n"
        "  securityGroupSelectorTerms: [{id: sg-0123456789abcdef0}]\n",
        encoding="utf-8",
    )
    (tmp_path / "m.tf").write_text(
        'variable "cluster" {}\nresource "kubectl_manifest" "c" {\n'
        '  yaml_body = templatefile("${path.module}/class.yaml.tpl", { role = "NodeRole-${var.cluster}" })\n}\n',
        encoding="utf-8",
    )
    shown = nodelint("check", ".", "--format", "json")
    report = json.loads(shown.stdout)
    assert not report["findings"]
    assert [(entry["name"], entry["field"]) for entry in report["coverage"]["unknown"]] == [("a", "spec.role")]


def test_quotes_of_what_is_not_known_break_no_text(tmp_path: Path) -> None:
    text = (
        'variable "types" {}\nlocals {\n  types = "[\\"${join("\\", \\"", var.types)}\\"]"\n}\n'
        'resource "kubectl_manifest" "p" {\n  yaml_body = <<-EOT\n'
        + QUOTED.replace('["m5.xlrge", "m5.large"]', "${local.types}")
        + "  EOT\n}\n"
    )
    (tmp_path / "m.tf").write_text(text, encoding="utf-8")
    sources = [Source(str(tmp_path / "m.tf"), text)]
    (found,) = filled_texts(sources, ModuleFiles(sources))
    assert 'values: ["${unset}"]' in found.result.text


USER_DATA = """\
resource "kubernetes_manifest" "class" {
  manifest = {
    apiVersion = "karpenter.k8s.aws/v1"
    kind       = "EC2NodeClass"
    metadata   = { name = "default" }
    spec = {
      amiSelectorTerms           = [{ alias = "al2023@v20250403" }]
      role                       = "KarpenterNodeRole-x"
      subnetSelectorTerms        = [{ id = "subnet-0123456789abcdef0" }]
      securityGroupSelectorTerms = [{ id = "sg-0123456789abcdef0" }]
      userData = USER
    }
  }
}
"""
SCRIPT = "[settings.kubernetes]\nmax-pods = 20\n"


@pytest.mark.parametrize(
    ("written", "files"),
    [
        ("<<-EOT\n        " + SCRIPT.replace("\n", "\n        ") + "EOT", {}),
        ("<<-EOT\n        " + SCRIPT.replace("\n", "\n        ").replace("20", "${var.pods}") + "EOT", {}),
        ('file("${path.module}/user.toml")', {"user.toml": SCRIPT}),
        ('templatefile("${path.module}/user.toml", { pods = 20 })', {"user.toml": SCRIPT.replace("20", "${pods}")}),
        ('join("\\n", ["[settings.kubernetes]", "max-pods = 20"])', {}),
    ],
)
def test_user_data_is_read_in_each_of_its_forms(
    nodelint: Run, tmp_path: Path, written: str, files: dict[str, str]
) -> None:
    write_files(tmp_path, files)
    (tmp_path / "m.tf").write_text(USER_DATA.replace("USER", written), encoding="utf-8")
    (path,) = (path for path, _ in findings(nodelint, "user-data-family"))
    assert path == ("user.toml" if files else "m.tf")


def test_a_file_beyond_the_limits_says_so(nodelint: Run, tmp_path: Path) -> None:
    loop = "[for a in range(1000) : [for b in range(1000) : [for c in range(1000) : a]]]"
    text = f"locals {{\n  types = flatten({loop})\n}}\n" + pool("local.types") + pool('["m5.xlrge", "m5.large"]')
    (tmp_path / "m.tf").write_text(text, encoding="utf-8")
    done = nodelint("check", ".")
    assert "m5.xlrge" in done.stdout
    assert "its expressions take more steps than nodelint goes" in done.stdout


@pytest.mark.parametrize("command", ["explain", "hash", "plan"])
def test_each_instance_is_an_object_of_every_command(nodelint: Run, tmp_path: Path, command: str) -> None:
    files = SHAPES["for_each over a map of locals"].files
    (tmp_path / "m.tf").write_text(files["m.tf"].replace("m5.xlrge", "m5.xlarge"), encoding="utf-8")
    args: tuple[str, ...] = (".",)
    if command == "plan":
        (tmp_path / "old").mkdir()
        (tmp_path / "old/m.tf").write_text(files["m.tf"].replace("m5.xlrge", "c5.large"), encoding="utf-8")
        (tmp_path / "new").mkdir()
        (tmp_path / "m.tf").rename(tmp_path / "new/m.tf")
        args = ("--old", "old", "new")
    text = nodelint(command, *args).stdout
    assert re.search(r"NodePool[ /]bad\b", text), text
    assert command == "plan" or re.search(r"NodePool[ /]good\b", text), text


@given(
    st.sampled_from(sorted(SHAPES)),
    st.integers(0, 2000),
    st.integers(0, 30),
    st.sampled_from(["", "{", "}", '"', "${", "[", "(", "\n", "for "]),
)
def test_no_damage_to_a_file_breaks_the_reader(name: str, at: int, size: int, new: str) -> None:
    with TemporaryDirectory() as folder:
        write_files(Path(folder), SHAPES[name].files)
        path = next(path for path in SHAPES[name].files if path.endswith(("m.tf", "m.tf.json")))
        text = SHAPES[name].files[path]
        (Path(folder) / path).write_text(text[:at] + new + text[at + size :], encoding="utf-8")
        whole = Path(folder) / path
        source = Source.from_text(str(whole), whole.read_text(encoding="utf-8"))
        for made in filled_texts([source], ModuleFiles([source])):
            assert made.result.text == made.filled.text


def test_values_of_a_chart_elsewhere_are_judged_as_its_lists(nodelint: Run, tmp_path: Path) -> None:
    text = """\
locals {
  types = ["m5.xlrge", "m5.large"]
}
resource "helm_release" "karpenter_pools" {
  values = [yamlencode({
    nodePools = {
      general = {
        requirements = [
          { key = "karpenter.sh/capacity-type", operator = "In", values = ["spott"] },
          { key = "node.kubernetes.io/instance-type", operator = "In", values = local.types },
        ]
      }
    }
  })]
}
"""
    (tmp_path / "m.tf").write_text(text, encoding="utf-8")
    found = findings(nodelint, "unknown-value,no-instance-type,invalid-field")
    assert found == [("m.tf", 2), ("m.tf", 9)]


@pytest.mark.parametrize("name", SHAPES)
def test_an_object_is_there_once(name: str) -> None:
    for path, text in SHAPES[name].files.items():
        documents = Source.from_text(path, text).documents
        roots = [d.root for d in documents if d.root is not None and d.host != "quoted"]
        places, ends = [root.start for root in roots], [root.end for root in roots]
        assert all(end <= start for end, start in zip(ends, places[1:], strict=False)), (path, places)


@pytest.mark.parametrize("name", ["${var.name}-a", "a"])
def test_a_merge_of_objects_with_unknown_entries_is_left_as_it_stands(
    tmp_path: Path, nodelint: Run, name: str
) -> None:
    (tmp_path / "main.tf").write_text(
        'variable "name" {}\nvariable "tags" {\n  type = map(string)\n}\n'
        'resource "aws_iam_role" "a" {\n'
        f'  tags = merge(tomap({{ "Name" : "{name}" }}), {{ (var.name) = "b" }})\n}}\n'
        'resource "kubectl_manifest" "a" {\n  yaml_body = yamlencode({\n    apiVersion = "karpenter.sh/v1"\n'
        '    kind = "NodePool"\n    metadata = { name = "a" }\n    spec = { weight = 200 }\n  })\n}\n',
        encoding="utf-8",
    )
    (tmp_path / "terraform.tfvars").write_text(
        'domains = {} # for Karpenter, e.g. { "a.org" : "Z" }\nnames = [] # e.g. [ "a@b" ]\n', encoding="utf-8"
    )
    done = nodelint("check", ".")
    assert done.returncode == 1 and "internal error" not in done.stderr and "cannot be read" not in done.stderr
    assert "weight" in done.stdout


def test_a_file_of_terragrunt_is_parsed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many files include one, read its values, and look into it for each name."""
    names = [f"a{number}" for number in range(1, 9)]
    chain = "".join(f'  {name} = "${{local.a{number}}}-x"\n' for number, name in enumerate(names))
    child = """\
include "root" {
  path = find_in_parent_folders()
}
locals {
  root = read_terragrunt_config(find_in_parent_folders())
}
terraform {
  source = "../../nodes"
}
inputs = {
  own = local.root.locals.a8
}
"""
    write_files(tmp_path, {"terragrunt.hcl": f'locals {{\n  a0 = "web"\n{chain}}}\ninputs = {{ all = local.a8 }}\n'})
    write_files(tmp_path, {f"live/{number}/terragrunt.hcl": child for number in range(12)})
    parsed: Counter[tuple[str, int, int]] = Counter()
    read = hcl_texts.attributes_of

    def count(words: Text, block: TerraformBlock) -> Any:
        parsed[words.text, block.start, block.end] += 1
        return read(words, block)

    monkeypatch.setattr(hcl_texts, "attributes_of", count)
    sources = {str(path): Source.from_text(str(path), path.read_text()) for path in tmp_path.rglob("*.hcl")}
    calls = terragrunt.terragrunt_calls(str(tmp_path), sources.get, EvaluationBudget())
    (found,) = calls.values()
    assert {str(call.given["own"].value) for call in found} == {"web" + "-x" * 8}
    roots = [number for (text, *_), number in parsed.items() if text != child]
    assert roots and max(roots) == 1
