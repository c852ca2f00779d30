"""Terraform: a value from an unknown part and a text, by way of any number of expressions, modules and files."""
# ruff: noqa: E501  (a file that is written stands in one line)

from __future__ import annotations

from random import Random

from tests.plain_yaml import load_yaml
from tests.plan.law.made import Maker, Tree, objects_with

OPERATORS = (
    '"${U}-${S}"',
    'join("-", [U, S])',
    'format("%s-%s", U, S)',
    'lookup({ a = S, b = "x" }, U, "d")',
    '{ a = S, b = "x" }[U]',
    "coalesce(U, S)",
    "try(U.none, S)",
    'U == "a" ? S : "z"',
    'element([S, "q"], length(U))',
    'replace(U, "x", S)',
    "trimprefix(U, S)",
    'yamldecode(yamlencode({ t = "${U}${S}" })).t',
    'md5("${U}${S}")',
    'base64encode(join("", [S, U]))',
    'join("", [for k, v in { a = S } : v if k == U])',
    'lookup(merge({ team = S }, { (U) = "z" }), "team", "d")',
    'merge({ team = S }, { (U) = "z" })["team"]',
    'one(compact([S, U == "" ? "z" : ""]))',
    'join(",", toset([U, S]))',
    'split("/", "${U}/${S}")[0] == "a" ? "b" : S',
    'can(regex(S, U)) ? "a" : "b"',
    'substr(sha256("${U}${S}"), 0, 8)',
    'zipmap([U], [S])["a"]',
    "flatten([[U], [S]])[length(U) > 3 ? 0 : 1]",
)
WRAPS = (
    "lower(E)",
    'trimspace("${E}")',
    'element(split(",", E), 0)',
    "title(E)",
    "jsondecode(jsonencode({ a = E })).a",
    "values({ a = E })[0]",
    "nonsensitive(E)",
    'coalesce("", E)',
    "tostring(E)",
    'replace(E, "/", "-")',
    '"${E}"',
    '"a%{ if E != "" }b${E}%{ endif }"',
)
UNKNOWN = ("variable", "data", "resource", "workspace", "public", "dependency")
SOURCES = (
    "literal",
    "local",
    "locals",
    "default",
    "tfvars",
    "auto.tfvars",
    "json.tfvars",
    "environment",
    "environments",
    "file",
    "json file",
    "yaml file",
    "template",
    "module",
    "resource",
    "data",
    "public",
    "object default",
    "local by key",
    "for expression",
)
PLACES = ("heredoc", "object", "yamlencode", "template", "for_each", "module", "terragrunt", "chart")


