"""Where what nodelint is built of and runs with comes from: the locks, and what is known against it."""

from __future__ import annotations

import copy
import re
import tomllib
from types import ModuleType
from typing import Any

import pytest

from tests.conftest import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LOCKS = sorted((ROOT / "requirements").glob("*.txt"))


def tool(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    return __import__(name)


def test_the_locks_agree_with_what_the_project_declares(monkeypatch: pytest.MonkeyPatch) -> None:
    assert tool("lock", monkeypatch).stale(PROJECT) == [], "run `python tools/lock.py`"


def test_a_lock_is_stale_when_its_requirements_change(monkeypatch: pytest.MonkeyPatch) -> None:
    stale = tool("lock", monkeypatch).stale
    changes: list[tuple[Any, list[str]]] = [
        (lambda p: p["project"]["dependencies"].append("left-pad>=1"), ["dev.txt", "nodelint.txt"]),
        (lambda p: p["project"]["optional-dependencies"]["test"].pop(), ["dev.txt"]),
        (lambda p: p["build-system"].update(requires=["hatchling>=9"]), ["dev.txt", "build.txt"]),
        (lambda p: p["project"].update({"requires-python": ">=3.12"}), ["dev.txt", "nodelint.txt", "build.txt"]),
        (lambda p: p["project"].update(description="Another"), []),
    ]
    for change, names in changes:
        project = copy.deepcopy(PROJECT)
        change(project)
        assert stale(project) == names


def test_each_package_is_pinned_with_hashes_and_comes_from_no_named_place() -> None:
    assert len(LOCKS) == 3
    pins = []
    for lock in LOCKS:
        text = lock.read_text(encoding="utf-8")
        assert "://" not in text and not re.search(r"(?m)^--?[a-z]", text)
        entries = re.split(r"(?m)^(?=[a-z0-9])", text)[1:]
        assert all(re.match(r"[a-z0-9.-]+==\S+( ; [^\\]+)? \\\n    --hash=sha256:[0-9a-f]{64}", e) for e in entries)
        pins.append({re.split(r" [;\\]", entry)[0] for entry in entries})
    assert all(names <= pins[1] for names in pins), "dev.txt holds what the others do, in the same versions"


CLEAN = {"name": "a", "version": "1", "vulns": []}
KNOWN = {"name": "b", "version": "2", "vulns": [{"id": "PYSEC-1", "fix_versions": ["3"]}]}
UNASKED = {"name": "c", "skip_reason": "not found"}


@pytest.mark.parametrize(
    ("packages", "code", "lines"),
    [
        ([CLEAN], 0, ["no known vulnerability in 1 packages"]),
        ([CLEAN, UNASKED], 0, ["c was not asked about: not found", "no known vulnerability in 1 packages"]),
        ([CLEAN, KNOWN], 1, ["b 2: PYSEC-1, fixed in 3"]),
        ([UNASKED], 0, ["audit skipped: no advisories can be had here"]),
        (None, 0, ["audit skipped: no advisories can be had here"]),
    ],
)
def test_an_audit_without_advisories_is_no_clean_one(
    packages: list[dict[str, Any]] | None, code: int, lines: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    report = None if packages is None else {"dependencies": packages}
    assert tool("audit", monkeypatch).verdict(report) == (code, lines)
