"""The law of a plan over what it does not know: a value is equal on both sides only if each of its inputs is.

Each tree has a class, or a pool, with a value in a hashed field that depends on its inputs. If one of these changes,
the plan never says that all is well; if anything else changes, it says nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from subprocess import CompletedProcess
from typing import NamedTuple

import pytest

from tests.plan.test_plan_command import git
from tests.repositories import write_files

Run = Callable[..., CompletedProcess[str]]

CLASS = """\
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: web
spec:
  role: nodes
  amiSelectorTerms:
    - alias: ALIAS
  subnetSelectorTerms:
    - tags: {karpenter.sh/discovery: x}
  securityGroupSelectorTerms:
    - tags: {karpenter.sh/discovery: x}
"""
POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: web
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: web}
      requirements:
        - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
"""
ALIAS = "al2023@v20260618"
CHART = "apiVersion: v2\nname: nodes\nversion: 0.1.0\n"
Change = tuple[str, str, str]
"""A file, a text in it, and what takes its place."""


class Tree(NamedTuple):
    """Files, changes of inputs of a hashed value, and changes of what is no input of any."""

    files: Mapping[str, str]
    inputs: tuple[Change, ...]
    outside: tuple[Change, ...] = ()


def class_of(alias: str = ALIAS, tags: str = "") -> str:
    return CLASS.replace("ALIAS", alias) + (f"  tags:\n    {tags}\n" if tags else "")


def heredoc(name: str, text: str, more: str = "") -> str:
    body = "".join(f"    {line}\n" for line in text.splitlines())
    return f'resource "kubectl_manifest" "{name}" {{\n{more}  yaml_body = <<-YAML\n{body}  YAML\n}}\n'


def terraform(tags: str, files: Mapping[str, str], more: str = "") -> dict[str, str]:
    """A module whose class takes its tags from an expression."""
    made = class_of(tags=f"${{indent(8, {tags})}}")
    return {"pool.tf": heredoc("pool", POOL), "class.tf": heredoc("class", made, more), **files}


def chart(
    folder: str = "chart", values: str = f"alias: {ALIAS}\n", alias: str = "{{ .Values.alias }}"
) -> dict[str, str]:
    return {
        f"{folder}/Chart.yaml": CHART,
        f"{folder}/values.yaml": values,
        f"{folder}/templates/class.yaml": class_of(alias),
        f"{folder}/templates/pool.yaml": POOL,
    }


NEWER = ("v20260618", "v20260714")
HELM_APPLICATION = """\
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: nodes, namespace: argocd}
spec:
  goTemplate: true
  generators:
GENERATORS
  template:
    metadata: {name: 'nodes-{{.name}}'}
    spec:
      project: default
      destination: {name: '{{.name}}'}
      sources:
        - repoURL: https://example.com/x.git
          path: chart
          helm: HELM
        - {repoURL: https://example.com/x.git, ref: values}
"""


APPLICATION_SET_OF_FOLDERS = """\
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: nodes, namespace: argocd}
spec:
  goTemplate: true
  generators: [{clusters: {selector: {matchLabels: {env: prod}}}}]
  template:
    metadata: {name: 'nodes-{{.name}}'}
    spec:
      project: default
      destination: {name: '{{.name}}'}
      source:
        repoURL: https://example.com/x.git
        path: '{{.name}}'
"""


def application_set(generators: str, helm: str) -> str:
    return HELM_APPLICATION.replace("GENERATORS", generators).replace("HELM", helm)


VARIABLE = 'variable "tags" {\n  type = map(string)\n}\nvariable "other" {\n  type = string\n  default = "a"\n}\n'
MERGE = 'merge(var.tags, { team = "a" })'
TEAM = ("main.tf", 'team = "a"', 'team = "b"')
OTHER = ("main.tf", 'default = "a"', 'default = "b"')
RELEASE_1_0 = (
    'resource "helm_release" "karpenter" {\n  name = "karpenter"\n  chart = "karpenter"\n'
    '  repository = "oci://public.ecr.aws/karpenter"\n  version = "1.0.0"\n}\n'
)
BETA_POOL = (
    POOL.replace("karpenter.sh/v1", "karpenter.sh/v1beta1")
    .replace("group: karpenter.k8s.aws,", "apiVersion: karpenter.k8s.aws/v1beta1,")
    .replace("  name: web\nspec", "  name: web\n  namespace: karpenter\nspec")
)
BETA_CLASS = f"""\
apiVersion: karpenter.k8s.aws/v1beta1
kind: EC2NodeClass
metadata:
  name: web
  namespace: karpenter-system
spec:
  tags: {{team: "${{local.tag}}"}}
  amiFamily: AL2023 # see ${{local.name}}
  role: ${{var.other}}
  amiSelectorTerms: [{{alias: {ALIAS}}}]
  subnetSelectorTerms: [{{tags: {{karpenter.sh/discovery: "${{local.name}}"}}}}]
  securityGroupSelectorTerms: [{{tags: {{karpenter.sh/discovery: "${{local.name}}"}}}}]
"""
MODULE = """\
variable "items" {
  type = any
}
resource "kubectl_manifest" "class" {
  for_each = { for item in var.items : item.name => item }
  yaml_body = templatefile("${path.module}/class.tftpl", {
    role = each.value.role
    tags = yamlencode(each.value.tags)
  })
}
"""
TEMPLATE = class_of(tags="${indent(4, tags)}").replace("role: nodes", "role: ${role}")
HELM_RELEASE = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: nodes, namespace: karpenter}
spec:
  chart: {spec: {chart: ./chart, sourceRef: {kind: GitRepository, name: flux-system}}}
  valuesFrom:
    - {kind: KIND, name: node-values}
