"""Laws of Terraform's shapes: one answer of every command, no mistake unseen, no error from what is not known."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from nodelint.files.discover import discover
from nodelint.forms.terraform.file_blocks import TerraformBlock, attributes_of, blocks_of
from nodelint.forms.terraform.hcl import Text, read_literal
from nodelint.inventory import Inventory, read_inventory
from nodelint.lint.engine import LintRequest, Report, Selection, Target, lint
from nodelint.lsp.buffers import Buffer, State
from nodelint.lsp.project import Project
from nodelint.model.finding import span_of, written_place
from nodelint.model.releases import NEWEST
from nodelint.report.coverage import cover
from nodelint.rule.definition import Rule
from nodelint.text import Node, Source
from tests.forms.terraform.test_terraform_releases import WAYS, release_files
from tests.forms.terraform.test_terraform_shapes import SHAPES

Run = Callable[..., subprocess.CompletedProcess[str]]
ENDS = (".tf", ".tfvars", ".hcl")
OLD, NEW = "m5.xlrge", "m5.xlarge"
ROOTS = {name: shape.files for name, shape in SHAPES.items()} | {
    f"a chart by {name}": release_files(body, files) for name, (body, files, _) in WAYS.items()
}
"""Files of modules, by name: those that make objects, and those that give values to a chart beside them."""
WITH_TYPE = sorted(name for name, shape in SHAPES.items() if OLD in str(shape.files))


def write(files: dict[str, str], old: str = "", new: str = "") -> None:
    for path, text in files.items():
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(text.replace(old, new) if old else text, encoding="utf-8")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def place_of(files: dict[str, str]) -> tuple[str, int]:
    """Where the one type is written."""
    path = next(path for path in files if OLD in files[path])
    return path, files[path][: files[path].index(OLD)].count("\n") + 1


@pytest.mark.parametrize("name", WITH_TYPE)
def test_an_editor_shows_the_finding_where_the_command_has_it(name: str, folder: Path) -> None:
    files = SHAPES[name].files
    (folder / ".git").mkdir(exist_ok=True)
    write(files)
    path, line = place_of(files)
    buffer = Buffer((folder / path).as_uri(), 1, files[path], "utf-16")
    project = Project(lambda: datetime(2026, 9, 20, tzinfo=UTC))
    found = project.view_of(State({buffer.uri: buffer}, (str(folder),), 1, 1), buffer.uri)
    assert found is not None
    results = [result for result in found[0].results(buffer) if OLD in result.message]
    assert {result.span.source.position(result.span.start).line for result in results} == {line}


@pytest.mark.parametrize("name", WITH_TYPE)
def test_explain_and_hash_speak_of_what_is_built(nodelint: Run, name: str) -> None:
    write(SHAPES[name].files, OLD, NEW)
    pools = json.loads(nodelint("explain", "--format", "json").stdout)["nodePools"]
    values = [line["values"] for pool in pools for line in pool["requirements"]]
    assert any(NEW in line for line in values), values
    rows = json.loads(nodelint("hash", "--format", "json").stdout)["objects"]
    hashed = [row for row in rows if row["kind"] == "NodePool" and row["hash"]]
    assert len([row for row in rows if row["kind"] == "NodePool"]) == len(pools)
    partly = "code of several lines" in name or "a part is known" in name
    assert hashed or partly, "only there something that is hashed is not known"


@pytest.mark.parametrize("name", WITH_TYPE)
def test_plan_sees_a_change_of_the_value(nodelint: Run, name: str, folder: Path) -> None:
    files = {path: text for path, text in SHAPES[name].files.items() if not path.startswith(".git/")}
    for place, value in (("old", NEW), ("same", NEW), ("new", "m5.2xlarge")):
        write({f"{place}/{path}": text for path, text in files.items()}, OLD, value)
    before, after = (
        json.loads(nodelint("plan", "--old", "old", place, "--format", "json").stdout)["nodePools"]
        for place in ("same", "new")
    )
    assert {pool["change"] for pool in before} == {"unchanged"}
    assert len(after) == len(before)
    changed = [pool for pool in after if pool["change"] == "changed"]
    gained = [["m5.2xlarge"]] if "a part is known" not in name else [["m5.2xlarge"], []]
    assert changed and all(pool["instanceTypes"]["gained"] in gained for pool in changed)


def build() -> tuple[list[Source], Inventory]:
    found = discover(["."])
    return found.sources, read_inventory(found)


def judge(rules: dict[str, Rule]) -> Report:
    sources, inventory = build()
    return lint(sources, LintRequest(Target(NEWEST), rules, Selection()), built=inventory.built)


def literals(inventory: Inventory) -> Iterator[tuple[Node, str]]:
    """The literals of files that are values of objects, each with the field that it is the value of."""
    for obj in inventory.objects():
        for node in (obj.node.get("spec") or obj.node).walk():
            is_key = node.parent is not None and any(entry.key is node for entry in node.parent.entries)
            at = span_of(written_place(node))
            own = read_literal(at.source, at.start, at.end) if at.source.path.endswith(ENDS) else None
            if node.kind == "scalar" and not is_key and own is not None and own.kind == "scalar":
                yield own, node.path


@pytest.mark.parametrize("name", sorted(name for name, files in ROOTS.items() if OLD in str(files)))
def test_a_mistake_planted_in_any_literal_is_found_or_listed(name: str, rules: dict[str, Rule]) -> None:
    files = {path: text.replace(OLD, NEW) for path, text in ROOTS[name].items()}
    write(files)
    places = list(literals(build()[1]))
    assert (
        places
        or "quoted" in name
        or "heredoc" in name
        or not any(path.endswith(ENDS) for path in files if OLD in ROOTS[name][path])
    )
    # Shapes share what leads a literal to its place: each second literal of each of them.
    for at, field in places[::2]:
        path = Path(at.source.path)
        text = path.read_text(encoding="utf-8")
        path.write_text(f"{text[: at.start]}{{ planted = [1] }}{text[at.end :]}", encoding="utf-8")
        report = judge(rules)
        line = at.source.position(at.start).line
        seen = {
            (span.source.path, span.source.position(span.start).line)
            for result in report.results
            for span in (result.span, *(also.span for also in result.finding.also))
        }
        listed = any(unknown.subject in field for unknown in cover(report).unknown)
        assert listed or (at.source.path, line) in seen, f"{at.source.path}:{line}: {text[at.start : at.end]}"
        path.write_text(text, encoding="utf-8")


def attributes(path: str, text: str) -> Iterator[tuple[int, int]]:
    """Where the values begin and end that variables, locals, inputs and files of variables give."""
    words = Text(text, 0, len(text))
    whole = TerraformBlock("", (), tuple(words.tokens), 0, len(text))
    blocks = (
        [whole] if path.endswith(".tfvars") else [b for b in blocks_of(words) if b.kind in ("variable", "locals")]
    )
    for block in blocks:
        for item in attributes_of(words, block):
            if not item.depth and (block.kind != "variable" or item.name == "default"):
                yield text.rindex(item.name, 0, item.value.start), item.value.end


@pytest.mark.parametrize("name", sorted(ROOTS))
def test_what_is_taken_away_makes_no_error(name: str, rules: dict[str, Rule]) -> None:
    files = {path: text.replace(OLD, NEW) for path, text in ROOTS[name].items()}
    write(files)
    rules = {name: rule for name, rule in rules.items() if name != "undeclared-reference"}  # it is about what is gone
    before = {(r.rule.name, r.message) for r in judge(rules).results if r.severity == "error"}
    for path, text in files.items():
        for start, end in attributes(path, text) if re.search(r"\.(tf|tfvars)$", path) else ():
            Path(path).write_text(text[:start] + text[end:], encoding="utf-8")
            after = {(r.rule.name, r.message) for r in judge(rules).results if r.severity == "error"}
            assert after <= before, f"{path}: without {text[start:end]!r}"
            Path(path).write_text(text, encoding="utf-8")
