"""Lines that end as only YAML knows: they are read, and no edit or comment takes one line for another."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from nodelint.cli import cli
from nodelint.edits import NotEditable, add_document, add_item, add_key, apply, remove, replace, set_value
from nodelint.text import Source

POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  weight: 500  # high
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - key: kubernetes.io/arch
          operator: In
          values: ["*"]
        - key: kubernetes.io/os
          operator: In
          values: [linux]
"""
BREAKS = pytest.mark.parametrize("ending", ["\r", "\x85", "\u2028", "\u2029", "\r\r\n"])


def run(path: Path, text: str, *options: str) -> Result:
    path.write_bytes(text.encode())
    return CliRunner().invoke(cli, ["check", *options, str(path)], catch_exceptions=False)


@BREAKS
def test_a_fix_leaves_such_a_file_as_it_is(here: Path, ending: str) -> None:
    text = POOL.replace("\n", ending)
    done = run(here / "pool.yaml", text, "--fix", "--unsafe-fixes")
    assert (here / "pool.yaml").read_bytes() == text.encode()
    assert done.exit_code == 1
    assert "fix it by hand: some lines of the file end in neither" in " ".join(done.output.split())
    assert "weight" in done.output  # what is behind the first line is judged


@BREAKS
def test_a_comment_is_about_its_own_line(here: Path, ending: str) -> None:
    text = POOL.replace("# high", "# nodelint: ignore[invalid-field] why").replace("\n", ending)
    done = run(here / "pool.yaml", text)
    assert "weight" not in done.output
    assert '"*"' in done.output


@BREAKS
def test_a_comment_that_goes_takes_nothing_with_it(here: Path, ending: str) -> None:
    text = POOL.replace("500", "50").replace('["*"]', "[arm64]")
    text = text.replace("spec:\n  weight", "# nodelint: ignore[unknown-field]\nspec:\n  weight").replace("\n", ending)
    run(here / "pool.yaml", text, "--fix", "--unsafe-fixes")
    after = (here / "pool.yaml").read_bytes().decode()
    assert "unknown-field" not in after
    assert Source.from_text("a.yaml", after).documents[0].root.plain() == (  # type: ignore[union-attr]
        Source.from_text("a.yaml", text).documents[0].root.plain()  # type: ignore[union-attr]
    )


@BREAKS
def test_a_value_may_change_and_lines_may_not(ending: str) -> None:
    source = Source.from_text("x.yaml", "# karpenter\na: 1\nb: [x]\n".replace("\n", ending))
    top = source.documents[0].root
    assert top is not None
    value, items = top.get("a"), top.get("b")
    assert value is not None and items is not None
    assert apply(source.text, set_value(value, 2)) == source.text.replace("1", "2")
    for refused in (
        lambda: remove(value),
        lambda: add_key(top, "c", 1),
        lambda: add_item(items, "y"),
        lambda: replace(value, {"c": 1}),
        lambda: add_document(source.documents[0], "---\na: 1\n"),
    ):
        with pytest.raises(NotEditable, match="some lines of the file end in"):
            refused()


@BREAKS
def test_an_old_object_is_not_rewritten(here: Path, ending: str) -> None:
    old = "apiVersion: karpenter.sh/v1beta1\nkind: NodePool\nmetadata: {name: a}\nspec:\n  template:\n    spec:\n"
    old += "      nodeClassRef: {name: default}\n      requirements: []\n"
    done = run(here / "pool.yaml", old.replace("\n", ending), "--fix", "--unsafe-fixes")
    assert "removed-api" in done.output
    assert (here / "pool.yaml").read_bytes() == old.replace("\n", ending).encode()


def test_a_space_that_is_none_for_yaml_belongs_to_the_text() -> None:
    source = Source.from_text("x.yaml", "# karpenter\n- a: 1\n  \u00a0b: 2\n")
    root = source.documents[0].root
    assert root is not None
    first = root.items[0].get("a")
    assert first is not None
    assert apply(source.text, remove(first)) == "# karpenter\n- \u00a0b: 2\n"


EXPLICIT = """\
# karpenter
- ? tags
  : Name: foo
- ? alone
- a: 1
  ? b
  : 2
"""


@pytest.mark.parametrize("index", [0, 1, 2])
def test_beside_an_explicit_key_no_key_comes_or_goes(index: int) -> None:
    root = Source.from_text("x.yaml", EXPLICIT).documents[0].root
    assert root is not None
    mapping = root.items[index]
    with pytest.raises(NotEditable, match=r"written with `\?`"):
        add_key(mapping, "owner", "self")
    with pytest.raises(NotEditable, match=r"written with `\?`"):
        replace(mapping, {"a": 1})
    for entry in mapping.entries:
        with pytest.raises(NotEditable, match=r"written with `\?`"):
            remove(entry.value)


def test_a_value_below_an_explicit_key_changes_in_its_place() -> None:
    root = Source.from_text("x.yaml", EXPLICIT).documents[0].root
    assert root is not None
    name, alone, two = root.find(0, "tags", "Name"), root.find(1, "alone"), root.find(2, "b")
    assert name is not None and alone is not None and two is not None
    assert apply(EXPLICIT, set_value(name, "bar")) == EXPLICIT.replace("foo", "bar")
    assert apply(EXPLICIT, set_value(two, 3)) == EXPLICIT.replace(": 2", ": 3")
    with pytest.raises(NotEditable, match=r"written with `\?`"):
        set_value(alone, "x")


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_a_fix_keeps_the_encoding(here: Path, encoding: str) -> None:
    text = "\ufeff" + POOL.replace("500", "50 # é").replace("\n", "\r\n")
    (here / "pool.yaml").write_bytes(text.encode(encoding))
    done = CliRunner().invoke(cli, ["check", "--fix", str(here / "pool.yaml")], catch_exceptions=False)
    assert "Fixed 1 finding" in done.output
    after = text.replace('          operator: In\r\n          values: ["*"]', "          operator: Exists")
    assert (here / "pool.yaml").read_bytes() == after.encode(encoding)
