"""The snapshot format: what is written is read, and what is no snapshot is refused with a reason."""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from nodelint.catalog import Catalog
from nodelint.snapshot import FORMAT, Change, Origin, Snapshot, SnapshotError
from nodelint.versions import DATA, Version

ROOT = Path(__file__).parent.parent
BUNDLED = Path(DATA, "catalog.json")
SCHEMA = json.loads((ROOT / "schemas" / "snapshot.schema.json").read_text(encoding="utf-8"))

SMALL = Snapshot(
    origin="made for a test",
    date="2026-01-02",
    sources=(Origin("everything", "a test", "2026-01-02"),),
    labels=("karpenter.k8s.aws/instance-cpu", "kubernetes.io/arch"),
    resources=("cpu",),
    regions=("us-east-1",),
    changes=(
        Change(Version(1, 3, 0), "kubernetes.io/arch", {"x1.large": "i386"}),
        Change(Version(1, 2, 0), "kubernetes.io/arch", {"x1.large": None}),
    ),
    rows=[
        ("x1.large", ["2", "amd64"], ["1930m"], [3, 10, True, 9, [3]], [0.1]),
        ("x1.xlarge", [None, "amd64"], [None], None, [None]),
    ],
)


def plain(snapshot: Snapshot) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(snapshot.text())
    return data


def test_what_is_written_is_read() -> None:
    again = Snapshot.parse(SMALL.text())
    assert again.text() == SMALL.text()
    assert again.changes == SMALL.changes
    assert again.sources == SMALL.sources


def test_the_bundled_file_is_as_it_would_be_written() -> None:
    text = BUNDLED.read_text(encoding="utf-8")
    assert Snapshot.parse(text).text() == text


def test_one_instance_type_is_one_line() -> None:
    lines = BUNDLED.read_text(encoding="utf-8").splitlines()
    assert sum(line.startswith('["c5.large",') for line in lines) == 1
    assert sum(line.startswith('["') for line in lines) == len(Catalog.bundled())


def test_the_schema_is_sound_and_both_files_meet_it() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    validator = jsonschema.Draft202012Validator(SCHEMA)
    validator.validate(plain(SMALL))
    bundled = json.loads(BUNDLED.read_text(encoding="utf-8"))
    # Every row is like the next one: a sample keeps this quick.
    bundled["instanceTypes"]["rows"] = bundled["instanceTypes"]["rows"][::20]
    validator.validate(bundled)


def test_the_schema_refuses_what_is_wrong() -> None:
    validator = jsonschema.Draft202012Validator(SCHEMA)
    for path, value in (
        (("nodelint-snapshot",), 2),
        (("date",), "today"),
        (("extra",), 1),
        (("instanceTypes", "rows"), [["x1.large", [5], [], None, []]]),
        (("instanceTypes", "rows"), [["x1.large", [], [], None]]),
        (("instanceTypes", "changes"), [{"before": "1.2", "label": "a", "values": {}}]),
    ):
        data: Any = copy.deepcopy(plain(SMALL))
        place = data
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = value
        assert not validator.is_valid(data)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no JSON"),
        ("{", "no JSON"),
        (b"\xff\xfe", "no JSON"),
        ("[" * 100_000, "no JSON"),
        ("[]", "no key"),
        ('"nodelint-snapshot"', "no key"),
        ("{}", "no key"),
        ('{"nodelint-snapshot": 2}', "format `2`"),
        ('{"nodelint-snapshot": 1}', "not a whole snapshot"),
        ('{"nodelint-snapshot": 1, "instanceTypes": []}', "not a whole snapshot"),
    ],
)
def test_what_is_no_snapshot_is_refused(text: str | bytes, reason: str) -> None:
    with pytest.raises(SnapshotError, match=reason):
        Snapshot.parse(text)


@pytest.mark.parametrize(
    "row",
    [
        ["x1.large", ["2"], ["1930m"], None, [0.1]],
        ["x1.large", ["2", "amd64"], ["1930m"], [3, 10], [0.1]],
        ["x1.large", ["2", "amd64"], ["1930m"], None, []],
        ["x1.large", ["2", "amd64"], ["1930m"], None],
        ["x2.large", ["2", "amd64"], ["1930m"], None, [0.1]],
        7,
        [1, 2, 3, 4, 5],
    ],
)
def test_rows_that_do_not_match_the_header_are_refused(row: object) -> None:
    data = plain(SMALL)
    data["instanceTypes"]["rows"][0] = row
    with pytest.raises(SnapshotError, match="not a whole snapshot"):
        Snapshot.parse(json.dumps(data))


def test_a_file_is_loaded_as_a_catalogue(tmp_path: Path) -> None:
    path = tmp_path / "facts.json"
    path.write_text(SMALL.text(), encoding="utf-8")
    catalog = Catalog.load(path)
    assert catalog.names == ("x1.large", "x1.xlarge")
    assert (catalog.origin, catalog.date) == ("made for a test", "2026-01-02")
    assert catalog.label("x1.xlarge", "karpenter.k8s.aws/instance-cpu") is None
    assert catalog.price("x1.xlarge") is None
    with pytest.raises(OSError, match="absent"):
        Catalog.load(tmp_path / "absent.json")


def test_of_two_changes_the_older_one_has_the_last_word() -> None:
    catalog = Catalog(SMALL)
    seen = [catalog.at(Version(1, m, 0)).label("x1.large", "kubernetes.io/arch") for m in (1, 2, 3)]
    assert seen == [None, "i386", "amd64"]


def test_the_format_is_the_one_of_the_schema() -> None:
    assert SCHEMA["properties"]["nodelint-snapshot"]["const"] == FORMAT


def test_the_tool_makes_the_bundled_file(tmp_path: Path) -> None:
    checkout = os.environ.get("NODELINT_KARPENTER")
    if not checkout:
        pytest.skip("NODELINT_KARPENTER names no clone of the Karpenter AWS provider")
    output = tmp_path / "catalog.json"
    tool = ROOT / "tools" / "make_catalog.py"
    arguments = ["--karpenter-checkout", checkout, "--output", str(output)]
    subprocess.run([sys.executable, str(tool), *arguments], check=True, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert output.read_text(encoding="utf-8") == BUNDLED.read_text(encoding="utf-8")
