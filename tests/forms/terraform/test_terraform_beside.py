"""Expressions and templates beside Terraform itself: what is known of one is what Terraform makes of it."""

from __future__ import annotations

import json
import random
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from nodelint.forms.terraform.hclexpr import parse_expression
from nodelint.forms.terraform.hcltree import BadExpression
from nodelint.forms.terraform.values import Modules, TerraformModule
from nodelint.text import UNKNOWN, Node, Source

TERRAFORM = shutil.which("terraform")
pytestmark = pytest.mark.skipif(TERRAFORM is None, reason="terraform is not on the path: the real one is not tried")

NAMES = r"""
variable "types" {
  type    = list(string)
  default = ["m5.large", "c5.xlarge"]
}
variable "text" {
  type    = string
  default = 7
}
variable "number" {
  type    = number
  default = "12"
}
variable "set" {
  type    = set(string)
  default = ["b", "a", "b"]
}
variable "map" {
  type    = map(string)
  default = { a = 1, b = true, c = "x" }
}
variable "object" {
  type    = object({ a = string, b = optional(number, 3), c = optional(object({ e = optional(bool, true) }), {}) })
  default = { a = 5, x = 2 }
}
variable "pools" {
  type    = map(object({ cpu = number, w = optional(string), t = optional(map(string), {}) }))
  default = { p = { cpu = "5" }, q = { cpu = 6, w = "W", t = { k = 1 } } }
}
locals {
  a     = "abc"
  empty = ""
  lines = "x\ny\n"
  yes   = true
  none  = null
  list  = ["x", "y", "z"]
  mixed = ["a", 1, true, null]
  map   = { k = "v", "a-b" = "w", 5 = "five" }
  rows  = [{ name = "a", v = 1 }, { name = "b", v = 2 }, { name = "c", v = 2 }]
  nest  = [["a", "b"], ["c"], []]
  arch  = { one = { arch = ["amd64"], spot = true }, two = { arch = ["arm64", "amd64"], spot = false } }
  yaml  = "a: 1\nb: [x, y]\nc:\n  d: yes\n  e: 1.0\n  f: 0x10\n  g: ~\n  h: 010\n"
}
"""
LEAVES = {
    "s": '"a"|"X y"|""|local.a|local.empty|var.text|"m5.large"|"10"|"true"|var.object.a|local.map.k|local.map["a-b"]',
    "n": "1|0|2.5|-3|var.number|var.text|10|var.object.b|0.1",
    "b": 'true|false|local.yes|!local.yes|var.text == 7|var.text == "7"|var.number == 12|local.none == null',
    "l": '["a", "b"]|local.list|var.types|[]|["c", "a", "c"]|var.set|tolist(var.set)|local.mixed|toset(["q", "p"])',
    "d": "[1, 2]|[3, 1, 2]|[0.5, 2]",
    "m": '{}|{ a = "x" }|local.map|var.map|{ k = 1, "b" = true }|var.object|var.pools|{ "${local.a}" = 1 }',
    "x": "null|local.mixed|local.rows|local.arch|local.nest|var.pools|var.object|<s>|<n>|<b>|<l>|<d>|<m>",
}
"""What each kind of expression is at its simplest: text, number, bool, list, list of numbers, map, any."""
PRODUCTIONS = {
    "s": "lower(<s>)|upper(<s>)|trimprefix(<s>, <s>)|replace(<s>, <s>, <s>)|join(<s>, <l>)|(<b> ? <s> : <s>)"
    '|format("%s-%v", <s>, <n>)|format("%03d", <n>)|format("%.2f", <n>)|substr(<s>, 1, 2)|substr(<s>, -2, 0)'
    '|"p-${<s>}-${<n>}"|"%{ if <b> }yes%{ else }no${<s>}%{ endif }"|"%{ for x in <l> ~} ${x}, %{~ endfor }"'
    '|try(<s>, "q")|try(local.rows.none, <s>)|coalesce(<s>, <s>, "z")|lookup(<m>, <s>, <s>)|element(<l>, 1)'
    "|tostring(<x>)|jsonencode(<x>)|one([<s>])|<l>[0]|<m>.a|keys(<m>)[0]|dirname(<s>)|basename(<s>)|<h>",
    "n": "(<n> + <n>)|(<n> - <n>)|(<n> * <n>)|(<n> / <n>)|(<n> % <n>)|length(<x>)|max(<n>, <n>)|abs(<n>)"
    "|ceil(<n>)|floor(<n>)|sum(<d>)|tonumber(<s>)|(<b> ? <n> : <n>)|index(<l>, <s>)|try(<n>, 5)",
    "b": "(<x> == <x>)|(<x> != <x>)|(<n> < <n>)|(<b> && <b>)|(<b> || <b>)|!(<b>)|contains(<l>, <s>)|can(<x>)"
    "|startswith(<s>, <s>)|tobool(<x>)|alltrue([<b>, <b>])|anytrue([<b>, <b>])",
    "l": '[<s>, <s>]|concat(<l>, <l>)|[for x in <l> : upper(x)]|[for x in <l> : x if x != "a"]|toset(<x>)|tolist(<x>)'
    '|[for i, x in <l> : "${i}-${x}"]|distinct(<l>)|sort(<l>)|reverse(<l>)|compact(<l>)|flatten([<l>, <l>])'
    '|split("-", <s>)|keys(<m>)|values(<m>)|(<b> ? <l> : <l>)|slice(<l>, 0, 1)|setunion(<l>, <l>)'
    '|setintersection(<l>, <l>)|setsubtract(<l>, <l>)|formatlist("%s.x", <l>)|local.rows[*].name|local.rows.*.name[1]'
    '|setproduct(<l>, <l>)|coalescelist(<l>, <l>)|chunklist(<l>, 2)|regexall("[a-z]", <s>)',
    "d": "[<n>, <n>]|range(<n>)|[for x in <d> : x * 2]|sort(<d>)|toset(<d>)|concat(<d>, <d>)|local.rows[*].v",
    "m": "merge(<m>, <m>)|{ for k, v in <m> : upper(k) => v }|{ for x in <l> : x => x... }|tomap(<m>)"
    "|(<b> ? <m> : <m>)|{ a = <x>, b = <x> }|zipmap(<l>, <l>)|merge(<m>, { k = <x> }, null)|merge([<m>, <m>]...)"
    "|yamldecode(local.yaml)|{ for r in local.rows : r.v => r.name... }|jsondecode(jsonencode(<m>))"
    "|yamldecode(yamlencode(<x>))",
    "x": "<s>|<n>|<b>|<l>|<d>|<m>",
}


