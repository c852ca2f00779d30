"""What every form keeps, tried on a tree of its own: `tests/forms/NAME/tree`.

In each tree the NodePool `general` has the weight 10, which is written in one place, and Karpenter 1.6.0 is
installed. A new form brings such a tree and a row of `CASES`.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from nodelint.base.tuples import NamedTuple
from nodelint.edits import apply, set_value
from nodelint.files.discover import discover
from nodelint.files.release_files import read_stating_files
from nodelint.forms.registry import FORMS
from nodelint.forms.rendered import Built
from nodelint.inventory import read_inventory
from nodelint.model.finding import Withheld
from nodelint.releases import evidence_of
from nodelint.text import UNKNOWN, Node
from tests.repositories import write_files

Run = Callable[..., subprocess.CompletedProcess[str]]

FOLDER = Path(__file__).parent


class Case(NamedTuple):
    """Where the weight of a tree comes from, and what makes a file of it unreadable, or the weight unknown.

    `origin` is the place that findings have, where that is another: the text in which a variable is filled in.
    """

    edited: str
    broken: tuple[str, str, str]
    unknown: tuple[str, str, str]
    origin: str = ""


CASES = {
    "kustomize": Case(
        "prod/weight.yaml",
        ("prod/kustomization.yaml", "resources:", "resources: ["),
        ("prod/weight.yaml", "weight: 10", "weight: ${WEIGHT}"),
    ),
    "flux": Case(
        "clusters/prod/pools.yaml",
        ("clusters/prod/pools.yaml", "substitute:", "substitute: ["),
        ("clusters/prod/pools.yaml", 'substitute:\n      weight: "10"', "substituteFrom: [{kind: Secret, name: a}]"),
        "pools/pool.yaml",
    ),
    "argocd": Case(
        "apps/pools.yaml",
        ("apps/pools.yaml", "valuesObject:", "valuesObject: ["),
        ("apps/pools.yaml", "weight: 10", "weight: '{{values.weight}}'"),
    ),
    "helmfile": Case(
        "helmfile.yaml",
        ("helmfile.yaml", "releases:", "releases: ["),
        ("helmfile.yaml", "weight: 10", "weight: {{ requiredEnv `WEIGHT` }}"),
    ),
    "helm": Case(
        "chart/values.yaml",
        ("chart/values.yaml", "weight:", "weight: ["),
        ("chart/templates/pool.yaml", ".Values.weight", '(lookup "v1" "ConfigMap" "a" "b").data.weight'),
    ),
    "terraform": Case(
        "variables.tf",
        ("variables.tf", "default = 10\n}", "default = 10"),
        ("pools.tf", "${var.weight}", "${data.aws_ssm_parameter.weight.value}"),
    ),
}


def read_tree(form: str) -> dict[str, str]:
    top = FOLDER / form / "tree"
    return {path.relative_to(top).as_posix(): path.read_text() for path in sorted(top.rglob("*")) if path.is_file()}


def weights(built: Built) -> list[Node]:
    roots = [document.root for document in built.source.documents if document.root is not None]
    return [node for root in roots if (node := root.find("spec", "weight")) is not None]


def render(folder: Path, weight: object = 10) -> list[Built]:
    """What is built in a folder with a weight."""
    found = discover(["."])
    return [b for b in read_inventory(found).built if weight in [node.value for node in weights(b)]]


def plain(built: Built) -> list[object]:
    return [document.root.plain() for document in built.source.documents if document.root is not None]


@pytest.fixture(params=CASES)
def form(request: pytest.FixtureRequest, here: Path) -> str:
    """A form; its tree stands in the folder of the test."""
    write_files(here, read_tree(request.param))
    return str(request.param)


def test_each_form_of_the_registry_brings_a_tree() -> None:
    assert {row.name for row in FORMS} == CASES.keys()


def test_every_value_has_an_origin_or_is_not_known(form: str, here: Path) -> None:
    [built] = render(here)
    for node in (node for root in built.source.documents if root.root is not None for node in root.root.walk()):
        has_origin = node.value is UNKNOWN or built.find_origin(node) is not None
        assert has_origin, f"`find_origin` returns None for `{node.path or 'the document'}`: say where it is written"
    [weight] = weights(built)
    origin = built.find_origin(weight)
    assert origin is not None
    assert os.path.relpath(origin.at.source.path) == (CASES[form].origin or CASES[form].edited)


def test_an_edit_at_the_origin_renders_to_what_the_same_edit_of_the_result_gives(form: str, here: Path) -> None:
    [built] = render(here)
    [weight] = weights(built)
    wanted = set_value(weight, 20)
    led = built.lead_edits(wanted)
    if isinstance(led, Withheld):  # what only has a part in it is not edited by itself, and says why
        origin = built.find_origin(weight)
        assert origin is not None and led.reason
        where = "an origin that is a Span cannot be edited by itself: write `map_edits` of `Built`"
        assert isinstance(origin.at, Node), where
        edits = set_value(origin.at, 20)
    else:
        edits = list(led.edits)
    assert {edit.source.path for edit in edits} == {CASES[form].edited}
    (here / CASES[form].edited).write_text(apply(edits[0].source.text, edits))
    [after] = render(here, 20)
    assert after.source.text == apply(built.source.text, wanted)


def test_each_file_that_has_a_part_in_it_is_among_its_inputs(form: str, here: Path) -> None:
    [built] = render(here)
    before, parts = plain(built), {os.path.realpath(part) for part in built.parts}
    for name, text in read_tree(form).items():
        (here / name).write_text("# karpenter.sh\n")
        after = render(here)
        if [plain(other) for other in after] != [before]:
            assert os.path.realpath(here / name) in parts, name
        (here / name).write_text(text)


def test_a_broken_input_is_named(form: str, here: Path, nodelint: Run) -> None:
    name, old, new = CASES[form].broken
    text = (here / name).read_text()
    assert old in text
    (here / name).write_text(text.replace(old, new))
    done = nodelint("check", ".", cwd=here)
    printed = done.stdout + done.stderr
    assert name in printed, f"nothing is said of {name}: write `list_inputs` and `find_fault`; printed is {printed!r}"
    assert done.returncode != 0


def test_a_value_that_is_not_known_is_no_finding(form: str, here: Path, nodelint: Run) -> None:
    def findings() -> list[str]:
        done = nodelint("check", ".", "--format", "json", cwd=here)
        return [finding["message"] for finding in json.loads(done.stdout)["findings"] if "weight" in str(finding)]

    written = here / CASES[form].edited
    own = written.read_text()
    written.write_text(own.replace("10", "101"))
    assert findings(), "a weight of 101 is refused"
    written.write_text(own)
    name, old, new = CASES[form].unknown
    text = (here / name).read_text()
    assert old in text
    (here / name).write_text(text.replace(old, new))
    assert findings() == []


def test_a_plan_of_a_tree_against_itself_is_empty(form: str, here: Path, nodelint: Run) -> None:
    write_files(here / "old", read_tree(form))
    write_files(here / "new", read_tree(form))
    done = nodelint("plan", "--old", "old", "new", "--format", "json", cwd=here)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [pool for pool in json.loads(done.stdout)["nodePools"] if pool["change"] != "unchanged"] == []


def test_what_is_stated_has_a_place(form: str, here: Path) -> None:
    stated = evidence_of(read_stating_files(discover(["."]))).all
    assert {evidence.version for evidence in stated if evidence.about == "karpenter"} == {"1.6.0"}
    for evidence in stated:
        assert "1.6.0" in (here / evidence.path).read_text().splitlines()[evidence.line - 1]
