"""A change that replaces no node has a row that says so, in every format; a change that replaces nodes has none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.commands.test_cli import Run
from tests.plan.test_plan_for_reviewers import CLASS, POOL, documents
from tests.repositories import write_files

TAGGED = CLASS + "  tags: {team: web}\n"
LIMITED = POOL + "  limits: {cpu: 1000m}\n"
TERMS = "  capacityReservationSelectorTerms: [{id: cr-%s}, {id: cr-%s}]\n"
TAINTS = "      taints: [{key: %s, effect: NoSchedule}, {key: %s, effect: NoSchedule}]\n"
NONE = "replaces no node"


def show(nodelint: Run, folder: Path, old: str, new: str, form: str, *options: str) -> str:
    write_files(folder, {"old/nodes.yaml": old, "new/nodes.yaml": new})
    shown = nodelint("plan", "--old", "old", "new", "--format", form, *options, cwd=folder)
    assert not shown.stderr
    return " ".join(shown.stdout.split())


def with_label(obj: str, value: str) -> str:
    return obj.replace("metadata:\n  name: web", f"metadata:\n  name: web\n  labels: {{app: {value}}}").replace(
        "metadata: {name: web}", f"metadata: {{name: web, labels: {{app: {value}}}}}"
    )


@pytest.mark.parametrize("form", ["text", "markdown", "html", "json"])
@pytest.mark.parametrize(
    ("old", "new", "field", "is_silent"),
    [
        (CLASS, CLASS + "  amiFamily: AL2023\n", "spec.amiFamily", True),
        (CLASS, CLASS + "  amiFamily: Custom\n", "spec.amiFamily", False),
        (CLASS + "  amiFamily: AL2023\n", CLASS, "spec.amiFamily", True),
        (CLASS + TERMS % (1, 2), CLASS + TERMS % (2, 1), "spec.capacityReservationSelectorTerms", True),
        (CLASS + TERMS % (1, 2), CLASS + TERMS % (2, 3), "spec.capacityReservationSelectorTerms", False),
        (CLASS, TAGGED, "spec.tags", False),
        (CLASS, CLASS + "  ipPrefixCount: 1\n", "spec.ipPrefixCount", True),
        (CLASS, CLASS + "  amiFamily: '${FAMILY}'\n", "spec.amiFamily", False),
        (with_label(CLASS, "one"), with_label(CLASS, "two"), "metadata.labels.app", True),
    ],
)
@pytest.mark.parametrize("pool", [POOL, ""], ids=["used", "not used"])
def test_a_class_without_effect_has_a_row(
    nodelint: Run, tmp_path: Path, old: str, new: str, field: str, is_silent: bool, pool: str, form: str
) -> None:
    sides = [documents(pool, side) if pool else side for side in (old, new)]
    shown = show(nodelint, tmp_path, *sides, form)
    assert (f"{NONE}:" in shown) is is_silent, shown
    assert not is_silent or field in shown


@pytest.mark.parametrize(
    ("old", "new", "field", "is_silent"),
    [
        (with_label(POOL, "one"), with_label(POOL, "two"), "metadata.labels.app", True),
        (LIMITED, LIMITED.replace("1000m", '"1"'), "spec.limits.cpu", True),
        (LIMITED, LIMITED.replace("1000m", "2000m"), "spec.limits.cpu", False),
        (LIMITED, LIMITED.replace("1000m", "'${CPU}'"), "spec.limits.cpu", False),
        (POOL + TAINTS % ("a", "b"), POOL + TAINTS % ("b", "a"), "spec.template.spec.taints", True),
        (POOL + TAINTS % ("a", "b"), POOL + TAINTS % ("b", "c"), "spec.template.spec.taints", False),
        (POOL, POOL.replace("    spec:\n", "    metadata: {labels: {a: b}}\n    spec:\n", 1), "metadata", False),
    ],
)
def test_a_pool_without_effect_has_a_row(
    nodelint: Run, tmp_path: Path, old: str, new: str, field: str, is_silent: bool
) -> None:
    assert old != new
    plan = json.loads(show(nodelint, tmp_path, documents(old, CLASS), documents(new, CLASS), "json"))
    [pool] = plan["nodePools"]
    rows = [row for row in pool["effects"] if row["what"].startswith(NONE)]
    assert [field in row["field"] for row in rows] == [True] * is_silent, pool


@pytest.mark.parametrize(("team", "changes"), [("api", True), ("web", False)])
def test_an_open_class_has_no_such_row(nodelint: Run, tmp_path: Path, team: str, changes: bool) -> None:
    """An unknown value of the class may change with a file of variables."""
    open_class = CLASS + "  tags: {team: '${team}'}\n"
    write_files(
        tmp_path,
        {
            "old/nodes.yaml": documents(POOL, open_class),
            "old/prod.env": "team=web\n",
            "new/nodes.yaml": documents(POOL, open_class + "  amiFamily: AL2023\n"),
            "new/prod.env": f"team={team}\n",
        },
    )
    shown = " ".join(nodelint("plan", "--old", "old", "new", cwd=tmp_path).stdout.split())
    assert (f"{NONE}:" in shown) is not changes, shown
    why = "`spec.tags.team` is not known, and may change with `team` (value new/nodes.yaml:"
    assert (why in shown) is changes, shown


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("${A}", "${B}", "`${A}` -> `${B}`: both are filled in later, and may be equal"),
        ("web", "${B}", "`web` -> `${B}`: the placeholder is filled in later, and may give the same value"),
        ("${A}", "web", "`${A}` -> `web`: the placeholder is filled in later, and may give the same value"),
        ("${A}", "${A}", ""),
    ],
)
def test_placeholders_are_shown_on_both_sides(nodelint: Run, tmp_path: Path, old: str, new: str, words: str) -> None:
    sides = [documents(POOL, CLASS.replace("role: nodes", f"role: '{role}'")) for role in (old, new)]
    shown = show(nodelint, tmp_path, *sides, "text")
    assert words in shown
    assert ("filled in later" in shown) is bool(words)


@pytest.mark.parametrize("form", ["text", "markdown", "html"])
def test_a_block_without_a_sign_says_so(nodelint: Run, tmp_path: Path, form: str) -> None:
    of_class = show(nodelint, tmp_path, documents(POOL, CLASS), documents(POOL, TAGGED), form)
    other = tmp_path / "pool"
    other.mkdir()
    of_pool = show(
        nodelint,
        other,
        documents(POOL, CLASS),
        documents(POOL.replace("    spec:\n", "    metadata: {labels: {a: b}}\n    spec:\n", 1), CLASS),
        form,
    )
    assert "(not changed itself)" in of_class
    assert "(not changed itself)" not in of_pool
