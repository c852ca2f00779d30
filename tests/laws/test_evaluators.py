"""Law: each evaluator of a repository's expressions stops at what would take for ever, as a gap with its place."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from nodelint.apiserver import cel
from nodelint.base.budget import BudgetSpent
from nodelint.karpenter.controller import expressions
from tests import in_process
from tests.manifests import nodepool
from tests.repositories import write_files

POOL = nodepool(name="web")
GROWN = "[['aaaaaaaa']]" + ".map(x, x+x)" * 26
"""A list that is doubled as often as it takes to fill any memory."""
NESTED = "self.items.all(a, self.items.all(b, self.items.all(c, self.items.all(d, a < 200))))"
"""A rule in the part of CEL that needs no runtime."""


@pytest.mark.parametrize(
    "expr",
    [
        f"({GROWN}) == [['a']]",
        "'a'" + ".replace('a', 'aaaaaaaaaa')" * 12 + " == ''",
    ],
)
def test_an_expression_whose_values_grow_is_not_compiled(expr: str) -> None:
    with pytest.raises(cel.Unsupported):
        cel.compile(expr, ("self", "pool", "class"))


@pytest.mark.parametrize(
    ("expr", "variables"),
    [
        (NESTED, ("self",)),
        (NESTED, ("self", "pool", "class")),
        ("self.text.find('(a+)+$') == ''", ("self",)),
        ("self.text.findAll('(a|a)*b').size() == 0", ("self",)),
        ("self.text.matches(self.pattern)", ("self",)),
    ],
)
def test_an_evaluation_that_takes_too_long_ends(expr: str, variables: tuple[str, ...]) -> None:
    given = {"items": [*range(100)], "text": "a" * 60 + "!", "pattern": "(a+)+$"}
    with pytest.raises(BudgetSpent, match="more steps than nodelint goes"):
        cel.compile(expr, variables).evaluate({"self": given}) if len(variables) > 1 else cel.compile(expr).run(given)


@pytest.mark.parametrize(
    "text", ["(" * 3000 + "true" + ")" * 3000, "self" + ".a" * 3000, "9" * 5000 + " == 1", "[" * 3000]
)
def test_an_expression_that_is_too_deep_is_not_read(text: str) -> None:
    with pytest.raises(cel.Unsupported):
        cel.compile(text)


def test_an_expression_of_a_kubelet_that_grows_is_not_worked_out() -> None:
    with pytest.raises(expressions.NoRuntime):
        expressions.compiled(f"size({GROWN})")


def test_a_policy_that_takes_too_long_is_a_gap_with_its_place(tmp_path: Path) -> None:
    labels = {f"team-{n}": "a" for n in range(100)}
    expr = "self.metadata.labels.all(a, self.metadata.labels.all(b, self.metadata.labels.all(c, a + b + c != '')))"
    policy = {"name": "long", "on": "NodePool", "expr": expr, "message": "no"}
    pool = POOL.replace("metadata:", f"metadata:\n  labels: {json.dumps(labels)}", 1)
    write_files(tmp_path, {"nodelint.yaml": json.dumps({"policies": [policy]}), "pool.yaml": pool})
    done = in_process.run(["check", ".", "--format", "json"], tmp_path, dict(os.environ))
    assert '"more steps' not in done.stdout and "more steps than nodelint goes" in done.stdout, (
        done.stdout + done.stderr
    )
    assert "pool.yaml" in done.stdout


def test_a_chart_whose_template_takes_files_in_is_compared_from_its_own_folder(tmp_path: Path) -> None:
    chart = {
        ".git/HEAD": "ref: refs/heads/main\n",
        "Chart.yaml": "apiVersion: v2\nname: c\nversion: 0.1.0\n",
        "templates/pool.yaml": POOL + '# {{ .Files.Get "a.txt" }}\n',
    }
    write_files(tmp_path / "new", chart)
    write_files(tmp_path / "old", {"pool.yaml": POOL})
    done = in_process.run(["plan", "--old", str(tmp_path / "old"), "."], tmp_path / "new", dict(os.environ))
    assert done.returncode in (0, 1), done.stderr