"""


def values_holder(kind: str) -> str:
    head = f"apiVersion: v1\nkind: {kind}\nmetadata: {{name: node-values, namespace: karpenter}}\n"
    field = "data" if kind == "ConfigMap" else "stringData"
    return f"{head}{field}:\n  values.yaml: |\n    alias: {ALIAS}\n    taint: x\n"


TREES: dict[str, Tree] = {
    "terraform: a local": Tree(
        terraform("yamlencode(local.tags)", {"main.tf": f"{VARIABLE}locals {{\n  tags = {MERGE}\n  x = 1\n}}\n"}),
        (TEAM,),
        (OTHER, ("main.tf", "x = 1", "x = 2"), ("pool.tf", "resource", "# a comment\nresource")),
    ),
    "terraform: a chain of locals": Tree(
        terraform(
            "yamlencode(local.tags)",
            {
                "main.tf": VARIABLE,
                "l.tf": 'locals {\n  tags = merge(var.tags, local.b)\n  b = { team = local.c }\n  c = "a"\n}\n',
            },
        ),
        (("l.tf", 'c = "a"', 'c = "b"'),),
        (OTHER, ("l.tf", "locals {", "locals {\n  d = local.c")),
    ),
    "terraform: an inline expression": Tree(
        terraform(f"yamlencode({MERGE})", {"main.tf": VARIABLE}),
        (("class.tf", 'team = "a"', 'team = "b"'),),
        (OTHER,),
    ),
    "terraform: objects of v1beta1 with values that files give": Tree(
        {
            "main.tf": f"{RELEASE_1_0}{heredoc('pool', BETA_POOL)}"
            + "".join(heredoc(f"more_{n}", BETA_CLASS.replace("web", f"more-{n}"), "  count = 1\n") for n in "abc")
            + heredoc("class", BETA_CLASS, "  count = 1\n"),
            "values.tf": f'{VARIABLE}locals {{\n  tag = var.tags.team\n  name = "a"\n}}\n',
        },
        (("values.tf", "var.tags.team", "var.tags.unit"),),
        (
            ("main.tf", "name: more-a\n      namespace: karpenter-system\n", "name: more-a\n"),
            ("values.tf", "name =", "more = 1\n  name ="),
        ),
    ),
    "terraform: templatefile": Tree(
        {
            "class.tftpl": class_of(tags="${indent(4, tags)}"),
            "pool.tf": heredoc("pool", POOL),
            "main.tf": f'{VARIABLE}resource "kubectl_manifest" "c" {{\n'
            f'  yaml_body = templatefile("${{path.module}}/class.tftpl", '
            f"{{\n    tags = yamlencode({MERGE})\n    x = 1\n  }})\n}}\n",
        },
        (TEAM,),
        (OTHER, ("main.tf", "x = 1", "x = 2")),
    ),
    "terraform: a list through a module": Tree(
        {
            "modules/k/main.tf": MODULE,
            "modules/k/class.tftpl": TEMPLATE,
            "pool.tf": heredoc("pool", POOL),
            "main.tf": 'variable "items" {\n  type = list(any)\n}\nlocals {\n'
            '  items = coalescelist(var.items, [{ name = "a", '
            'role = "r", tags = { team = "a" } }])\n  x = 1\n}\nmodule "k" {\n  source = "./modules/k"\n'
            "  items = local.items\n}\n",
        },
        (TEAM,),
        (("main.tf", "x = 1", "x = 2"),),
    ),
    "terraform: an item with one unknown attribute": Tree(
        {
            "modules/k/main.tf": MODULE,
            "modules/k/class.tftpl": TEMPLATE,
            "pool.tf": heredoc("pool", POOL),
            "main.tf": 'resource "aws_iam_role" "r" {\n  name_prefix = "r"\n  tags = { x = "y" }\n}\nmodule "k" {\n'
            '  source = "./modules/k"\n'
            '  items = [{ name = "a", role = aws_iam_role.r.name, tags = { team = "a" } }]\n}\n',
        },
        (TEAM, ("main.tf", 'name_prefix = "r"', 'name_prefix = "s"')),
        (("main.tf", 'x = "y"', 'x = "z"'),),
    ),
    "terraform: the output of another root module": Tree(
        {
            "pool.tf": heredoc("pool", POOL),
            "main.tf": 'data "terraform_remote_state" "net" {\n  backend = "s3"\n  config = { key = "net" }\n}\n'
            + heredoc("class", class_of("${data.terraform_remote_state.net.outputs.ami}")),
            "net/main.tf": 'terraform {\n  backend "s3" {\n    key = "net"\n  }\n}\n'
            f'output "ami" {{\n  value = "{ALIAS}"\n}}\noutput "x" {{\n  value = 1\n}}\n',
            "other/main.tf": f'output "ami" {{\n  value = "{ALIAS}"\n}}\n',
        },
        (("net/main.tf", *NEWER), ("main.tf", 'key = "net"', 'key = "dev"')),
        (("net/main.tf", "value = 1", "value = 2"), ("other/main.tf", *NEWER)),
    ),
    "terraform: the output of a root module that is not named": Tree(
        {
            "k/pool.tf": heredoc("pool", POOL),
            "k/main.tf": 'data "terraform_remote_state" "net" {\n  backend = "local"\n  '
            'config = { path = "../net/terraform.tfstate" }\n}\nlocals {\n  '
            'net = data.terraform_remote_state.net.outputs\n}\ndata "tfe_outputs" "x" {}\n'
            + heredoc("class", class_of("${local.net.ami}", "team: ${data.tfe_outputs.x.values.team}")),
            "net/main.tf": f'output "ami" {{\n  value = "{ALIAS}"\n}}\noutput "x" {{\n  value = 1\n}}\n',
            "other/main.tf": f'output "ami" {{\n  value = "{ALIAS}"\n}}\noutput "team" {{\n  value = "a"\n}}\n',
        },
        (("net/main.tf", *NEWER), ("other/main.tf", '"a"', '"b"')),
        (("net/main.tf", "value = 1", "value = 2"), ("other/main.tf", *NEWER)),
    ),
    "chart: a named template of a chart that is not here": Tree(
        {
            "chart/Chart.yaml": f'{CHART}dependencies:\n  - {{name: lib, version: 1.0.0, repository: "oci://e.com"}}\n',
            "chart/values.yaml": "x: 1\n",
            "chart/templates/p.yaml": POOL,
            "chart/templates/c.yaml": "apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nmetadata:\n  name: web\n"
            'spec:\n  {{- include "lib.spec" . | nindent 2 }}\n',
            "other/Chart.yaml": f'{CHART}dependencies:\n  - {{name: lib, version: 1.0.0, repository: "oci://e.com"}}\n',
            "other/templates/p.yaml": POOL.replace("name: web", "name: other", 1),
        },
        (("chart/Chart.yaml", "1.0.0", "2.0.0"),),
        (("other/Chart.yaml", "version: 1.0.0", "version: 2.0.0"), ("chart/values.yaml", "x: 1", "x: 2")),
    ),
    "chart: values imported from a vendored chart": Tree(
        {
            "chart/Chart.yaml": f"{CHART}dependencies:\n  - name: d\n    version: 1.0.0\n    import-values:\n"
            "      - {child: exports.nodes, parent: nodes}\n      - data\n",
            "chart/values.yaml": "x: 1\n",
            "chart/templates/p.yaml": f"{class_of('{{ .Values.nodes.ami }}', 'team: {{ .Values.team }}')}---\n{POOL}",
            "chart/charts/d/Chart.yaml": "apiVersion: v2\nname: d\nversion: 1.0.0\n",
            "chart/charts/d/values.yaml": f"exports:\n  nodes: {{ami: {ALIAS}}}\n  data: {{team: a}}\n  no: 1\n",
        },
        (
            ("chart/charts/d/values.yaml", *NEWER),
            ("chart/charts/d/values.yaml", "team: a", "team: b"),
            ("chart/Chart.yaml", "parent: nodes", "parent: other"),
        ),
        (("chart/charts/d/values.yaml", "no: 1", "no: 2"), ("chart/Chart.yaml", "version: 1.0.0", "version: 1.0.1")),
    ),
    "terraform: a map by workspace": Tree(
        {
            "pool.tf": heredoc("pool", POOL),
            "main.tf": f'locals {{\n  ami = {{ prod = "{ALIAS}", dev = "{ALIAS}" }}\n  x = 1\n}}\n'
            + heredoc("class", class_of("${local.ami[terraform.workspace]}")),
        },
        (("main.tf", f'dev = "{ALIAS}"', 'dev = "al2023@v20260714"'),),
        (("main.tf", "x = 1", "x = 2"),),
    ),
    "terraform: lookup by a variable": Tree(
        {
            "pool.tf": heredoc("pool", POOL),
            "main.tf": f'variable "env" {{}}\nvariable "amis" {{\n  default = {{ prod = "{ALIAS}" }}\n}}\n'
            + heredoc("class", class_of("${lookup(var.amis, var.env)}")),
        },
        (("main.tf", *NEWER),),
        (("main.tf", 'variable "env" {}', 'variable "env" {\n  description = "where"\n}'),),
    ),
    "terraform: a file by a variable": Tree(
        {
            "pool.tf": heredoc("pool", POOL),
            "envs/prod.txt": ALIAS,
            "other/prod.txt": ALIAS,
            "main.tf": 'variable "env" {}\n'
            + heredoc("class", class_of('${file("${path.module}/envs/${var.env}.txt")}')),
        },
        (("envs/prod.txt", *NEWER),),
        (("other/prod.txt", *NEWER),),
    ),
    "terraform: a module elsewhere": Tree(
        {
            "pool.tf": heredoc("pool", POOL),
            "main.tf": 'module "m" {\n  source = "git::https://example.com/m.git?ref=v1"\n  x = local.x\n}\n'
            "locals {\n  x = 1\n  y = 1\n}\n" + heredoc("class", class_of("${module.m.alias}")),
        },
        (("main.tf", "ref=v1", "ref=v2"), ("main.tf", "  x = 1", "  x = 2")),
        (("main.tf", "y = 1", "y = 2"),),
    ),
    "terraform: the number of instances": Tree(
        {
            "pool.tf": heredoc("pool", POOL),
            "main.tf": 'variable "env" {}\nlocals {\n  wanted = ["prod"]\n  x = 1\n}\n'
            + heredoc("class", class_of(), "  count = contains(local.wanted, var.env) ? 1 : 0\n"),
        },
        (("main.tf", '["prod"]', '["dev"]'),),
        (("main.tf", "x = 1", "x = 2"),),
    ),
    "terraform: a variable of a file for one environment": Tree(
        {
            "pool.tf": heredoc("pool", POOL),
            "envs/prod.tfvars": 'more = ["a"]\nx = 1\n',
            "main.tf": 'variable "env" {}\nvariable "more" {}\nvariable "x" {}\n'
            + heredoc("class", class_of(tags='team: ${join("-", concat([var.env], var.more))}')),
        },
        (("envs/prod.tfvars", '"a"', '"b"'),),
        (("envs/prod.tfvars", "x = 1", "x = 2"),),
    ),
    "terragrunt: an input": Tree(
        {
            "modules/k/main.tf": 'variable "tags" {}\nvariable "x" {}\n'
            + heredoc("pool", POOL)
            + heredoc("class", class_of(tags="team: ${var.tags.team}")),
            "live/prod/terragrunt.hcl": 'terraform {\n  source = "../../modules/k"\n}\ninputs = {\n'
            '  tags = { team = "a" }\n  x = 1\n}\n',
        },
        (("live/prod/terragrunt.hcl", '"a"', '"b"'),),
        (("live/prod/terragrunt.hcl", "x = 1", "x = 2"),),
    ),
    "terragrunt: a file of values": Tree(
        {
            "modules/k/main.tf": 'variable "team" {}\n'
            + heredoc("pool", POOL)
            + heredoc("class", class_of(tags="team: ${var.team}")),
            "live/account.yaml": "team: a\nregion: eu-west-1\n",
            "live/prod/terragrunt.hcl": 'terraform {\n  source = "../../modules/k"\n}\ninputs = '
            'merge(yamldecode(file(find_in_parent_folders("account.yaml"))), {})\n',
        },
        (("live/account.yaml", "team: a", "team: b"),),
        (("live/account.yaml", "eu-west-1", "eu-west-2"),),
    ),
    "terragrunt: a module elsewhere, by an included file": Tree(
        {
            "_env/nodes.hcl": 'locals {\n  url = "git::https://example.com/m.git//karpenter-nodes"\n  x = 1\n}\n'
            'terraform {\n  source = "${local.url}?ref=v1"\n}\ninputs = {\n  team = "a"\n}\n',
            "live/prod/terragrunt.hcl": 'include "env" {\n  path = "../../_env/nodes.hcl"\n}\n'
            'inputs = {\n  pools = ["web"]\n}\n',
        },
        (
            ("_env/nodes.hcl", "ref=v1", "ref=v2"),
            ("_env/nodes.hcl", '"a"', '"b"'),
            ("live/prod/terragrunt.hcl", "web", "api"),
        ),
        (("_env/nodes.hcl", "x = 1", "x = 2"),),
    ),
    "chart: a test of it in a workflow": Tree(
        {
            **chart(values=f"alias: {ALIAS}\nother: 1\n"),
            "envs/prod.yaml": f"alias: {ALIAS}\n",
            ".github/workflows/test.yaml": "on: push\njobs:\n  test:\n    runs-on: ubuntu-latest\n    steps:\n"
            "      - run: helm template nodes chart --set other=2 > /dev/null\n",
            "deploy.sh": "helm upgrade --install nodes ./chart -f envs/prod.yaml > /dev/null\n",
        },
        (("envs/prod.yaml", *NEWER), ("deploy.sh", " > /dev/null", f" --set alias={ALIAS}x")),
        ((".github/workflows/test.yaml", "other=2", "alias=al2023@v20260101"),),
    ),
    "a placeholder of a shell in small letters": Tree(
        {"nodes.yaml": f"{POOL}---\n{class_of(tags='team: ${team}')}", "prod.env": "export team=a\nother=a\n"},
        (("prod.env", "team=a", "team=b"),),
        (("prod.env", "other=a", "other=b"),),
    ),
    "chart: its own version": Tree(
        chart(alias="al2023@{{ .Chart.AppVersion }}") | {"chart/Chart.yaml": f"{CHART}appVersion: v20260618\n"},
        (("chart/Chart.yaml", *NEWER),),
        (("chart/Chart.yaml", "version: 0.1.0", "version: 0.2.0"),),
    ),
    "chart: whether the chart around has it": Tree(
        {
            "up/Chart.yaml": CHART.replace("nodes", "up")
            + "dependencies:\n  - {name: nodes, version: 0.1.0, condition: use.nodes, repository: 'file://../chart'}\n",
            "up/values.yaml": "use:\n  nodes: true\n  other: true\n  third: false\n",
            **chart(),
        },
        (("up/values.yaml", "nodes: true", "nodes: false"), ("up/Chart.yaml", "use.nodes", "use.third")),
        (
            ("up/values.yaml", "other: true", "other: false"),
            ("up/Chart.yaml", "use.nodes", "use.other"),
            ("up/Chart.yaml", "version: 0.1.0, c", "version: 0.2.0, c"),
        ),
    ),
    "chart: its own values": Tree(
        chart(values=f"alias: {ALIAS}\nother: 1\n"),
        (("chart/values.yaml", *NEWER),),
        (("chart/values.yaml", "other: 1", "other: 2"),),
    ),
    "chart: a function that only the cluster knows": Tree(
        chart(
            values="release: prod\nother: 1\n",
            alias='{{ (lookup "v1" "ConfigMap" .Values.release "alias").data.alias }}',
        ),
        (("chart/values.yaml", "prod", "dev"), ("chart/templates/class.yaml", '"alias"', '"image"')),
        (("chart/values.yaml", "other: 1", "other: 2"),),
    ),
    "chart: a placeholder for another value": Tree(
        chart(values="one: ''\ntwo: ''\n", alias="{{ .Values.one }}"),
        (("chart/templates/class.yaml", "Values.one", "Values.two"),),
        (("chart/templates/class.yaml", "apiVersion", "# a comment\napiVersion"),),
    ),
    "chart: a named template": Tree(
        {
            **chart(values="x: ''\n", alias='{{ include "alias" . }}'),
            "chart/templates/_h.tpl": '{{ define "alias" }}{{ .Values.x }}-a{{ end }}\n'
            '{{ define "other" }}a{{ end }}\n',
        },
        (("chart/templates/_h.tpl", "}}-a", "}}-b"),),
        (("chart/templates/_h.tpl", "}}a{{", "}}b{{"),),
    ),
    "chart: global values of the chart around": Tree(
        {
            "up/Chart.yaml": CHART.replace("nodes", "up") + "dependencies:\n  - {name: nodes, version: 0.1.0}\n",
            "up/values.yaml": f"global:\n  alias: {ALIAS}\nother: 1\n",
            **chart("up/charts/nodes", alias="{{ .Values.global.alias }}"),
        },
        (("up/values.yaml", *NEWER),),
        (("up/values.yaml", "other: 1", "other: 2"),),
    ),
    "chart: a dependency by its path under an alias": Tree(
        {
            "up/Chart.yaml": CHART.replace("nodes", "up")
            + "dependencies:\n  - {name: nodes, version: 0.1.0, alias: prod, repository: 'file://../chart'}\n",
            "up/values.yaml": f"prod:\n  alias: {ALIAS}\n  other: 1\nnodes:\n  x: 1\n",
            **chart(),
        },
        (("up/values.yaml", *NEWER),),
        (("up/values.yaml", "other: 1", "other: 2"),),
    ),
    "terraform: a list that ends with a comma": Tree(
        {
            "main.tf": heredoc("web", class_of(tags="${yamlencode(local.tags)}"))
            + 'locals {\n  tags = concat(var.tags, [\n    "a",\n  ])\n}\nvariable "tags" {}\n'
        },
        (("main.tf", '"a",', '"b",'),),
        (("main.tf", '"a",', '"a"'), ("main.tf", '"a",', '"a", # one')),
    ),
    "chart: files that a pattern names": Tree(
        {
            **chart(alias='al2023@{{ (.Files.Glob "sums/*.txt").AsConfig | sha256sum }}-{{ .Release.Name }}'),
            "chart/sums/a.txt": "a\n",
            "chart/other.txt": "a\n",
        },
        (("chart/sums/a.txt", "a", "b"),),
        (("chart/other.txt", "a", "b"),),
    ),
    "chart: a file that a named template takes in": Tree(
        {
            **chart(alias='{{ include "alias" . }}'),
            "chart/templates/_h.tpl": '{{ define "alias" }}{{ .Files.Get "a.txt" }}{{ .Values.x }}{{ end }}\n',
            "chart/a.txt": "a\n",
            "chart/b.txt": "a\n",
        },
        (("chart/a.txt", "a", "b"),),
        (("chart/b.txt", "a", "b"),),
    ),
    "chart: values of one key elsewhere": Tree(
        {
            **chart(values="tags: {}\n", alias="al2023@v20260618"),
            "chart/templates/class.yaml": class_of(tags="{{- toYaml .Values.tags | nindent 4 }}"),
            "envs/prod/nodes.yaml": "tags: {team: a}\n",
            "envs/prod/app.yaml": "image: {tag: a}\n",
        },
        (("envs/prod/nodes.yaml", "team: a", "team: b"),),
        (("envs/prod/app.yaml", "tag: a", "tag: b"),),
    ),
    "chart: values beside it under another name": Tree(
        {**chart(), "chart/prod.yaml": f"alias: {ALIAS}\n"}, (("chart/prod.yaml", *NEWER),), ()
    ),
    "argo cd: a list generator": Tree(
        {
            **chart(),
            "set.yaml": application_set(
                f"    - list: {{elements: [{{name: dev, ami: {ALIAS}, x: '1'}}]}}",
                "{valuesObject: {alias: '{{.ami}}'}}",
            ),
        },
        (("set.yaml", *NEWER),),
        (("set.yaml", "x: '1'", "x: '2'"),),
    ),
    "argo cd: a git generator": Tree(
        {
            **chart(),
            "clusters/prod/config.json": f'{{"name": "prod", "ami": "{ALIAS}", "x": 1}}',
            "set.yaml": application_set(
                "    - git: {repoURL: 'https://example.com/x.git', files: [{path: 'clusters/*/config.json'}]}",
                "{parameters: [{name: alias, value: '{{.ami}}'}]}",
            ),
        },
        (("clusters/prod/config.json", *NEWER),),
        (("clusters/prod/config.json", '"x": 1', '"x": 2'),),
    ),
    "argo cd: a values file for each cluster": Tree(
        {
            **chart(),
            "clusters/prod/nodes.yaml": f"alias: {ALIAS}\n",
            "clusters/prod/other.yaml": "x: 1\n",
            "set.yaml": application_set(
                "    - clusters: {}", "{valueFiles: ['$values/clusters/{{.name}}/nodes.yaml']}"
            ),
        },
        (("clusters/prod/nodes.yaml", *NEWER),),
        (("clusters/prod/other.yaml", "x: 1", "x: 2"),),
    ),
    "flux: valuesFrom a ConfigMap": Tree(
        {
            **chart(),
            "release.yaml": HELM_RELEASE.replace("KIND", "ConfigMap"),
            "held.yaml": values_holder("ConfigMap"),
        },
        (("held.yaml", *NEWER),),
        (("held.yaml", "taint: x", "taint: y"),),
    ),
    "flux: valuesFrom a Secret": Tree(
        {
            **chart(),
            "release.yaml": HELM_RELEASE.replace("KIND", "Secret"),
            "held.yaml": values_holder("Secret"),
            "other.yaml": values_holder("Secret").replace("node-values", "others"),
        },
        (("held.yaml", *NEWER),),
        (("other.yaml", *NEWER),),
    ),
    "helmfile: values that are a template": Tree(
        {
            **chart(),
            "helmfile.yaml": "environments:\n  prod:\n    values: [envs/prod.yaml]\nreleases:\n  - name: nodes\n"
            "    chart: ./chart\n    values: [values/nodes.yaml.gotmpl]\n",
            "envs/prod.yaml": f"ami: {ALIAS}\n",
            "values/nodes.yaml.gotmpl": "alias: {{ .Values.ami }}\n",
            "other.yaml": "x: 1\n",
        },
        (("envs/prod.yaml", *NEWER), ("values/nodes.yaml.gotmpl", "ami", "image")),
        (("other.yaml", "x: 1", "x: 2"),),
    ),
    "jinja: a file of variables": Tree(
        {
            "class.yaml.j2": class_of("{{ ami }}"),
            "pool.yaml": POOL,
            "vars/prod.yml": f"karpenter: x\nami: {ALIAS}\nother: 1\n",
        },
        (("vars/prod.yml", *NEWER),),
        (("vars/prod.yml", "other: 1", "other: 2"),),
    ),
    "a shell's placeholder: a file of an environment": Tree(
        {"class.yaml": class_of("${AMI}"), "pool.yaml": POOL, "prod.env": f"AMI={ALIAS}\nOTHER=1\n"},
        (("prod.env", *NEWER),),
        (("prod.env", "OTHER=1", "OTHER=2"),),
    ),
    "a script": Tree(
        {"deploy.sh": f"kubectl apply -f - <<EOF\n{POOL}---\n{class_of()}EOF\n", "other.sh": "echo a\n"},
        (("deploy.sh", *NEWER),),
        (("other.sh", "a", "b"),),
    ),
    "a program": Tree(
        {"nodes.ts": 'new Resource({ apiVersion: "karpenter.sh/v1", kind: "NodePool", spec: { weight: 1 } });\n'},
        (("nodes.ts", "weight: 1", "weight: 2"),),
    ),
    "kustomize: a base elsewhere": Tree(
        {
            "kustomization.yaml": "resources:\n  - https://example.com/karpenter-nodes?ref=v1\n"
            "  - namespace.yaml\ncommonAnnotations: {a: b}\n",
            "namespace.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: x}\n",
        },
        (("kustomization.yaml", "ref=v1", "ref=v2"),),
        (("namespace.yaml", "name: x", "name: y"),),
    ),
    "terraform: a module that makes pools is elsewhere": Tree(
        {
            "main.tf": 'module "nodes" {\n  source = "git::https://example.com/m.git//nodes?ref=v1"\n'
            '  instance_families = ["m6i"]\n}\nlocals {\n  karpenter = 1\n}\n'
        },
        (("main.tf", "ref=v1", "ref=v2"), ("main.tf", "m6i", "m7i")),
        (("main.tf", "karpenter = 1", "karpenter = 2"),),
    ),
    "terraform: a data source": Tree(
        {
            "pool.tf": heredoc("pool", POOL),
            "main.tf": 'data "aws_ami" "x" {\n  owners = ["self"]\n}\nlocals {\n  x = 1\n}\n'
            + heredoc("class", class_of(tags="team: ${data.aws_ami.x.name}")),
        },
        (("main.tf", '"self"', '"amazon"'),),
        (("main.tf", "x = 1", "x = 2"),),
    ),
    "terraform: the output of a module": Tree(
        {
            "pool.tf": heredoc("pool", POOL),
            "m/main.tf": 'variable "e" {}\nvariable "z" {}\noutput "t" {\n  value = "${var.e}-a"\n}\n'
            'output "u" {\n  value = "${var.e}-q"\n}\n',
            "main.tf": 'variable "e" {}\nmodule "m" {\n  source = "./m"\n  e = "${var.e}-k"\n  z = 1\n}\n'
            + heredoc("class", class_of(tags="team: ${module.m.t}")),
        },
        (("m/main.tf", "}-a", "}-b"), ("main.tf", "}-k", "}-l")),
        (("m/main.tf", "}-q", "}-r"), ("main.tf", "z = 1", "z = 2")),
    ),
    "terraform: JSON": Tree(
        {
            "pool.yaml": POOL,
            "main.tf.json": '{"variable": {"e": {}}, "locals": {"t": "${var.e}-a", "u": "1"}}',
            "c.tf": heredoc("class", class_of(tags="team: ${local.t}")),
        },
        (("main.tf.json", "}-a", "}-b"),),
        (("main.tf.json", '"u": "1"', '"u": "2"'),),
    ),
    "terragrunt: what it includes": Tree(
        {
            "modules/k/main.tf": 'variable "tags" {}\nvariable "x" {}\n'
            + heredoc("pool", POOL)
            + heredoc("class", class_of(tags="team: ${var.tags.team}")),
            "live/terragrunt.hcl": 'locals {\n  a = "a"\n  n = get_env("X")\n}\ninputs = {\n'
            '  tags = { team = "${local.n}-${local.a}" }\n}\n',
            "live/prod/terragrunt.hcl": 'include "root" {\n  path = find_in_parent_folders()\n}\nterraform {\n'
            '  source = "../../modules/k"\n}\ninputs = {\n  x = 1\n}\n',
            "live/dev/terragrunt.hcl": "# x = 1\n",
        },
        (("live/terragrunt.hcl", 'a = "a"', 'a = "b"'),),
        (("live/dev/terragrunt.hcl", "x = 1", "x = 2"),),
    ),
    "terraform: values of a chart from a template": Tree(
        {
            **chart(),
            "v.yaml.tpl": "alias: ${a}-v20260618\n",
            "main.tf": 'variable "a" {}\nlocals {\n  q = 1\n}\nresource "helm_release" "n" {\n  name = "n"\n'
            '  chart = "${path.module}/chart"\n'
            '  values = [templatefile("${path.module}/v.yaml.tpl", { a = var.a })]\n}\n',
        },
        (("v.yaml.tpl", *NEWER),),
        (("main.tf", "q = 1", "q = 2"),),
    ),
    "chart: a template in its values": Tree(
        chart(values="alias: 'al2023@{{ .Values.v }}'\nv: v20260618\nother: 1\n", alias="{{ tpl .Values.alias . }}"),
        (("chart/values.yaml", "v: v20260618", "v: v20260714"),),
        (("chart/values.yaml", "other: 1", "other: 2"),),
    ),
    "chart: one of its files": Tree(
        {**chart(values="a: 1\n", alias='{{ .Files.Get "ami.txt" }}'), "chart/ami.txt": ALIAS},
        (("chart/ami.txt", *NEWER),),
        (("chart/values.yaml", "a: 1", "a: 2"),),
    ),
    "argo cd: a file of parameters": Tree(
        {
            **chart(),
            "app.yaml": "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: n}\nspec:\n  source:\n"
            "    repoURL: https://example.com/x.git\n    path: chart\n    helm:\n      fileParameters:\n"
            "        - {name: alias, path: files/ami.txt}\n        - {name: unused, path: files/c.txt}\n",
            "chart/files/ami.txt": ALIAS,
            "chart/files/b.txt": "x",
            "chart/files/c.txt": "x",
        },
        (("chart/files/ami.txt", *NEWER),),
        (("chart/files/b.txt", "x", "y"), ("chart/files/c.txt", "x", "y")),
    ),
    "argo cd: a file of parameters that no template reads": Tree(
        {
            **chart(values="a: 1\n", alias='{{ .Files.Get "ami.txt" | trim }}'),
            "app.yaml": "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: n}\nspec:\n  source:\n"
            "    repoURL: https://example.com/x.git\n    path: chart\n    helm:\n      fileParameters:\n"
            "        - {name: unused, path: files/c.txt}\n",
            "chart/ami.txt": ALIAS,
            "chart/files/c.txt": "x",
        },
        (("chart/ami.txt", *NEWER),),
        (("chart/files/c.txt", "x", "y"),),
    ),
    "flux: a chart elsewhere": Tree(
        {
            "release.yaml": HELM_RELEASE.replace("chart: ./chart", "chart: karpenter-nodes, version: 1.0.0").replace(
                "KIND", "ConfigMap"
            ),
            "other.yaml": "# karpenter\na: 1\n",
        },
        (("release.yaml", "1.0.0", "1.1.0"),),
        (("other.yaml", "a: 1", "a: 2"),),
    ),
    "flux: a variable of a Secret": Tree(
        {
            "kustomization.yaml": "resources: [class.yaml, pool.yaml]\n",
            "class.yaml": class_of("${AMI}"),
            "pool.yaml": POOL,
            "held.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: vars, namespace: f}\nstringData:\n"
            f"  AMI: {ALIAS}\n  OTHER: a\n",
        },
        (("held.yaml", *NEWER),),
        (("held.yaml", "OTHER: a", "OTHER: b"),),
    ),
}
BY_GIT = [*TREES.values()][::4]
"""A commit is read into the same files as a folder: what is then made of them is tried on each tree once."""
INPUTS = [
    pytest.param(tree, change, id=f"{name}, {n}")
    for name, tree in TREES.items()
    for n, change in enumerate(tree.inputs)
]
OUTSIDE = [
    pytest.param(tree, change, id=f"{name}, {n}")
    for name, tree in TREES.items()
    for n, change in enumerate(tree.outside)
]


def changed(files: Mapping[str, str], change: Change) -> dict[str, str]:
    path, old, new = change
    assert old in files[path]
    return {**files, path: files[path].replace(old, new)}


def plan_both_ways(nodelint: Run, folder: Path, tree: Tree, change: Change) -> Iterator[CompletedProcess[str]]:
    """The plan of two folders outside git, and for some trees of two commits."""
    after = changed(tree.files, change)
    write_files(folder / "old", tree.files)
    write_files(folder / "new", after)
    yield nodelint("plan", "--old", "old", "new", cwd=folder)
    if tree not in BY_GIT:
        return
    write_files(folder / "git", tree.files)
    git(folder / "git", "init", "-q")
    git(folder / "git", "add", ".")
    git(folder / "git", "commit", "-qm", "before")
    write_files(folder / "git", after)
    git(folder / "git", "commit", "-qam", "after")
    yield nodelint("plan", "--against", "HEAD~1", cwd=folder / "git")


@pytest.mark.parametrize(("tree", "change"), INPUTS)
def test_a_changed_input_is_never_all_clear(nodelint: Run, tmp_path: Path, tree: Tree, change: Change) -> None:
    for done in plan_both_ways(nodelint, tmp_path, tree, change):
        assert done.returncode == 1, done.stdout + done.stderr
        assert "No node is replaced" not in done.stdout.replace("No node is replaced in what was compared", "")


@pytest.mark.parametrize(("tree", "change"), OUTSIDE)
def test_what_is_no_input_is_no_alarm(nodelint: Run, tmp_path: Path, tree: Tree, change: Change) -> None:
    for done in plan_both_ways(nodelint, tmp_path, tree, change):
        assert done.returncode == 0, done.stdout + done.stderr


def test_each_build_of_a_chart_pairs_its_own_pool_and_class(nodelint: Run, tmp_path: Path) -> None:
    """The pool's template takes no values, that of the class does."""
    files = {**chart(), "chart/values-prod.yaml": f"alias: {ALIAS}\n"}
    write_files(tmp_path / "old", files)
    write_files(tmp_path / "new", changed(files, ("chart/values-prod.yaml", *NEWER)))
    done = nodelint("plan", "--old", "old", "new", "--format", "json", cwd=tmp_path)
    pools = json.loads(done.stdout)["nodePools"]
    assert [(pool["name"], pool["replaced"]) for pool in pools] == [("web", "all"), ("web", "none")]


