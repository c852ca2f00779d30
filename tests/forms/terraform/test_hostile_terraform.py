"""Terraform that nobody means: no value, depth or circle breaks a reader, and the work grows with the text."""

from __future__ import annotations

import itertools
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from nodelint.base.budget import MOST_STEPS, BudgetSpent
from nodelint.forms.terraform.encode import json_pieces, yaml_pieces
from nodelint.forms.terraform.evaluate import EvaluationBudget
from nodelint.forms.terraform.functions import table as tffunctions
from nodelint.forms.terraform.hclexpr import parse_expression
from nodelint.forms.terraform.hcltree import BadExpression
from nodelint.forms.terraform.rendered import filled_by_terraform
from nodelint.text import Source
from tests.forms.terraform.test_terraform_shapes import SHAPES, pool
from tests.forms.terraform.test_terraform_values import evaluator

Run = Callable[..., subprocess.CompletedProcess[str]]

VALUES = [
    "null",
    "true",
    '""',
    '"a\\u0000\\ud800b"',
    '"$${x} %%{ y }"',
    '"${z}-${null}"',
    "9" * 300,
    "9" * 5000,
    "1e400",
    "-1e308 * 1e308",
    "1 / 0",
    "0.1",
    "-1",
    "[]",
    "{}",
    "[null, z, [1]]",
    '{ a = null, (z) = 1, "b c" = { d = z } }',
    "[for k, v in { a = 1 } : v if z]",
    '"x"[0]',
    "z",
    "z[*].a",
    "[" * 25 + "]" * 25,
]
FUNCTIONS = sorted({*tffunctions._OF_NODES, *tffunctions._OF_KNOWN, "unheard_of", "try", "can"})


def work_out(text: str) -> int:
    """Work out an expression and print it in each way; how many steps that took."""
    budget = EvaluationBudget()
    try:
        expression = parse_expression(text, 0, len(text))
        own = evaluator(text)
        value = own.__class__(own.scope, budget).value(expression)
    except (BadExpression, BudgetSpent):
        return MOST_STEPS - budget.left
    for pieces in (json_pieces(value), yaml_pieces(value)):
        assert all(isinstance(piece, str) for piece, _ in pieces)
    return MOST_STEPS - budget.left


@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_value_breaks_a_function(name: str) -> None:
    pairs = [*itertools.product(VALUES, repeat=2)]
    # Functions share what takes their arguments: each gets a fourth of the pairs, and its neighbours the others.
    for args in ((), *((value,) for value in VALUES), *pairs[FUNCTIONS.index(name) % 4 :: 4]):
        work_out(f"{name}({', '.join(args)})")
    for value in VALUES:
        work_out(f'{name}({value}, "a", 1, {value})')
        work_out(f"{name}([{value}, {value}]...)")


@pytest.mark.parametrize("sign", ["+", "-", "*", "/", "%", "==", "!=", "<", ">=", "&&", "||", "?"])
def test_no_value_breaks_an_operation(sign: str) -> None:
    for first, other in itertools.product(VALUES, repeat=2):
        work_out(f"({first}) ? ({first}) : ({other})" if sign == "?" else f"({first}) {sign} ({other})")


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("shape", ["locals with functions", "for_each over a map of locals", "heredoc with a loop"])
def test_no_value_breaks_a_file(tmp_path: Path, shape: str, value: str) -> None:
    (text,) = SHAPES[shape].files.values()
    whole = tmp_path / "m.tf"
    for written in ('["m5.xlrge", "m5.large"]', '"m5.xlrge"', '["xlrge"]', "local.pools"):
        if written in text:
            whole.write_text(text.replace(written, value, 1), encoding="utf-8")
            source = Source.from_text(str(whole), whole.read_text(encoding="utf-8"))
            assert all(built.source.text is not None for built in filled_by_terraform([source]))


