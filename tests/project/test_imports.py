"""What is loaded for which command: a run that has little to do loads little, and takes no longer than that."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodelint.base.tuples import NamedTuple
from nodelint.cli import cli
from nodelint.commands import check, fit, plan
from nodelint.commands._fast_argv import plain
from nodelint.commands._output import Output
from nodelint.ec2.snapshot import snapshot_text
from nodelint.model import fact_kinds
from tests.code import nodes, syntax_tree
from tests.conftest import ROOT
from tests.ec2.test_snapshot import SMALL
from tests.manifests import nodeclass, nodepool

POOL = (
    nodepool("key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m]", inline=True)
    + "---\n"
    + nodeclass(inline=True)
)


def loaded(folder: Path, *arguments: str) -> set[str]:
    """The modules that a run imports, beside those with which the interpreter starts."""
    code = (
        "import os, sys\nbefore = set(sys.modules)\nfrom nodelint.__main__ import main\n"
        "os._exit = lambda code: print('loaded:', *(set(sys.modules) - before), flush=True)\n"
        f"sys.argv[1:] = {list(arguments)}\nmain()"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split()[1:])


def test_a_run_that_meets_nothing_of_karpenter_loads_nothing_that_judges(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("kind: ConfigMap\n", encoding="utf-8")
    modules = loaded(tmp_path, "check", "--", "a.yaml")
    assert "nodelint.files.discover" in modules
    slow = ("click", "inspect", "datetime", "cel_expr_python", "_ruamel_yaml", "ruamel", "yaml", "fractions")
    library = ("collections", "contextlib", "enum", "fnmatch", "functools", "json", "re", "tomllib", "typing")
    rooms = (
        "text.nodes",
        "text.yaml.compose",
        "ec2",
        "apiserver",
        "karpenter",
        "drift",
        "lint.engine",
        "rule.definition",
        "report",
        "releases",
        "inventory",
        "forms.rendered",
        "plan",
        "edits",
    )
    assert not modules & {*slow, *library, *(f"nodelint.{room}" for room in rooms)}


@pytest.mark.parametrize("path", ["pool.yaml", "."])
def test_a_check_loads_no_more_than_its_objects_need(tmp_path: Path, path: str) -> None:
    (tmp_path / "pool.yaml").write_text(POOL, encoding="utf-8")
    modules = loaded(tmp_path, "check", path)
    assert {"nodelint.karpenter.resolve", "_ruamel_yaml"} <= modules
    slow = (
        "cel_expr_python",
        "click",
        "inspect",
        "uuid",
        "nodelint.files.wildmatch",
        "difflib",
        "boto3",
        "jsonschema",
        "yaml",
        "ruamel.yaml",
        "ruamel.yaml.tokens",
        "subprocess",
        "typing",
        "contextlib",
        "copy",
        "datetime",
        "weakref",
    )
    rooms = ("plan", "upgrade", "triage", "render", "lsp", "drift", "convert", "karpenter.userdata")
    assert not modules & {*slow, *(f"nodelint.{room}" for room in rooms)}


def test_options_with_values_are_taken_without_click(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("kind: ConfigMap\n", encoding="utf-8")
    options = ("--karpenter-version", "1.4", "--format=github", "--exclude", "b.yaml", "--fail-on", "warning")
    assert "click" not in loaded(tmp_path, "check", *options, "a.yaml")


def test_a_snapshot_is_read_without_click(tmp_path: Path) -> None:
    (tmp_path / "pool.yaml").write_text(POOL, encoding="utf-8")
    (tmp_path / "facts.json").write_text(snapshot_text(SMALL), encoding="utf-8")
    modules = loaded(tmp_path, "check", "--snapshot", "facts.json", "pool.yaml")
    assert "nodelint.karpenter.resolve" in modules
    assert not modules & {"click", "typing"}


@pytest.mark.parametrize("arguments", [("check", "--format", "json", "pool.yaml"), ("explain", "pool.yaml")])
def test_other_commands_load_neither_aws_nor_what_only_tests_need(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    (tmp_path / "pool.yaml").write_text(POOL, encoding="utf-8")
    assert not loaded(tmp_path, *arguments) & {
        "boto3",
        "botocore",
        "jsonschema",
        "difflib",
        "nodelint.files.wildmatch",
        "ruamel.yaml",
        "subprocess",
    }


@pytest.mark.parametrize(("name", "module"), [("check", check), ("plan", plan), ("fit", fit)])
@given(
    arguments=st.lists(
        st.sampled_from(
            [
                "--",
                "-",
                "a.yaml",
                "--fix",
                "--unsafe-fixes",
                "--diff",
                "--quiet",
                "-q",
                "-qq",
                "--qui",
                "--live",
                "--live=kubectl",
                "--old=a",
                "--against",
                "--workload=a",
                "--fail-on",
                "launch",
                "error",
                "--fail-on=no",
                "--format=json",
                "--format=json=a",
                "--format=json=",
                "--format=html",
                "--format",
                "github",
                "--snapshot",
                "--snapshot=a=b",
                "--region=",
                "--select",
                "--exclude=a,b",
                "--profile",
                "strict",
                "--karpenter-version",
                "1.4",
                "--no-such=a",
                "-h",
                "-x",
            ]
        ),
        max_size=6,
    )
)
def test_plain_arguments_mean_what_click_makes_of_them(name: str, module: Any, arguments: list[str]) -> None:
    taken = plain([name, *arguments])
    if taken is not None:
        # click keeps the help of a command with the names that the first context has for it
        parent = click.Context(cli, **cli.context_settings)
        params = module.command.make_context(name, list(arguments), parent).params
        assert taken == {key: type(taken[key])(value) if value == [] else value for key, value in params.items()}


def test_plan_and_fit_load_no_more_than_their_files_need(tmp_path: Path) -> None:
    (tmp_path / "old.yaml").write_text(POOL, encoding="utf-8")
    (tmp_path / "pool.yaml").write_text(POOL.replace("[c, m]", "[m]"), encoding="utf-8")
    (tmp_path / "app.yaml").write_text(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\n"
        "spec: {template: {spec: {containers: [{name: a, image: b}]}}}\n",
        encoding="utf-8",
    )
    slow = {"click", "contextlib", "typing", "html", "textwrap", "hashlib", "tempfile", "fractions"}
    modules = loaded(tmp_path, "plan", "--old", "old.yaml", "pool.yaml")
    assert {"nodelint.plan.verdict", "nodelint.report.plan_text"} <= modules
    rooms = (
        "forms.terraform",
        "forms.lib.gotemplate.sprig",
        "fit",
        "drift.cluster",
        "plan.roll",
    )
    assert not modules & ({*slow, *(f"nodelint.{room}" for room in rooms)} - {"textwrap"})
    modules = loaded(tmp_path, "fit", ".")
    assert "nodelint.fit.verdict" in modules
    assert not modules & {*slow, "nodelint.fit.ways_out", "nodelint.report.markdown", "nodelint.drift"}


def test_what_is_plain_and_what_is_not() -> None:
    taken = plain(["check", "--fix", "a.yaml", "--", "--diff", "-"])
    assert taken is not None
    assert (taken["paths"], taken["fixing"], taken["diff"]) == (("a.yaml", "--diff", "-"), True, False)
    taken = plain(["check", "--format", "github=c", "a.yaml", "--snapshot=b", "--select", "c", "--select", "d,e"])
    assert taken is not None
    assert (taken["outputs"], taken["snapshot"], taken["select"]) == ([Output("github", "c")], "b", ("c", "d,e"))
    others = (["explain", "a.yaml"], ["check", "--format", "no"], ["check", "-h"], ["check", "--fi"], [])
    for other in (*others, ["check", "--snapshot"], ["check", "--snapshot", "--fix"], ["check", "--max-age", "1h"]):
        assert plain(other) is None


class _Pair(NamedTuple):
    first: int
    second: str = "b"

    def __str__(self) -> str:
        return super().__repr__().lower()


def test_named_tuples_are_what_those_of_collections_are() -> None:
    pair = _Pair(1)
    assert (repr(pair), str(pair), pair) == ("_Pair(first=1, second='b')", "_pair(first=1, second='b')", (1, "b"))
    assert (pair._replace(second="c"), pair._asdict()) == (_Pair(1, "c"), {"first": 1, "second": "b"})
    assert (_Pair._fields, _Pair._make([3, "x"]), _Pair(second="y", first=4).second) == (
        ("first", "second"),
        (3, "x"),
        "y",
    )
    for wrong in (
        lambda: _Pair(),
        lambda: _Pair(1, "b", 2),
        lambda: pair._replace(third=1),
        lambda: _Pair._make([1]),
    ):
        with pytest.raises(TypeError):
            wrong()


def test_the_parser_alone_and_the_package_after_it(tmp_path: Path) -> None:
    """What stands in for ruamel.yaml while its parser is loaded is gone afterwards."""
    code = (
        "import sys\nfrom nodelint.text.yaml.libyaml import libyaml\nalone = libyaml()\n"
        "assert not {'ruamel.yaml', 'ruamel.yaml.constructor'} & set(sys.modules)\n"
        "from ruamel.yaml import YAML\nassert YAML(typ='safe').load('a: [1]') == {'a': [1]}\n"
        "try: YAML(typ='safe').load('a: [1')\nexcept alone.error: print('refused')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "refused\n"


def test_kinds_of_facts_are_the_same_for_a_type_checker_and_at_run_time() -> None:
    # typing is not loaded when a check runs, so the list is written twice.
    [literal] = re.findall(r"(?s)Literal\[(.*?)\]", Path(fact_kinds.__file__).read_text(encoding="utf-8"))
    assert tuple(re.findall(r'"([^"]+)"', literal)) == fact_kinds.FACT_KINDS


def modules() -> dict[str, Path]:
    """The modules of the package by name."""
    paths = (ROOT / "nodelint").rglob("*.py")
    return {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path for path in paths}


def imported(node: ast.stmt, names: Collection[str]) -> set[str]:
    """The modules that an import loads."""
    if isinstance(node, ast.Import):
        return {alias.name for alias in node.names}
    assert isinstance(node, ast.ImportFrom) and node.module is not None
    inner = {f"{node.module}.{alias.name}" for alias in node.names}
    return (inner & set(names)) | {node.module}


def at_once(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """The imports that run when a module is loaded."""
    for node in body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif isinstance(node, ast.If) and "TYPE_CHECKING" not in ast.unparse(node.test):
            yield from at_once([*node.body, *node.orelse])


def test_an_import_inside_a_function_keeps_something_unloaded() -> None:
    """The one reason for it is the time to start: what is loaded with the module anyway is imported at its top."""
    names = modules()
    loads: dict[str, set[str]] = {}
    for name, path in names.items():
        found = {module for node in at_once(syntax_tree(path).body) for module in imported(node, names)}
        loads[name] = found | {module.rpartition(".")[0] for module in found if module.rpartition(".")[0] in names}

    def loaded(name: str, seen: set[str]) -> set[str]:
        for module in loads.get(name, set()) - seen:
            seen.add(module)
            loaded(module, seen)
        return seen

    # These bring a name when it is asked for, with a module of its own.
    lazy = {name for name, path in names.items() if "def __getattr__" in path.read_text(encoding="utf-8")}
    idle = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {ast.unparse(node)}"
        for name, path in names.items()
        for function in nodes(path)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
        if (ours := imported(node, names) & names.keys()) and not ours & lazy and ours <= loaded(name, set())
    ]
    assert not idle
