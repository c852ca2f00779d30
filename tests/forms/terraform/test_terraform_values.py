"""Texts that Terraform fills in are judged with what its variables have, and with nothing that is not known."""

from __future__ import annotations

import contextlib
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodelint.base.budget import BudgetSpent
from nodelint.forms.terraform.evaluate import EvaluationBudget, NameScope
from nodelint.forms.terraform.file_blocks import attributes_of, blocks_of
from nodelint.forms.terraform.fill import fill_template
from nodelint.forms.terraform.functions.table import call_function
from nodelint.forms.terraform.hcl import Text
from nodelint.forms.terraform.hclexpr import parse_expression
from nodelint.forms.terraform.hcltree import BadExpression
from nodelint.forms.terraform.nodes import TextNode
from nodelint.forms.terraform.template import Evaluator
from nodelint.forms.terraform.types import NUMBER, STRING, ValueType, unify
from nodelint.text.nodes import Node
from nodelint.text.source import Source
from nodelint.text.unknown_value import UNKNOWN
from tests.project.test_growth import growth

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
    (folder / ".git").mkdir(exist_ok=True)  # callers above what is named are read in the same repository alone
    for name, text in files.items():
        path = folder / (name.replace("__", "/").replace("_dot_", "."))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def finding_lines(nodelint: Run, *args: str) -> list[str]:
    done = nodelint("check", "--format", "concise", "--select", "unknown-value,no-instance-type", *args)
    lines = (line for line in done.stdout.splitlines() if not line.startswith("Not known"))
    return [line for line in lines if "[" in line.partition(" ")[2]]


def test_a_file_of_templatefile_is_judged_with_the_defaults_of_variables(nodelint: Run, tmp_path: Path) -> None:
    module(tmp_path, main_dot_tf=CALL, variables_dot_tf=VARIABLES, templates__pool_dot_yaml=POOL)
    (line,) = finding_lines(nodelint, "templates")
    assert line.startswith("variables.tf:9:26: "), "the same as for the whole"
    assert "m5.xlrge" in line
    assert "templates/pool.yaml" in nodelint("check", "templates").stdout
    before = (tmp_path / "variables.tf").read_text(encoding="utf-8")
    nodelint("check", "--fix", "--unsafe-fixes", "templates")
    assert (tmp_path / "variables.tf").read_text(encoding="utf-8") == before, "it was not named"
    nodelint("check", "--fix", "--unsafe-fixes", ".")
    assert (tmp_path / "variables.tf").read_text(encoding="utf-8") == before.replace("m5.xlrge", "m5.xlarge")
    assert (tmp_path / "templates/pool.yaml").read_text(encoding="utf-8") == POOL


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({"terraform_dot_tfvars": 'types = ["m5.large"]\n'}, ""),
        ({"terraform_dot_tfvars": 'arches = ["x86_64"]\ntypes = ["m5.large"]\n'}, "x86_64"),
        ({"a_dot_auto_dot_tfvars": 'types = ["c5.lrge", "c5.large"]\n'}, "c5.lrge"),
        ({"other_dot_tf": CALL.replace('"pool"', '"other"')}, "xlrge"),
        ({"variables_dot_tf": VARIABLES.replace("default = [", "# [")}, ""),
        ({"variables_dot_tf": VARIABLES.replace('["m5.large", "m5.xlrge"]', "[]")}, ""),
        ({"main_dot_tf": CALL.replace("var.types", "concat(var.types, [])")}, "xlrge"),
        ({"main_dot_tf": CALL.replace("var.types", "concat(var.types, data.x.y)")}, ""),
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
    lines = finding_lines(nodelint, "templates")
    assert [found in line for line in lines] == [True] * bool(found)


def test_the_one_call_of_a_module_gives_its_variables(nodelint: Run, tmp_path: Path) -> None:
    root = 'module "pools" {\n  source = "./modules/pools"\n  types = var.kinds\n  name = module.eks.name\n}\n'
    kinds = 'variable "kinds" { default = ["t3.smal", "t3.large"] }\nvariable "eks" {\n  default = "x"\n}\n'
    files = {"main_dot_tf": CALL, "variables_dot_tf": VARIABLES, "templates__pool_dot_yaml": POOL}
    module(tmp_path, main_dot_tf=root + kinds, **{f"modules__pools__{name}": text for name, text in files.items()})
    (line,) = finding_lines(nodelint, "modules")
    assert "t3.smal" in line
    module(tmp_path, main_dot_tf=root + root.replace('"pools"', '"more"') + kinds)
    (line,) = finding_lines(nodelint, "modules")
    assert "t3.smal" in line
    module(tmp_path, main_dot_tf=root + root.replace('"pools"', '"more"').replace("var.kinds", '["t4.big"]') + kinds)
    lines = finding_lines(nodelint, "modules")
    assert {kind for kind in ("t3.smal", "t4.big", "xlrge") for line in lines if kind in line} == {
        "t3.smal",
        "t4.big",
    }


