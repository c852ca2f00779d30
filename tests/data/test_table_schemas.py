"""Each file of `nodelint/data` keeps its JSON Schema, and one that does not is an error in words."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nodelint.data import DATA, shipped, table
from nodelint.model import releases, validity
from tests.manifests import nodepool

Run = Callable[..., subprocess.CompletedProcess[str]]


def test_each_table_keeps_its_schema() -> None:
    assert validity.find_broken_table() is None


def test_each_table_has_a_schema_that_is_one() -> None:
    from jsonschema import Draft202012Validator

    named = {path.name.removesuffix(".schema.json"): path for path in Path(shipped("schemas"), "data").iterdir()}
    assert sorted({*named, "catalog", "tables"}) == validity.list_tables(), "two are snapshots, and have their schema"
    for path in named.values():
        Draft202012Validator.check_schema(json.loads(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("versions", {"next": "1.16.0"}, "next"),
        ("versions", {"releases": [1]}, "releases"),
        ("versions", {"behaviour": {"a": {}}}, "behaviour"),
        ("hashes", {"structs": {"a": {"fields": {}}}}, "structs"),
        ("upgrade", {"changes": [{"id": "a"}]}, "changes[0]"),
        ("rules", {"rules": {"a": [1]}}, "rules.a"),
        ("settings", {"settings": [{"variable": 1}]}, "settings[0]"),
        ("triage", {"commits": ["a"]}, "commits"),
        ("labels", {"well_known": {"a": {"since": 1}}}, "well_known.a.since"),
    ],
)
def test_what_is_broken_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, change: dict[str, Any], message: str
) -> None:
    _break(tmp_path, monkeypatch, name, change)
    found = validity.find_broken_table()
    assert found is not None
    assert f"{name}.json: {message}" in found


def test_a_run_over_broken_data_is_no_fault_of_the_program(
    nodelint: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _break(tmp_path, monkeypatch, "versions", {"next": "1.16.0"})
    monkeypatch.setattr(releases, "table", lambda name: {**table(name), "next": "1.16.0"})
    (tmp_path / "pool.yaml").write_text(nodepool(), encoding="utf-8")
    done = nodelint("upgrade", "--from", "1.6", "--to", "1.16", "pool.yaml", cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert "nodelint's own data cannot be used" in done.stderr


def _break(folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, change: dict[str, Any]) -> None:
    """Stand a folder with one table, changed, in the place of the data."""
    data = json.loads((Path(DATA) / f"{name}.json").read_text(encoding="utf-8"))
    (folder / "data").mkdir()
    (folder / "data" / f"{name}.json").write_text(json.dumps({**data, **change}), encoding="utf-8")
    monkeypatch.setattr(validity, "DATA", str(folder / "data"))
