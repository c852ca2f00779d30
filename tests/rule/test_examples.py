"""Examples of a rule's page: lines laid over a frame, and good examples that the fix makes."""

from __future__ import annotations

from pathlib import Path

import pytest

from nodelint.data import DATA
from nodelint.rule.definition import Rule
from nodelint.rule.examples import (
    Example,
    FrameError,
    example_pairs,
    examples,
    frame_errors,
    insert_lines,
    whole_page,
)
from tests.conftest import ROOT

FRAMES = sorted(Path(DATA, "frames").glob("*.yaml"))
FRAME = """\
kind: NodePool
metadata:
  name: default
spec:
  template:
    spec:
      ref: {name: default}
      list:
        - a
        - b
"""


@pytest.mark.parametrize("path", FRAMES, ids=lambda path: path.stem)
def test_a_frame_is_a_correct_manifest(check, path: Path) -> None:  # type: ignore[no-untyped-def]
    report = check(path.read_text(encoding="utf-8"))
    assert len(report.objects) == 1
    assert [(r.rule.name, r.message) for r in report.results] == []


@pytest.mark.parametrize(
    ("lines", "old", "new"),
    [
        ("", "", ""),
        ("metadata.name: x\n", "  name: default\n", "  name: x\n"),
        ("spec.limits: {cpu: 1}\n", "        - b\n", "        - b\n  limits: {cpu: 1}\n"),
        ("spec.a.b.c: 1\n", "        - b\n", "        - b\n  a:\n    b:\n      c: 1\n"),
        ("spec.a.b: 1\nspec.a.c: 2\n", "        - b\n", "        - b\n  a:\n    b: 1\n    c: 2\n"),
        ("spec.template.spec.list:\n  - c\n", "        - a\n        - b\n", "        - c\n"),
        ("spec.template.spec.ref:\n  name: x\n", "ref: {name: default}\n", "ref:\n        name: x\n"),
        ("spec.template.spec.list: null\n", "      list:\n        - a\n        - b\n", ""),
        ("spec.weight: null\n", "        - b\n", "        - b\n  weight: null\n"),
        ("metadata.labels: {a: b}\n", "  name: default\n", "  name: default\n  labels: {a: b}\n"),
        (
            "spec.template.metadata.labels: {a: b}\n",
            "    spec:\n",
            "    metadata:\n      labels: {a: b}\n    spec:\n",
        ),
        ("# why\nspec.w: 1  # how\n", "        - b\n", "        - b\n  # why\n  w: 1  # how\n"),
        (
            "spec.text: |\n  a\n\n    b\nspec.w: 1\n",
            "        - b\n",
            "        - b\n  text: |\n    a\n\n      b\n  w: 1\n",
        ),
    ],
)
def test_an_entry_takes_the_place_of_its_field(lines: str, old: str, new: str) -> None:
    assert insert_lines(FRAME, lines) == FRAME.replace(old, new, 1)


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("- a\n", "does not begin with the path of a field"),
        ("spec.template.spec.ref.name: x\n", "`ref` is written in one line"),
        ("metadata.name: x\n---\nmetadata.name: y\n", "no frame is left for the lines from `metadata.name: y` on"),
    ],
)
def test_lines_without_a_place_are_an_error(lines: str, words: str) -> None:
    with pytest.raises(FrameError) as error:
        insert_lines(FRAME, lines)
    assert words in str(error.value)


def test_documents_have_a_frame_each_or_stand_by_themselves() -> None:
    pool, node_class = (
        Path(DATA, "frames", f"{name}.yaml").read_text(encoding="utf-8") for name in ("pool", "class")
    )
    assert insert_lines(f"{pool}---\n{node_class}", "") == f"{pool}---\n{node_class}"
    named = node_class.replace("name: default", "name: b")
    assert insert_lines(f"{pool}---\n{node_class}", "---\nmetadata.name: b\n") == f"{pool}---\n{named}"
    other = "apiVersion: v1\nkind: ConfigMap\n"
    assert insert_lines(pool, f"---\n{other}") == f"{pool}---\n{other}"
    assert insert_lines(f"{pool}---\n{node_class}", f"{other}---\n") == f"{other}---\n{node_class}"


