"""Objects that Terraform leaves in the cluster as they are: no node of them is deleted or replaced."""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import indent

import pytest

from tests.plan.test_plan import CLASS, POOL
from tests.plan.test_plan_missing_references import Run
from tests.repositories import write_files

_REMOVED = "removed {\n  from = @\n  lifecycle {\n    destroy = false\n  }\n}\n"
_IGNORE = "  lifecycle {\n    ignore_changes = [yaml_body]\n  }\n"
_DEV, _PROD = "live/dev/main.tf", "live/prod/main.tf"


def _make(name: str, text: str, more: str = "") -> str:
    return f'resource "kubectl_manifest" "{name}" {{\n  yaml_body = <<-YAML\n{indent(text, "    ")}  YAML\n{more}}}\n'


_POOL, _CLASS = _make("pool", POOL), _make("class", CLASS)
_MOVED = CLASS.replace("cost: web", "cost: other")


def _compare(nodelint: Run, folder: Path, old: dict[str, str], new: dict[str, str]) -> tuple[int, str]:
    for side, files in (("old", old), ("new", new)):
        write_files(folder / side, {".git/HEAD": "", **files})
    done = nodelint("plan", "--old", "old", "new", cwd=folder)
    return done.returncode, " ".join(done.stdout.split())


@pytest.mark.parametrize(
    ("files", "is_kept"),
    [
        ({"class.tf": _CLASS, "main.tf": _REMOVED.replace("@", "kubectl_manifest.pool")}, True),
        ({"class.tf": _CLASS, "removed.tf": _REMOVED.replace("@", "kubectl_manifest.pool")}, True),
        (
            {"class.tf": _CLASS, "main.tf": _REMOVED.replace("@", "kubectl_manifest.pool").replace("false", "true")},
            False,
        ),
        ({"class.tf": _CLASS, "main.tf": _REMOVED.replace("@", "kubectl_manifest.other")}, False),
        ({"main.tf": _POOL, "class.tf": _REMOVED.replace("@", "kubectl_manifest.class")}, True),
    ],
    ids=["pool", "in another file", "destroyed", "another block", "class"],
)
def test_a_forgotten_object_keeps_its_nodes(
    nodelint: Run, tmp_path: Path, files: dict[str, str], is_kept: bool
) -> None:
    code, shown = _compare(nodelint, tmp_path, {"class.tf": _CLASS, "main.tf": _POOL}, files)
    assert code == (0 if is_kept else 1), shown
    assert ("Terraform forgets it" in shown) == is_kept and ("deleted: all its nodes go" in shown) != is_kept
    assert not is_kept or "launches nothing" not in shown


def test_a_removed_block_of_another_root_keeps_nothing(nodelint: Run, tmp_path: Path) -> None:
    old = {_DEV: _CLASS + _POOL, _PROD: _CLASS + _POOL}
    new = {_DEV: _CLASS + _REMOVED.replace("@", "kubectl_manifest.pool"), _PROD: _CLASS}
    code, shown = _compare(nodelint, tmp_path, old, new)
    assert code == 1 and "deleted: all its nodes go" in shown and "Terraform forgets it" not in shown


@pytest.mark.parametrize(
    ("more", "is_ignored"),
    [
        (_IGNORE, True),
        (_IGNORE.replace("[yaml_body]", "all"), True),
        (_IGNORE.replace("yaml_body", "wait, yaml_body"), True),
        (_IGNORE.replace("yaml_body", "force_new"), False),
        (_IGNORE.replace("ignore_changes", "replace_triggered_by"), False),
        ("", False),
    ],
    ids=["text", "all", "two arguments", "another argument", "another setting", "none"],
)
def test_an_ignored_change_replaces_no_node(nodelint: Run, tmp_path: Path, more: str, is_ignored: bool) -> None:
    old, new = ({"main.tf": _POOL + _make("class", text, more)} for text in (CLASS, _MOVED))
    code, shown = _compare(nodelint, tmp_path, old, new)
    assert code == (0 if is_ignored else 1), shown
    assert ("`ignore_changes` names it" in shown) == is_ignored and ("NodeClassDrift" in shown) != is_ignored


def test_a_change_that_is_no_longer_ignored_is_not_known(nodelint: Run, tmp_path: Path) -> None:
    old, new = ({"main.tf": _POOL + _make("class", CLASS, more)} for more in (_IGNORE, ""))
    code, shown = _compare(nodelint, tmp_path, old, new)
    assert code == 1 and "what has changed since it was created" in shown
    code, shown = _compare(nodelint, tmp_path, new, old)
    assert code == 0 and not re.search("ignore_changes", shown)