def test_a_data_source_fills_in_a_file_as_well(nodelint: Run, tmp_path: Path) -> None:
    call = 'data "template_file" "p" {\n  template = file("./pool.tpl")\n  vars = {\n    types = var.types\n  }\n}\n'
    module(tmp_path, main_dot_tf=call, variables_dot_tf=VARIABLES, pool_dot_tpl=POOL)
    (line,) = finding_lines(nodelint, "pool.tpl")
    assert line.startswith("variables.tf:9:26: ")


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
    module(tmp_path, variables_dot_tf=VARIABLES, main_dot_tf=heredoc, objects_dot_tf=objects)
    (line,) = finding_lines(nodelint, ".")
    assert line.startswith("variables.tf:9:26: "), "what is judged is where the value is written, once"
    without_fix = line.removesuffix(" [fix]")
    assert finding_lines(nodelint, "main.tf", "objects.tf") == [without_fix], "no file is edited that is not named"


def evaluator(text: str, **values: str) -> Evaluator:
    """What works out expressions of a text that know some names."""
    source = Source("main.tf", text)
    names = {name: value_of(written) for name, written in values.items()}
    return Evaluator(
        NameScope(source, names, lambda word, name: None, lambda e, *call: call_function(*call), ""),
        EvaluationBudget(),
    )


def value_of(text: str, **values: str) -> Node:
    return evaluator(text, **values).value(parse_expression(text, 0, len(text)))


def filled(text: str, **values: str) -> str:
    made = fill_template(evaluator(text, **values))
    assert made is not None
    return made.text


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("a: ${x}\n", "a: 1\n"),
        ("a: $${x} %%{ if y }\n", "a: $${x} %%{ if y }\n"),
        ("a: ${x + 1}\n", "a: 2\n"),
        ("a: ${x + z}\n", "a: ${x + z}\n"),
        ("%{ if z == 1 ~}\na: ${y}\n%{ endif ~}\nb: 2\n", "%{ if z == 1 ~}\na: z\n%{ endif ~}\nb: 2\n"),
        ("%{ for i in [1, 2] ~}\n- ${i}\n%{ endfor ~}\n", "- 1\n- 2\n"),
        ("%{ for i in z ~}\n- ${i}${y}\n%{ endfor ~}\n", "%{ for i in z ~}\n- ${i}z\n%{ endfor ~}\n"),
        ("%{ if x ~}\n  a: 1\n%{ else ~}\n  a: 2\n%{ endif ~}\nb: 2\n", "  a: 1\nb: 2\n"),
        ("a: ${ x ~}\n  b", "a: 1  b"),
        ('%{ if "true" }a%{ else }b%{ endif }%{ if "false" }c%{ else }d%{ endif }', "ad"),
        ("a:\n  %{~ if x }1%{ endif ~}\n", "a:\n1"),
        ("a: ${upper(y)}", "a: Z"),
    ],
)
def test_templates_are_filled_as_terraform_fills_them(text: str, result: str) -> None:
    assert filled(text, x="true" if "if x" in text else "1", y='"z"') == result


def test_a_file_of_variables_takes_work_that_grows_with_its_length() -> None:
    def make(size: int) -> Callable[[], object]:
        text = "".join(f'variable "v{n}" {{\n  type    = list(string)\n  default = ["a"]\n}}\n' for n in range(size))

        def read() -> object:
            words = Text(text, 0, len(text))
            return [list(attributes_of(words, block)) for block in blocks_of(words)]

        return read

    assert growth(make, 20) < 1.3


@given(
    st.lists(
        st.sampled_from(["${", "%{", "}", "~", " for ", " in ", "x", "\n", "if ", "endif", "endfor", '"', "$", " "])
    )
)
def test_no_text_breaks_the_reader(words: list[str]) -> None:
    text = "".join(words)
    made = fill_template(evaluator(text, x="1"))
    assert made is None or isinstance(made.text, str)


_WORDS = (
    *(
        "x",
        "y",
        "1",
        '"a"',
        '"${x}-b"',
        "[",
        "]",
        "{",
        "}",
        "(",
        ")",
        ",",
        "=",
        ":",
        "?",
        "=>",
        "for ",
        " in ",
        " if ",
    ),
    *(
        "merge",
        "concat",
        "keys",
        "format",
        "try",
        "toset",
        "var.a",
        ".",
        "[*]",
        "...",
        "+",
        "-",
        "==",
        "&&",
        "!",
        "\n",
    ),
)