PAGE = """\
A page.

```yaml bad frame=pool karpenter=1.6.0
spec.limits: {cpu: 1}
```

Words.

```yaml good frame=bad
spec.limits: {cpu: 2}
spec.weight: 3
```

```yaml bad frame=pool
spec.weight: 4
```
"""


def test_a_page_is_made_whole() -> None:
    pool = (Path(DATA) / "frames" / "pool.yaml").read_text(encoding="utf-8")
    whole = whole_page(PAGE)
    first, good, last = examples(whole)
    assert "frame=" not in whole and "\n\nWords.\n\n" in whole
    assert first.text == pool + "  limits: {cpu: 1}\n" and first.karpenter == "1.6.0"
    assert good.text == pool + "  limits: {cpu: 2}\n  weight: 3\n" and good.karpenter is None
    assert example_pairs(PAGE) == [(first, good), (last, None)]
    assert whole_page(whole) == whole and frame_errors(PAGE) == []


TWO_FILES = "# file: a.tf\nversion = 1\nname    = 2\n\n# file: b.tf\nversion = 1\n"


@pytest.mark.parametrize(
    ("diff", "good"),
    [
        ("-name    = 2\n+name = 3\n", TWO_FILES.replace("name    = 2", "name = 3")),
        ("-version = 1\n name    = 2\n", TWO_FILES.replace("version = 1\nname", "name")),
        (
            " # file: b.tf\n+new = 4\n@@\n-name    = 2\n",
            TWO_FILES.replace("name    = 2\n", "").replace("b.tf\n", "b.tf\nnew = 4\n"),
        ),
        (" name    = 2\n\n+new = 4\n", TWO_FILES.replace("\n\n", "\n\nnew = 4\n")),
    ],
)
def test_a_good_example_may_be_a_diff_of_the_bad_one(diff: str, good: str) -> None:
    page = f"```yaml bad karpenter=1.6.0\n{TWO_FILES}```\n\n```yaml good karpenter=1.6.0 diff=bad\n{diff}```\n"
    assert frame_errors(page) == []
    assert example_pairs(page)[0][1] == Example(True, good, "1.6.0")
    assert "diff=" not in whole_page(page)


@pytest.mark.parametrize("diff", ["-version = 1\n", "-version = 2\n", "-ersion = 1\n", "+version = 2\n"])
def test_lines_of_a_diff_that_are_missing_or_not_the_only_ones_are_an_error(diff: str) -> None:
    page = f"```yaml bad\n{TWO_FILES}```\n```yaml good diff=bad\n{diff}```\n"
    first = diff.partition("\n")[0]
    assert frame_errors(page) == [
        f"```yaml good diff=bad: the lines from `{first}` on do not occur exactly once in the bad example"
    ]
    assert whole_page(page) == page


def test_pairs_may_stand_in_two_rows() -> None:
    rows = (("bad", 1), ("bad", 2), ("good", 3), ("good", 4))
    page = "".join(f"```yaml {kind}\n{text}\n```\n" for kind, text in rows)
    assert [(bad.text, good and good.text) for bad, good in example_pairs(page)] == [("1\n", "3\n"), ("2\n", "4\n")]


def test_an_example_without_its_frame_stays_and_is_an_error() -> None:
    page = PAGE.replace("frame=pool\n", "frame=pol\n")
    assert "```yaml bad frame=pol\nspec.weight: 4\n```" in whole_page(page)
    assert frame_errors(page) == [
        "```yaml bad frame=pol: there is no frame `pol`; frames are class, node-class, pool"
    ]
    assert frame_errors(whole_page(page)) == frame_errors(page)


def test_every_example_of_every_rule_has_its_place(rules: dict[str, Rule]) -> None:
    assert [error for rule in rules.values() for error in frame_errors(rule.page)] == []


def test_pages_show_examples_whole() -> None:
    for path in sorted((ROOT / "docs" / "rules").glob("*.md")):
        assert "frame=" not in path.read_text(encoding="utf-8"), path.name