def test_a_values_file_that_begins_to_match_makes_no_new_pool(nodelint: Run, tmp_path: Path) -> None:
    files = {**chart(values=f"alias: {ALIAS}\nsize: 1\n"), "envs/prod.yaml": f"alias: {ALIAS}\nx: 1\n"}
    write_files(tmp_path / "old", files)
    write_files(tmp_path / "new", changed(files, ("envs/prod.yaml", "x: 1", "size: 2")))
    done = nodelint("plan", "--old", "old", "new", "--format", "json", cwd=tmp_path)
    plan = json.loads(done.stdout)
    assert done.returncode == 1
    assert {pool["change"] for pool in plan["nodePools"]} == {"unchanged"}
    assert any("envs/prod.yaml" in place["reason"] for place in plan["notCompared"])


@pytest.mark.parametrize("pool", ["", f"---\n{POOL}"])
def test_a_field_that_no_list_has_is_not_known(nodelint: Run, tmp_path: Path, pool: str) -> None:
    for side, value in (("old", "false"), ("new", "true")):
        write_files(tmp_path / side, {"web.yaml": f"{class_of()}  hibernateWarmup: {value}\n{pool}"})
    done = nodelint("plan", "--karpenter-version", "1.16.0", "--old", "old", "new", cwd=tmp_path)
    assert done.returncode == 1
    assert "whether Karpenter 1.16.0 replaces nodes for spec.hibernateWarmup" in done.stdout
    assert "No node is replaced" not in done.stdout