class TerraformMaker(Maker):
    """Makes a root, and modules below it."""

    def __init__(self, random: Random) -> None:
        super().__init__(random)
        self.root = ""
        self.main = "main.tf"

    def at(self, name: str) -> str:
        """Return the path of a file of the module that is written."""
        return self.root + name

    def file(self) -> str:
        """Return the path of one of the module's files."""
        return self.at(self.random.choice(("main.tf", "locals.tf", "more.tf")))

    def unknown(self) -> str:
        """Return an expression for a text that is not known before an apply."""
        name, main = self.name("u"), self.at("unknown.tf")
        way = self.pick(*UNKNOWN)
        if way == "variable":
            self.add(main, f'variable "{name}" {{\n  description = "{self.decoy(main)}"\n}}\n')
            return f"var.{name}"
        if way == "data":
            self.add(main, f'data "aws_ssm_parameter" "{name}" {{\n  name = "{self.input(main)}"\n}}\n')
            return f"data.aws_ssm_parameter.{name}.value"
        if way == "resource":
            self.add(main, f'resource "aws_iam_role" "{name}" {{\n  name_prefix = "{self.input(main)}"\n')
            self.add(main, f'  tags = {{ a = "{self.decoy(main)}" }}\n}}\n')
            return f"aws_iam_role.{name}.name"
        if way == "workspace":
            return "terraform.workspace"
        if way == "public":
            self.add(main, f'module "{name}" {{\n  source = "terraform-aws-modules/eks/aws"\n  version = "20.0.0"\n')
            self.add(main, f'  cluster_name = "{self.input(main)}"\n  tags = {{ a = "{self.decoy(main)}" }}\n}}\n')
            return f"module.{name}.cluster_name"
        self.add(main, f'data "terraform_remote_state" "{name}" {{\n  backend = "s3"\n')
        self.add(main, f'  config = {{ bucket = "b", key = "{self.input(main)}" }}\n}}\n')
        return f"data.terraform_remote_state.{name}.outputs.x"

    def source(self, depth: int) -> str:
        """Return an expression for a text that stands in some file."""
        path = self.file()
        name = self.name("s")
        way = self.pick(*SOURCES)
        further = self.source if depth > 0 else self.literal
        if way == "local":
            self.add(
                path, f"locals {{\n  {name} = {further(depth - 1)}\n  {self.name()} = {self.quoted_other(path)}\n}}\n"
            )
            return f"local.{name}"
        if way == "locals":
            inner = self.name("s")
            self.add(path, f"locals {{\n  {name} = {{ a = {further(depth - 1)}, b = local.{inner} }}\n")
            self.add(path, f'  {inner} = "q"\n}}\n')
            return f'local.{name}["a"]'
        if way == "local by key":
            self.add(
                path, f'locals {{\n  {name} = {{ prod = {{ v = {further(depth - 1)} }}, dev = {{ v = "d" }} }}\n}}\n'
            )
            return f'lookup(local.{name}, terraform.workspace, local.{name}["dev"]).v'
        if way == "for expression":
            self.add(path, f"locals {{\n  {name} = {{ for k in [{further(depth - 1)}] : k => upper(k) }}\n}}\n")
            return f"values(local.{name})[0]"
        if way in ("default", "object default"):
            return self.of_variable(name, way, self.literal(0, self.at("variables.tf")))
        if way in ("tfvars", "auto.tfvars", "environment"):
            names = {"tfvars": "terraform.tfvars", "auto.tfvars": "a.auto.tfvars", "environment": "envs/prod.tfvars"}
            given = self.at(names[way])
            self.add(given, f'{name} = "{self.input(given)}"\n{self.name()} = "{self.decoy(given)}"\n')
            return self.of_variable(name, way, None)
        if way == "environments":
            for given in (self.at("envs/dev.tfvars"), self.at("envs/prod.tfvars")):
                self.add(given, f'{name} = "{self.input(given)}"\n{self.name()} = "{self.decoy(given)}"\n')
            return self.of_variable(name, way, None)
        if way == "json.tfvars":
            given = self.at(f"{name}.auto.tfvars.json")
            self.add(given, f'{{"{name}": "{self.input(given)}", "{self.name()}": "{self.decoy(given)}"}}\n')
            return self.of_variable(name, way, None)
        if way in ("file", "json file", "yaml file", "template"):
            return self.of_file(name, way, depth)
        if way in ("module", "resource", "data", "public"):
            return self.of_block(name, way, further(depth - 1))
        return self.literal(0)

    def literal(self, _: int, path: str = "") -> str:
        """Return a quoted text; where it comes to stand is found out at the end."""
        return f'"{self.input(path or "?")}"'

    def quoted_other(self, path: str) -> str:
        return f'"{self.decoy(path)}"'

    def of_variable(self, name: str, way: str, default: str | None) -> str:
        path = self.at("variables.tf")
        if way == "object default":
            self.add(
                path, f'variable "{name}" {{\n  default = {{ a = {default}, b = {self.quoted_other("-")} }}\n}}\n'
            )
            return f"var.{name}.a"
        given = f"  default = {default}\n" if default else ""
        self.add(path, f'variable "{name}" {{\n{given}  description = "{self.decoy(path)}"\n}}\n')
        return f"var.{name}"

    def of_file(self, name: str, way: str, depth: int) -> str:
        path = self.at(f"files/{name}.{way.split()[0]}")
        where = f'"${{path.module}}/files/{name}.{way.split()[0]}"'
        text = self.input(path)
        if way == "file":
            self.add(path, text)
            return f"trimspace(file({where}))"
        if way == "template":
            self.add(path, f"{text}-${{a}}")
            further = self.source(depth - 1) if depth > 0 else self.literal(0)
            return f"templatefile({where}, {{ a = {further} }})"
        key = "a: {}\nb: c\n" if way == "yaml file" else '{{"a": "{}", "b": "c"}}'
        self.add(path, key.format(text))
        return f"{way.split()[0]}decode(file({where})).a"

    def of_block(self, name: str, way: str, further: str) -> str:
        path = self.file()
        other = self.quoted_other(path)
        if way == "resource":
            self.add(
                path, f'resource "aws_iam_role" "{name}" {{\n  name = {further}\n  tags = {{ a = {other} }}\n}}\n'
            )
            return f"aws_iam_role.{name}.name"
        if way == "data":
            self.add(path, f'data "aws_ami" "{name}" {{\n  name_regex = {further}\n}}\n')
            return f"data.aws_ami.{name}.id"
        if way == "public":
            self.add(path, f'module "{name}" {{\n  source = "aws-ia/eks-blueprints-addons/aws"\n  version = "1.0"\n')
            self.add(path, f"  cluster_name = {further}\n}}\n")
            return f"module.{name}.karpenter.node_iam_role_name"
        folder = self.at(f"modules/{name}/")
        self.add(path, f'module "{name}" {{\n  source = "./modules/{name}"\n  a = {further}\n  b = {other}\n}}\n')
        self.add(f"{folder}main.tf", 'variable "a" {}\nvariable "b" {}\noutput "o" {\n')
        self.add(f"{folder}main.tf", f'  value = "${{var.a}}-{self.input(folder + "main.tf")}"\n}}\n')
        self.add(f"{folder}main.tf", f'output "p" {{\n  value = "${{var.b}}-{self.decoy(folder + "main.tf")}"\n}}\n')
        return f"module.{name}.o"

    def value(self) -> str:
        """Return the expression of the hashed value."""
        made = self.source(self.random.randint(0, 2))
        if self.random.random() < 0.85:
            made = self.pick(*OPERATORS).replace("U", "\0").replace("S", made).replace("\0", self.unknown())
        for _ in range(self.random.randint(0, 2)):
            made = self.pick(*WRAPS).replace("E", made)
        if self.random.random() < 0.3:
            name = self.name("l")
            self.add(self.file(), f"locals {{\n  {name} = {made}\n}}\n")
            made = f"local.{name}"
        return made


