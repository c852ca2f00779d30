"""What every form keeps (`tests/forms/test_contract.py`), by what a program renders: a stand-in for kustomize."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from nodelint.edits import apply, set_value
from nodelint.files.discover import discover, stating
from nodelint.forms.external.render import render
from nodelint.forms.rendered import Built, LedEdits
from nodelint.inventory import Inventory, read_inventory
from nodelint.releases import evidence_of
from nodelint.text import UNKNOWN
from tests.forms.test_contract import plain, read_tree, weights
from tests.repositories import write_files

Run = Callable[..., subprocess.CompletedProcess[str]]

PROGRAM = r"""
import re
def read(name):
    text = open(name).read()
    if text.count("[") != text.count("]"):
        sys.exit(f"Error: {name}: yaml: did not find expected ',' or ']'")
    return text
read("kustomization.yaml")
weight = re.search(r"weight: (\S+)", read("weight.yaml"))
print(re.sub(r"weight: \S+", f"weight: {weight[1] if weight else 5}", read("../base/pool.yaml")))
"""
CONTROLLER = """apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: karpenter}
spec:
  chart: {spec: {chart: karpenter, version: 1.6.0, sourceRef: {kind: HelmRepository, name: karpenter}}}
"""
WRITTEN = "prod/weight.yaml"


def tree() -> dict[str, str]:
    files = {name: text for name, text in read_tree("kustomize").items() if not name.startswith("controller/")}
    return {**files, "controller.yaml": CONTROLLER}


@pytest.fixture(autouse=True)
def repository(here: Path, stand_in: Callable[[str, str], Path]) -> None:
    write_files(here, tree())
    stand_in("kustomize", PROGRAM)


@pytest.fixture
def check(nodelint: Run, here: Path) -> Run:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return nodelint("check", ".", "--kustomize", *arguments, cwd=here, env={"PATH": os.environ["PATH"]})

    return run


def read() -> Inventory:
    rendering = render(["."], kustomize=True, helm=False)
    assert not rendering.problems
    return read_inventory(discover(["."]), rendering)


def built_with(weight: object) -> list[Built]:
    return [built for built in read().built if weight in [node.value for node in weights(built)]]


def test_every_value_has_an_origin_and_an_edit_there_renders_to_the_same(here: Path) -> None:
    [built] = built_with(10)
    for node in (node for root in built.source.documents if root.root is not None for node in root.root.walk()):
        assert node.kind != "scalar" or node.value is UNKNOWN or built.find_origin(node) is not None
    [weight] = weights(built)
    origin = built.find_origin(weight)
    assert origin is not None and origin.at.source.path == WRITTEN
    wanted = set_value(weight, 20)
    led = built.lead_edits(wanted)
    assert isinstance(led, LedEdits) and {edit.source.path for edit in led.edits} == {WRITTEN}
    (here / WRITTEN).write_text(apply(led.edits[0].source.text, led.edits))
    [after] = built_with(20)
    assert after.source.text == apply(built.source.text, wanted)


def test_each_file_that_has_a_part_in_it_is_among_its_inputs(here: Path) -> None:
    [built] = built_with(10)
    before, parts = plain(built), {os.path.realpath(part) for part in built.parts}
    for name, old, new in ((WRITTEN, "10", "11"), ("base/pool.yaml", "- c", "- r")):
        text = (here / name).read_text()
        (here / name).write_text(text.replace(old, new))
        assert [plain(other) for other in read().built] != [before]
        assert os.path.realpath(here / name) in parts
        (here / name).write_text(text)


def test_a_broken_input_is_named(here: Path, check: Run) -> None:
    (here / "prod/kustomization.yaml").write_text("resources: [../base\n")
    done = check()
    assert "prod" in done.stderr and done.returncode == 2


def test_a_value_that_is_not_known_is_no_finding(here: Path, check: Run) -> None:
    found = []
    for weight in ("101", "${WEIGHT}"):
        (here / WRITTEN).write_text(tree()[WRITTEN].replace("10", weight))
        messages = [finding["message"] for finding in json.loads(check("--format", "json").stdout)["findings"]]
        found.append([message for message in messages if "weight" in message])
    assert found[0] and not found[1]


def test_a_plan_of_a_tree_against_itself_is_empty(here: Path, nodelint: Run) -> None:
    for side in ("old", "new"):
        write_files(here / side, tree())
    arguments = ("plan", "--old", "old", "new", "--kustomize", "--format", "json")
    done = nodelint(*arguments, cwd=here, env={"PATH": os.environ["PATH"]})
    assert done.returncode == 0, done.stdout + done.stderr
    assert [pool for pool in json.loads(done.stdout)["nodePools"] if pool["change"] != "unchanged"] == []


def test_what_is_stated_has_a_place(here: Path) -> None:
    [evidence] = evidence_of(stating(discover(["."]))).all
    assert (evidence.version, evidence.path) == ("1.6.0", "controller.yaml")
    assert "1.6.0" in CONTROLLER.splitlines()[evidence.line - 1]