@given(st.lists(st.sampled_from(_WORDS), max_size=30))
def test_no_expression_breaks_the_evaluator(words: list[str]) -> None:
    text = "".join(words)
    try:
        parse_expression(text, 0, len(text))
    except BadExpression:
        return
    value = value_of(text, x="1", y='["a", { b = "c" }]')
    assert value.kind in ("scalar", "sequence", "mapping")


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("merge(m, { b = 2 }, null)", {"a": 1, "b": 2}),
        ("merge(m, z)", UNKNOWN),
        ("[min(3, 1, 2), max(1, 3, 2)]", [1, 3]),
        ("[1, provider::aws::trim_iam_role_path(z)]", [1, UNKNOWN]),
        (
            r'replace("- \"key\": 1\n  \"a-b\": 2", "/((?:^|\n)[\\s-]*)\"([\\w-]+)\":/", "$1$2:")',
            "- key: 1\n  a-b: 2",
        ),
        (r'replace("a: \"12\"", "/\"([0-9]+)\"/", "$1")', "a: 12"),
        ('replace("aaa", "/(a+)+b/", "x")', UNKNOWN),
        ('replace("a", "/a*a*/", "x")', UNKNOWN),
        ('replace("a1", "/a/", "$1x")', UNKNOWN),
        ('replace("a1", "/(a)$/", "${1}x")', "a1"),
        ('replace("ab", "/[/", "x")', UNKNOWN),
        ('formatlist("%s-%s", ["a", "b"], "c")', ["a-c", "b-c"]),
        ('formatlist("%s", z)', UNKNOWN),
        ('setproduct(["a"], ["b", "c"])', [["a", "b"], ["a", "c"]]),
        ('index(["a", "b"], "b")', 1),
        ("sum([1, 2])", 3),
        ('chunklist(["a", "b", "c"], 2)', [["a", "b"], ["c"]]),
        ('basename("/a/b.yaml")', "b.yaml"),
        ('dirname("/a/b.yaml")', "/a"),
        ('concat(l, ["c"])', ["b", "a", "c"]),
        ("toset(concat(l, l))", ["a", "b"]),
        ("{ for k, v in m : upper(k) => v + 1 if v > 0 }", {"A": 2}),
        ('[for i, x in l : "${i}-${x}"]', ["0-b", "1-a"]),
        ('{ for x in ["a1", "a2", "b1"] : substr(x, 0, 1) => x... }', {"a": ["a1", "a2"], "b": ["b1"]}),
        ("[for x in l : x if z]", UNKNOWN),
        ('{ for x in ["a", "a"] : x => 1 }', UNKNOWN),
        ('{ for x in ["a", "a"] : x => 1... }', {"a": [1, 1]}),
        ("{ for x in [null] : x => 1 }", UNKNOWN),
        ("{ (null) = 1 }", UNKNOWN),
        ("tolist([z, 1])", [UNKNOWN, UNKNOWN]),
        ('tolist([z, "1", 2])', [UNKNOWN, "1", "2"]),
        ("tomap({ a = z, b = true, c = null })", {"a": UNKNOWN, "b": UNKNOWN, "c": None}),
        ('title("élan du-matin")', "Élan Du-Matin"),
        ('yamldecode("a: 2024-01-02").a', "2024-01-02T00:00:00Z"),
        ("yamldecode(\"a: '2024-01-02'\").a", "2024-01-02"),
        ('lookup(m, "x", 5)', 5),
        ("try(m.x, m.a)", 1),
        ("try(z.x, 5)", UNKNOWN),
        ("can(m.x)", False),
        ("m.x", UNKNOWN),
        ("{ a = m.x, b = 2 }", {"a": UNKNOWN, "b": 2}),
        ('coalesce(null, "", "c")', "c"),
        ('coalesce(z, "c")', UNKNOWN),
        ('format("%s-%03d", l[0], 7)', "b-007"),
        ('format("%s-%s", l[0], z)', UNKNOWN),
        ('join(",", sort(l))', "a,b"),
        ('split(",", "a,b")', ["a", "b"]),
        ('length(l) == 2 && !false ? "yes" : z', "yes"),
        ("z ? 1 : 2", UNKNOWN),
        ("false && z", False),
        ('[{ id = "a" }, { id = "b" }][*].id', ["a", "b"]),
        ("l.0", "b"),
        ("jsonencode({ a = [1, true, null] })", '{"a":[1,true,null]}'),
        ('yamlencode({ a = [1, "x: y"] })', '"a":\n- 1\n- "x: y"\n'),
        ('yamldecode("a: [1]")', {"a": [1]}),
        ("jsonencode({ a = z })", UNKNOWN),
        ("-1 + 2 * 3", 5),
        ("7 / 0", UNKNOWN),
        ("element(l, 3)", "a"),
        ("element(l, 2)", "b"),
        ("slice(l, 1, 1)", []),
        ('flatten([["a"], [["b"]]])', ["a", "b"]),
        ("one([])", None),
        ('{ (l[0]) = 1, "${l[1]}" = 2 }', {"b": 1, "a": 2}),
        ('"${l}"', ["b", "a"]),
        ('"a-${z}"', UNKNOWN),
        ('replace("a-b", "-", "_")', "a_b"),
        ('replace("a/b", "/", "-")', "a-b"),
        ('regex("a", "b")', UNKNOWN),
        ("timestamp()", UNKNOWN),
        ("concat(l...)", UNKNOWN),
        ("merge([m, { c = 3 }]...)", {"a": 1, "c": 3}),
        ("regexall(l, l)", UNKNOWN),
        ("data.aws_vpc.x.id", UNKNOWN),
        ("{\n  a = 1\n  b = true ? 1 : 2\n}", {"a": 1, "b": 1}),
        ("[\n  1,\n  2, # two\n]", [1, 2]),
    ],
)
def test_an_expression_comes_to_what_terraform_makes_of_it(text: str, result: object) -> None:
    value = value_of(text, m="{ a = 1 }", l='["b", "a"]')
    assert value.plain() == result or (result is UNKNOWN and isinstance(value, TextNode) and value.value is UNKNOWN)


