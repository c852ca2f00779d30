"""A form of a test's own: one function and a row; all commands find its objects, and no other package is touched.

A file `.toy` has a line for each pool, `general: c m`, which are the categories of instances.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from nodelint.files.discover import discover
from nodelint.forms.interface import FormRun
from nodelint.forms.registry import FORMS, TABLE, FormRow
from nodelint.forms.rendered import Built, ValueOrigin
from nodelint.inventory import read_inventory
from nodelint.model.finding import Span, span_of
from nodelint.text import Node, Source
from tests.conftest import NOW
from tests.in_process import run
from tests.manifests import nodeclass, nodepool
from tests.repositories import write_files

FILES = {
    "pools.toy": "# karpenter.sh\ngeneral: c m\n",
    "more.toy": "# karpenter.sh\nspare: r\n",
    "class.yaml": nodeclass(),
    "app.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\n"
    "spec: {template: {spec: {containers: [{name: a, image: b}]}}}\n",
}


def render(run: FormRun) -> None:
    """Make a NodePool of each line."""
    run.built += [_build(source) for source in run.sources if source.path.endswith(".toy")]


def _build(source: Source) -> Built:
    text, places, at = "", [], 0
    for line in source.text.splitlines(keepends=True):
        name, colon, categories = line.partition(":")
        if colon and not line.startswith("#"):
            made = nodepool(
                f"key: karpenter.k8s.aws/instance-category, operator: In, values: [{', '.join(categories.split())}]",
                name=name,
            )
            places.append((len(text), len(text) + len(made), Span(source, at, at + len(line.rstrip()))))
            text += f"{made}---\n"
        at += len(line)

    def find_origin(place: Node | Span) -> ValueOrigin | None:
        start = span_of(place).start
        return next((ValueOrigin(span, False) for begin, end, span in places if begin <= start < end), None)

    path = os.path.abspath(source.path)
    result = Source.from_text(source.path, text)
    return Built(result, find_origin, parts=(path,), replaces=(path,), cluster=os.path.dirname(path))


@pytest.fixture
def toy(here: Path) -> Iterator[Path]:
    """A repository with files of the form, while it is registered."""
    module = ModuleType("toy_form")
    module.render = render  # type: ignore[attr-defined]
    sys.modules["toy_form"] = module
    TABLE.set_rows((*FORMS, FormRow("toy", "toy_form", endings=(".toy",))))
    write_files(here, FILES)
    yield here
    TABLE.set_rows(FORMS)
    del sys.modules["toy_form"]


def test_its_objects_are_those_of_the_inventory(toy: Path) -> None:
    names = [obj.name for obj in read_inventory(discover(["."])).objects() if obj.kind == "NodePool"]
    assert sorted(names) == ["general", "spare"]
    for built in read_inventory(discover(["."])).built:
        for document in built.source.documents:
            for node in document.root.walk() if document.root is not None else ():
                origin = built.find_origin(node)
                assert origin is not None and origin.at.source.path.endswith(".toy")


@pytest.mark.parametrize(
    ("command", "printed"),
    [
        (("check", "."), ("mistake", "pools.toy")),
        (("explain", "."), ("general",)),
        (("fit", "."), ("Deployment/a",)),
        (("plan", "--old", "old", "."), ("general",)),
    ],
)
def test_the_commands_find_them(toy: Path, command: tuple[str, ...], printed: tuple[str, ...]) -> None:
    if command[0] == "check":
        (toy / "pools.toy").write_text("# karpenter.sh\ngeneral: c\nmistake: notacategory\n")
    if command[0] == "plan":
        write_files(toy / "old", {"pools.toy": "# karpenter.sh\ngeneral: m r\n", "class.yaml": nodeclass()})
        command = (*command[:-1], "new")
        write_files(toy / "new", {"pools.toy": "# karpenter.sh\ngeneral: c\n", "class.yaml": nodeclass()})
    done = run(command, toy, {**os.environ, "NODELINT_NOW": NOW})
    for words in printed:
        assert words in done.stdout + done.stderr