CIRCLES = {
    "a local of itself": 'locals {\n  types = concat(local.types, ["m5.xlrge"])\n}\n' + pool("local.types"),
    "locals of each other": "locals {\n  types = local.b\n  b = local.types\n}\n" + pool("local.types"),
    "a manifest of itself": pool("kubernetes_manifest.pool.manifest.spec.template.spec.requirements[0].values"),
    "a module of itself": 'module "a" {\n  source = "./"\n  types = var.types\n}\nvariable "types" {}\n'
    + pool("var.types"),
    "a template of itself": 'locals {\n  types = templatefile("${path.module}/m.tf", { types = local.types })\n}\n'
    + pool("local.types"),
    "a text that is not closed": 'locals {\n  a = "${\n  b = <<-X\n' + pool('["m5.${"]'),
    "brackets that are not closed": "locals {\n  a = " + "[" * 2000 + "\n}\n" + pool("local.a"),
    "expressions in each other": "locals {\n  a = " + "(" * 2000 + "1" + ")" * 2000 + "\n}\n" + pool("local.a"),
    "texts in each other": "locals {\n  a = " + '"${' * 500 + "1" + '}"' * 500 + "\n}\n" + pool("[local.a]"),
    "a sum without an end": "locals {\n  a = " + "1 + " * 2000 + "1\n}\n" + pool("[local.a]"),
    "signs in a row": "locals {\n  a = " + "-" * 2000 + "1\n  b = " + "!" * 2000 + "true\n}\n" + pool("[local.a]"),
    "values of values": "locals {\n  a"
    + ".a" * 2000
    + " = 1\n  b = local.c"
    + ".d" * 2000
    + "\n}\n"
    + pool("[local.b]"),
    "conditions in a row": "locals {\n  a = " + "true ? 1 : " * 1500 + "2\n}\n" + pool("[local.a]"),
    "blocks in blocks": 'resource "x" "y" ' + "{ a " * 1500 + "}" * 1500 + "\n" + pool('["m5.large"]'),
}


@pytest.mark.parametrize("name", CIRCLES)
def test_no_circle_and_no_depth_breaks_a_command(nodelint: Run, tmp_path: Path, name: str) -> None:
    (tmp_path / "m.tf").write_text(CIRCLES[name], encoding="utf-8")
    for command in ("check", "explain", "hash"):
        done = nodelint(command, ".")
        assert done.returncode in (0, 1) or (done.returncode == 2 and "m.tf:" in done.stdout + done.stderr), (
            done.stderr
        )
        assert "Traceback" not in done.stderr


def test_modules_that_call_each_other_end(nodelint: Run, tmp_path: Path) -> None:
    for own, other in (("a", "b"), ("b", "a")):
        (tmp_path / own).mkdir()
        call = f'module "m" {{\n  source = "../{other}"\n  types = concat(var.types, ["m5.xlrge"])\n}}\n'
        text = f'{call}variable "types" {{\n  default = ["m5.large"]\n}}\n{pool("var.types")}'
        (tmp_path / own / "m.tf").write_text(text, encoding="utf-8")
    done = nodelint("check", ".")
    assert done.returncode in (0, 1), done.stderr
    assert "m5.xlrge" in done.stdout


@pytest.mark.parametrize(
    "text",
    [
        "[{}]",
        "merge({})",
        "[for i in [{}] : i + 1]",
        'join("-", [for i in [{}] : format("%d", i)])',
        "{{ for i in [{}] : i => i }}",
    ],
)
def test_the_work_grows_as_the_text_does(text: str) -> None:
    def steps(count: int) -> int:
        parts = ("{ a = 1 }" if "merge" in text else str(n) for n in range(count))
        return work_out(
            text.replace("{{", "\0")
            .replace("}}", "\1")
            .replace("[{}]", "[" + ", ".join(parts) + "]")
            .replace("({})", "(" + ", ".join("{ a = 1 }" for _ in range(count)) + ")")
            .replace("\0", "{")
            .replace("\1", "}")
        )

    few, many = steps(200), steps(800)
    assert 2 * few < many <= 5 * few