class Writer:
    """Writes expressions and templates by chance."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def expression(self, kind: str, depth: int) -> str:
        if kind == "h":
            return self.heredoc(min(depth, 1))
        shapes = LEAVES[kind] if depth <= 0 else PRODUCTIONS[kind]
        shape = self.random.choice(re.split(r"(?<!\|)\|(?!\|)", shapes))
        return re.sub(r"<([a-z])>", lambda match: self.expression(match[1], depth - 1), shape)

    def heredoc(self, depth: int) -> str:
        mark = self.random.choice(["<<", "<<-", "<<-"])
        return f"{mark}EOT\n{self.lines(depth)}{self.space()}EOT\n"

    def space(self) -> str:
        return self.random.choice(["", "  ", "    ", "      ", "\t"])

    def code(self, sign: str, words: str) -> str:
        left, right = (self.random.choice(["", "~"]) for _ in range(2))
        return f"{sign}{{{left} {words} {right}}}"

    def lines(self, depth: int) -> str:
        """Lines of a template that asks for no name but those of `NAMES`."""
        pick, made = self.random.choice, ""
        for _ in range(self.random.randrange(1, 5)):
            shape = self.random.randrange(6 if depth else 4)
            end = pick(["\n", "\n", "", " "])
            if shape < 2:
                made += self.space() + pick(["a: b", "- x", "$x", "100%", "$${q}", "%%{ if", "\\n", "  ", "é"]) + "\n"
            elif shape == 2:
                made += self.space() + "\n"
            elif shape == 3:
                made += self.space() + self.code("$", pick(["local.a", "var.number", "local.lines"])) + "\n"
            elif shape == 4:
                over = pick(["x in local.list", "k, x in local.map", "x in []"])
                made += self.space() + self.code("%", f"for {over}") + end + self.lines(depth - 1)
                made += self.space() + self.code("%", "endfor") + "\n"
            else:
                made += self.space() + self.code("%", "if local.yes") + end + self.lines(depth - 1)
                made += self.space() + self.code("%", "else") + end + self.lines(depth - 1)
                made += self.space() + self.code("%", "endif") + "\n"
        return made


def apply(folder: Path, outputs: Mapping[str, str]) -> dict[str, str | None]:
    """What Terraform makes of each output; those that it cannot even read are left out."""
    left = dict(outputs)

    def run(*args: str) -> subprocess.CompletedProcess[str]:
        assert TERRAFORM is not None
        return subprocess.run([TERRAFORM, *args], cwd=folder, capture_output=True, text=True)

    for _ in range(9):
        blocks = [f'output "{name}" {{\n  value = {text}\n}}\n' for name, text in left.items()]
        (folder / "outputs.tf").write_text("".join(blocks), encoding="utf-8")
        done = run("apply", "-auto-approve", "-no-color", "-lock=false")
        bad = set(re.findall(r'in output "(\w+)"', done.stderr)) & left.keys()
        if not bad:
            break
        left = {name: text for name, text in left.items() if name not in bad}
    assert done.returncode == 0, done.stderr
    (folder / "outputs.tf").unlink()
    return {name: found.get("value") for name, found in json.loads(run("output", "-json").stdout).items()}


def evaluate(folder: Path, text: str) -> Node:
    modules = Modules([Source(str(folder / "main.tf"), NAMES)])
    module = TerraformModule(modules, str(folder), None, str(folder), "")
    return module.evaluator(Source("x.tf", text)).value(parse_expression(text, 0, len(text)))


def agrees(node: Node, given: object) -> bool:
    """Whether all that is known of a value is so."""
    if node.kind == "scalar":
        if node.value is UNKNOWN:
            return True
        numbers = all(isinstance(v, int | float) and not isinstance(v, bool) for v in (node.value, given))
        return (
            pytest.approx(given) == node.value if numbers else type(node.value) is type(given) and node.value == given
        )
    if node.kind == "sequence":
        return isinstance(given, list) and len(given) == len(node.items) and all(map(agrees, node.items, given))
    names = {entry.name for entry in node.entries}
    return (
        isinstance(given, dict)
        and names == given.keys()
        and all(agrees(entry.value, given[entry.name]) for entry in node.entries)
    )


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_what_is_known_of_an_expression_is_what_terraform_makes_of_it(tmp_path: Path, seed: int) -> None:
    writer = Writer(seed)
    texts = {f"e{n}": writer.expression("x", writer.random.randint(1, 4)) for n in range(500)}
    (tmp_path / "main.tf").write_text(NAMES, encoding="utf-8")
    given = apply(tmp_path, {name: f'try(jsonencode([{text}\n]), "failed")' for name, text in texts.items()})
    known, wrong = 0, []
    for name, found in given.items():
        try:
            node = evaluate(tmp_path, f"[{texts[name]}\n]")
        except BadExpression:
            continue
        if found is None or found == "failed":
            continue
        known += node.items[0].value is not UNKNOWN
        if not agrees(node, json.loads(found)):
            wrong.append((texts[name], found, node.plain()))
    assert not wrong, f"{wrong[0][0]}\nTerraform: {wrong[0][1]}\nnodelint:  {wrong[0][2]}"
    assert known > 250, "most that Terraform accepts is known"


@pytest.mark.slow
def test_a_template_comes_to_the_text_that_terraform_makes_of_it(tmp_path: Path) -> None:
    writer = Writer(3)
    texts: dict[str, str] = {f"t{n}": writer.heredoc(2) for n in range(400)}
    for n in range(100):
        body = re.sub(r"\b(?:var|local)\.", "", writer.lines(2))
        (tmp_path / f"{n}.tftpl").write_text(body, encoding="utf-8")
        names: Sequence[str] = ("a", "lines", "list", "map", "yes")
        given = ", ".join(f"{name} = local.{name}" for name in names)
        texts[f"f{n}"] = f'templatefile("${{path.module}}/{n}.tftpl", {{ {given}, number = var.number }})'
    (tmp_path / "main.tf").write_text(NAMES, encoding="utf-8")
    given_texts = apply(tmp_path, texts)
    assert len(given_texts) > 400
    for name, found in given_texts.items():
        assert evaluate(tmp_path, texts[name]).value == found, texts[name]