@pytest.mark.parametrize(
    "text",
    [
        "[for a in range(1000) : [for b in range(1000) : [for c in range(1000) : a]]]",
        'join("", [for a in range(1000) : join("", [for b in range(1000) : "xxxxxxxxxx"])])',
        "[" * 3000 + "]" * 3000,
        "1" + " + 1" * 5_000,
        "x" + ".a" * 5_000,
        '"' + "${x}" * 5_000 + '"',
        "!" * 5000 + "true",
        "9" * 5000,
        "1e400",
        '"${"' * 200 + "x" + '"}"' * 200,
    ],
)
def test_a_file_that_would_take_forever_ends_soon(text: str) -> None:
    with contextlib.suppress(BadExpression, BudgetSpent):
        value_of(text, x="1")


def test_nested_loops_cost_no_more_than_their_limit() -> None:
    budget_used = []
    for size in (10, 1000):
        text = f"[for a in range({size}) : [for b in range({size}) : [for c in range({size}) : a]]]"
        reader = evaluator(text)
        before = reader.budget.steps
        try:
            reader.value(parse_expression(text, 0, len(text)))
        except BudgetSpent as limit:
            assert "steps" in str(limit)
        budget_used.append(before - reader.budget.steps)
    assert budget_used[1] < before + 2000


def test_each_root_module_states_the_releases_of_what_it_builds(nodelint: Run, tmp_path: Path) -> None:
    call = (
        'module "pools" {\n  source = "../modules/pools"\n  alias = ALIAS\n}\nmodule "eks" {\n  eks-version = V\n}\n'
    )
    text = """\
variable "alias" {}
resource "kubectl_manifest" "class" {
  yaml_body = <<-EOT
    apiVersion: karpenter.k8s.aws/v1
    kind: EC2NodeClass
    metadata: {name: default}
    spec:
      role: x
      amiSelectorTerms: [{alias: ${var.alias}}]
      subnetSelectorTerms: [{tags: {karpenter.sh/discovery: x}}]
      securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: x}}]
  EOT
}
"""

    def write(old: str, new: str) -> list[str]:
        for folder, alias, version in (("production", new, '"1.36"'), ("staging", old, '"1.34"')):
            values = call.replace("ALIAS", f'"{alias}"').replace("= V", f"= {version}")
            module(tmp_path, **{f"{folder}__main_dot_tf": values})
        done = nodelint("check", ".", "--format", "concise", "--karpenter-version", "1.14.1")
        return re.findall(r"(?m)^(\S+?):\d+:\d+: error\[unsupported-alias\]", done.stdout)

    module(tmp_path, modules__pools__main_dot_tf=text)
    assert write("al2023@v20260403", "al2023@v20260714") == []
    assert write("al2023@v20260403", "al2023@v20260403") == ["production/main.tf"]


def test_a_list_and_a_tuple_are_a_list_of_what_their_parts_have_together() -> None:
    numbers, words = ValueType("list", (NUMBER,)), ValueType("tuple", (STRING, NUMBER))
    assert unify([numbers, words]) == unify([words, numbers]) == ValueType("list", (STRING,))