def make(random: Random) -> Tree:
    """Return a tree of Terraform."""
    maker = TerraformMaker(random)
    place = maker.pick(*PLACES)
    of_pool = random.random() < 0.4
    if place in ("module", "terragrunt"):
        _make_outer(maker, place, of_pool)
    else:
        _write(maker, place, maker.value(), of_pool)
    _locate(maker)
    return maker.tree("terraform")


def _write(maker: TerraformMaker, place: str, value: str, of_pool: bool) -> None:
    """Write a pool and a class, one with the value of an expression."""
    main = maker.at("main.tf")
    if place in ("heredoc", "module", "terragrunt"):
        for number, text in enumerate(objects_with(f'"${{{value}}}"', of_pool).split("---\n")):
            maker.add(main, _manifest(f"m{number}", f"<<-YAML\n{_indented(text)}  YAML"))
        return
    if place == "chart":
        maker.add("chart/Chart.yaml", "apiVersion: v2\nname: nodes\nversion: 0.1.0\n")
        maker.add("chart/values.yaml", "team: none\n")
        maker.add("chart/templates/all.yaml", objects_with("{{ .Values.team | quote }}", of_pool))
        given = (
            f"values = [yamlencode({{ team = {value} }})]"
            if maker.random.random() < 0.5
            else f'set {{\n    name = "team"\n    value = {value}\n  }}'
        )
        maker.add(
            main,
            f'resource "helm_release" "nodes" {{\n  name = "nodes"\n  chart = "${{path.module}}/chart"\n  {given}\n}}\n',
        )
        return
    if place in ("template", "for_each"):
        for number, text in enumerate(objects_with("${team}", of_pool).split("---\n")):
            path = maker.at(f"m{number}.yaml.tpl")
            maker.add(path, _with_comment(maker, path, text) if maker.random.random() < 0.4 else text)
            call = f'templatefile("${{path.module}}/m{number}.yaml.tpl", {{ team = TEAM }})'
            more = ""
            if place == "for_each":
                more = f"  for_each = {{ web = {{ team = {value} }} }}\n"
                call = call.replace("TEAM", "each.value.team")
            maker.add(main, _manifest(f"m{number}", call.replace("TEAM", value), more))
        return
    for number, text in enumerate(objects_with('"VALUE"', of_pool).split("---\n")):
        written = _as_hcl(text).replace('"VALUE"', value)
        if place == "object":
            maker.add(main, f'resource "kubernetes_manifest" "m{number}" {{\n  manifest = {written}\n}}\n')
        else:
            maker.add(main, _manifest(f"m{number}", f"yamlencode({written})"))


def _with_comment(maker: TerraformMaker, path: str, text: str) -> str:
    """Return a template with a condition in comments of YAML, which Terraform evaluates, and with a comment that is
    none.
    """
    line = next((line for line in text.splitlines(keepends=True) if "${team}" in line), "")
    begin = line[: len(line) - len(line.lstrip())]
    more = f"{begin}more: {maker.input(path)}\n"
    code = f'{begin}# %{{ if team != "" }}\n{more}{begin}# %{{ endif }}\n{begin}# {maker.decoy(path)}\n'
    return text.replace(line, line + code) if line else text


def _make_outer(maker: TerraformMaker, place: str, of_pool: bool) -> None:
    """Write a module that takes the value, and what calls it."""
    inner = "modules/nodes/"
    way = maker.pick("text", "map", "object")
    value = {"text": "var.team", "map": 'var.team["team"]', "object": 'lookup(var.team.tags, "team", "none")'}[way]
    given = {"text": "{}", "map": "{{ team = {} }}", "object": "{{ tags = {{ team = {} }} }}"}[way]
    maker.root = inner
    maker.add(
        f"{inner}main.tf",
        f'variable "team" {{\n  description = "{maker.decoy(inner + "main.tf")}"\n}}\nvariable "other" {{}}\n',
    )
    _write(maker, place, value, of_pool)
    if place == "module":
        maker.root = ""
        made = given.format(maker.value())
        maker.add("main.tf", f'module "nodes" {{\n  source = "./modules/nodes"\n  team = {made}\n')
        maker.add("main.tf", f'  other = "{maker.decoy("main.tf")}"\n}}\n')
        return
    unit = "live/prod/nodes/terragrunt.hcl"
    way = maker.pick("inputs", "locals", "dependency", "included", "env", "read_terragrunt_config")
    more, value = "", ""
    if way == "inputs":
        value = f'"{maker.input(unit)}"'
    elif way == "locals":
        more, value = f'locals {{\n  a = "{maker.input(unit)}"\n}}\n', '"${local.a}-${get_env("X", "y")}"'
    elif way == "env":
        value = f'"${{get_env("X")}}-{maker.input(unit)}"'
    elif way == "read_terragrunt_config":
        more = 'locals {\n  c = read_terragrunt_config(find_in_parent_folders("common.hcl"))\n}\n'
        maker.add("live/common.hcl", f'locals {{\n  team = "{maker.input("live/common.hcl")}"\n}}\n')
        value = "local.c.locals.team"
    elif way == "included":
        more = 'include "root" {\n  path = find_in_parent_folders("root.hcl")\n}\n'
        root = "live/root.hcl"
        maker.add(root, f"inputs = {{\n  team = {given.format(chr(34) + maker.input(root) + chr(34))}\n}}\n")
    else:
        more = 'dependency "team" {\n  config_path = "../team"\n}\n'
        value = "dependency.team.outputs.team"
        other = "live/prod/team/terragrunt.hcl"
        maker.add(other, 'terraform {\n  source = "../../../modules/team"\n}\n')
        maker.add(other, f'inputs = {{\n  a = "{maker.input(other)}"\n}}\n')
        maker.add("modules/team/main.tf", 'variable "a" {}\noutput "team" {\n')
        maker.add("modules/team/main.tf", f'  value = "${{var.a}}-{maker.input("modules/team/main.tf")}"\n}}\n')
    maker.add(unit, f'terraform {{\n  source = "../../../modules/nodes"\n}}\n{more}')
    team = f"  team = {given.format(value)}\n" if value else ""
    maker.add(unit, f'inputs = {{\n{team}  other = "{maker.decoy(unit)}"\n}}\n')


def _locate(maker: TerraformMaker) -> None:
    """Find out in which file the texts stand that were written into one expression or another."""
    for changes in (maker.inputs, maker.outside):
        for number, (path, old, new) in enumerate(changes):
            if path in "?-":
                found = [place for place, text in maker.files.items() if old in text]
                changes[number] = (found[0] if found else path, old, new)


def _manifest(name: str, body: str, more: str = "") -> str:
    return f'resource "kubectl_manifest" "{name}" {{\n{more}  yaml_body = {body}\n}}\n'


def _indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines())


def _as_hcl(text: str) -> str:
    """Return a manifest as an object of HCL."""
    import json

    return json.dumps(load_yaml(text), indent=2)
