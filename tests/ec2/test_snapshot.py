"""The snapshot format: what is written is read, and what is not a snapshot is refused with a reason."""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodelint.data import DATA, table
from nodelint.ec2 import catalog as catalog_module
from nodelint.ec2.cache import UnusableSnapshot, read
from nodelint.ec2.catalog import Catalog
from nodelint.ec2.facts import AwsFacts, Missing
from nodelint.ec2.snapshot import (
    FORMAT,
    TABLE_OF,
    Answer,
    CapacityReservation,
    Change,
    MachineImage,
    Offering,
    OnDemandPrice,
    Origin,
    PlacementGroup,
    Question,
    Region,
    SecurityGroup,
    Snapshot,
    SnapshotError,
    SpotPrice,
    Subnet,
    kept_images,
    parse_snapshot,
    read_columns,
    snapshot_text,
    with_region_alone,
)
from nodelint.ec2.snapshot.columns import columns_text
from nodelint.model.fact_kinds import FACT_KINDS, FactKind
from nodelint.model.releases import Version

ROOT = Path(__file__).parents[2]
BUNDLED = Path(DATA, "catalog.json")
SCHEMA = json.loads((ROOT / "schemas" / "snapshot.schema.json").read_text(encoding="utf-8"))

SMALL = Snapshot(
    origin="made for a test",
    date="2026-01-02",
    sources=(Origin("everything", "a test", "2026-01-02"),),
    labels=("karpenter.k8s.aws/instance-cpu", "kubernetes.io/arch"),
    resources=("cpu",),
    priced=("us-east-1",),
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
    data: dict[str, Any] = json.loads(snapshot_text(snapshot))
    return data


def test_what_is_written_is_read() -> None:
    again = parse_snapshot(snapshot_text(SMALL))
    assert snapshot_text(again) == snapshot_text(SMALL)
    assert again.changes == SMALL.changes
    assert again.sources == SMALL.sources


def test_the_bundled_file_is_as_it_would_be_written() -> None:
    text = BUNDLED.read_text(encoding="utf-8")
    assert snapshot_text(parse_snapshot(text)) == text


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
        ("", "not JSON"),
        ("{", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[]", "key .nodelint-snapshot. is missing"),
        ('"nodelint-snapshot"', "key .nodelint-snapshot. is missing"),
        ("{}", "key .nodelint-snapshot. is missing"),
        ('{"nodelint-snapshot": 2}', "format `2`"),
        ('{"nodelint-snapshot": 1}', "not a whole snapshot"),
        ('{"nodelint-snapshot": 1, "instanceTypes": []}', "not a whole snapshot"),
    ],
)
def test_what_is_no_snapshot_is_refused(text: str | bytes, reason: str) -> None:
    with pytest.raises(SnapshotError, match=reason):
        parse_snapshot(text)


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
        parse_snapshot(json.dumps(data))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("instanceTypes", "labels", 0), ["a"]),
        (("instanceTypes", "labels", 0), {"a": "b"}),
        (("instanceTypes", "labels"), {"a": 1, "b": 2}),
        (("instanceTypes", "labels"), "ab"),
        (("instanceTypes", "labels"), ["a", "a"]),
        (("instanceTypes", "resources"), [None]),
        (("instanceTypes", "prices"), [[]]),
        (("instanceTypes", "changes", 0, "values"), ["x1.large"]),
        (("instanceTypes", "changes", 0, "values"), None),
        (("instanceTypes", "changes", 0, "values", "x1.large"), ["i386"]),
        (("instanceTypes", "changes", 0, "label"), []),
        (("instanceTypes", "changes", 0, "before"), 1.3),
        (("instanceTypes", "changes", 0, "after"), "1.3.0"),
        (("instanceTypes", "changes", 0), 5),
        (("instanceTypes", "rows", 0, 1), "ab"),
        (("instanceTypes", "rows", 0, 3), "abcde"),
        (("instanceTypes", "rows", 0, 3), [3, 10, True, 9, ["3"]]),
        (("origin",), []),
        (("date",), {}),
        (("sources", 0, "facts"), 5),
    ],
)
def test_instance_types_that_are_not_whole_are_refused(path: tuple[Any, ...], value: object) -> None:
    data: Any = plain(SMALL)
    parse_snapshot(json.dumps(data))
    place = data
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    with pytest.raises(SnapshotError, match="not a whole snapshot"):
        parse_snapshot(json.dumps(data))


def test_a_file_is_loaded_as_a_catalogue(tmp_path: Path) -> None:
    path = tmp_path / "facts.json"
    path.write_text(snapshot_text(SMALL), encoding="utf-8")
    catalog = Catalog.load(path)
    assert catalog.names == ("x1.large", "x1.xlarge")
    assert (catalog.origin, catalog.date) == ("made for a test", "2026-01-02")
    assert catalog.label("x1.xlarge", "karpenter.k8s.aws/instance-cpu") is None
    assert catalog.prices.on_demand("x1.xlarge") is None
    with pytest.raises(OSError, match="absent"):
        Catalog.load(tmp_path / "absent.json")


def test_of_two_changes_the_older_one_has_the_last_word() -> None:
    catalog = Catalog(SMALL)
    seen = [catalog.for_release(Version(1, m, 0)).label("x1.large", "kubernetes.io/arch") for m in (1, 2, 3)]
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


words = st.text(st.characters(codec="utf-8"), max_size=6)
ids = st.text("abc-1", min_size=1, max_size=4)
times = st.datetimes().map(lambda t: f"{t.year:04}-{t:%m-%dT%H:%M:%S}Z")
counts = st.integers(0, 10_000)
maybe = st.none() | words
amounts = st.from_regex(r"[0-9]{1,6}(\.[0-9]{1,10})?", fullmatch=True)

RECORDS: dict[str, st.SearchStrategy[Any]] = {
    "images": st.builds(
        MachineImage, ids, words, words, words, times, words, st.none() | times, st.booleans(), maybe
    ),
    "subnets": st.builds(Subnet, ids, words, words, words, counts, maybe),
    "groups": st.builds(SecurityGroup, ids, words, words, st.lists(words, max_size=2).map(tuple)),
    "reservations": st.builds(
        CapacityReservation, ids, words, words, words, counts, words, words, maybe, st.none() | times
    ),
    "placements": st.builds(PlacementGroup, ids, words, words, words, counts),
    "prices": st.builds(OnDemandPrice, ids, amounts),
    "spot_prices": st.builds(SpotPrice, ids, words, words, amounts),
    "offerings": st.builds(
        Offering, ids, st.lists(words, max_size=2).map(tuple), st.lists(words, max_size=2).map(tuple)
    ),
}


@st.composite
def regions(draw: st.DrawFn) -> Region:
    tables: dict[str, dict[str, Any]] = {
        field: {record[0]: record for record in draw(st.lists(records, max_size=3))}
        for field, records in RECORDS.items()
    }
    answers: dict[Question, Answer] = {}
    for kind in draw(st.lists(st.sampled_from(FACT_KINDS), max_size=5)):
        filters = draw(st.lists(st.tuples(words, words), max_size=2))
        question = Question.make(kind, *filters, owners=draw(st.lists(words, max_size=2)))
        if draw(st.booleans()):
            answers[question] = Answer(draw(times), failed=draw(words), transient=draw(st.booleans()))
            continue
        there = list(tables[TABLE_OF[kind]]) if kind in TABLE_OF else ["a", "b"]
        found = tuple(draw(st.lists(st.sampled_from(there), max_size=3, unique=True))) if there else ()
        answers[question] = Answer(draw(times), found, draw(st.just(len(found)) | counts))
    name = draw(st.sampled_from(["us-east-1", "eu-west-1", "ap-south-1"]))
    return Region(name, draw(maybe), answers, **tables)


snapshots = st.builds(
    lambda regions, nodelint: SMALL._replace(regions=tuple(sorted(regions, key=lambda r: r.name)), nodelint=nodelint),
    st.lists(regions(), max_size=2, unique_by=lambda r: r.name),
    maybe,
)


@given(snapshots)
def test_every_snapshot_comes_back_as_it_was_and_meets_the_schema(snapshot: Snapshot) -> None:
    text = snapshot_text(snapshot)
    again = parse_snapshot(text)
    assert again.regions == snapshot.regions
    assert snapshot_text(again) == text
    jsonschema.Draft202012Validator(SCHEMA).validate(json.loads(text))


@given(snapshots)
def test_a_region_that_is_asked_for_is_read_alone(snapshot: Snapshot) -> None:
    text = snapshot_text(snapshot).encode()
    for region in snapshot.regions:
        alone = with_region_alone(text, region.name)
        assert parse_snapshot(alone) == parse_snapshot(text)._replace(regions=(region,))
        other = json.dumps(json.loads(text)).encode()
        assert with_region_alone(other, region.name) == other, "a file of another layout is read as it is"
    assert with_region_alone(text, "us-west-2") == text, "what is said of a region that is not there names the others"


def test_what_is_wrong_with_a_region_is_noticed_where_it_is_asked_for(here: Path) -> None:
    two = SMALL._replace(regions=(Region("eu-west-1", None, {}), Region("us-east-1", None, {})))
    Path("facts.json").write_text(
        snapshot_text(two).replace('"eu-west-1",', '"eu-west-1", "stray": 1,'), encoding="utf-8"
    )
    assert [region.name for region in read("facts.json", region="us-east-1").regions] == ["us-east-1"]
    for region in ("eu-west-1", None):
        with pytest.raises(UnusableSnapshot):
            read("facts.json", region=region)


def look_into(snapshot: Snapshot) -> None:
    """Ask a snapshot all that it was asked: an answer is there, or is known to be missing."""
    lookups: dict[FactKind, Any] = {
        "images": AwsFacts.images,
        "subnets": AwsFacts.subnets,
        "security-groups": AwsFacts.groups,
        "capacity-reservations": AwsFacts.reservations,
        "placement-groups": AwsFacts.placements,
    }
    for region in snapshot.regions:
        facts = AwsFacts(snapshot, region)
        for question in region.answers:
            try:
                lookups.get(question.kind, AwsFacts.answer)(facts, question)
            except Missing as missing:
                assert region.answers[question].failed is not None, missing


@given(snapshots, st.data())
def test_what_is_damaged_is_refused_or_a_whole_snapshot(snapshot: Snapshot, data: st.DataObject) -> None:
    text = snapshot_text(snapshot).encode()
    place = data.draw(st.integers(0, len(text) - 1))
    byte = data.draw(st.integers(0, 255) | st.sampled_from(b'",:[]{}0-\\\n'))
    for damaged in (text[:place], text[:place] + bytes([byte]) + text[place + 1 :], text[:place] + text[place + 1 :]):
        try:
            read = parse_snapshot(damaged)
        except SnapshotError:
            continue
        look_into(read)
        assert snapshot_text(parse_snapshot(snapshot_text(read))) == snapshot_text(read)


REAL: dict[str, Any] = {
    "nodelint-snapshot": 1,
    "origin": "EC2",
    "date": "2026-11-20",
    "sources": [],
    "regions": [
        {
            "region": "us-east-1",
            "at": "2026-11-20T12:00:00Z",
            "asked": [
                {"ask": "subnets", "filters": [["tag:a", "b"]], "found": ["subnet-1"]},
                {"ask": "offerings", "found": []},
            ],
            "subnets": [{"id": "subnet-1", "zone": "a", "zoneId": "1", "vpc": "v", "free": 1}],
        }
    ],
}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("regions", 0, "asked", 0, "found"), ["subnet-2"]),
        (("regions", 0, "asked", 0, "fuond"), []),
        (("regions", 0, "asked", 0, "failed"), "both"),
        (("regions", 0, "asked", 0, "ask"), "prices"),
        (("regions", 0, "asked", 0, "filters"), [["tag:a"]]),
        (("regions", 0, "asked", 0, "filters"), ["ab"]),
        (("regions", 0, "asked", 0, "owners"), "self"),
        (("regions", 0, "asked", 0, "at"), "yesterday"),
        (("regions", 0, "asked", 0, "at"), "2026-13-20T12:00:00Z"),
        (("regions", 0, "asked", 1), {"ask": "offerings"}),
        (("regions", 0, "at"), "2026-11-20"),
        (("regions", 0, "region"), 5),
        (("regions", 0, "account"), 5),
        (("regions", 0, "subnet"), []),
        (("regions", 0, "subnets", 0, "free"), "1"),
        (("regions", 0, "subnets", 0, "fre"), 1),
        (("regions", 0, "subnets", 0), {"id": "subnet-1"}),
        (("regions", 0, "offerings"), [{"types": ["m5.large"], "zones": ["a"]}]),
        (("regions", 0, "offerings"), [{"types": ["m5.large"], "zones": [], "capacity": []}] * 2),
        (("regions",), [{}]),
        (("regions",), [REAL["regions"][0], REAL["regions"][0]]),
        (("region",), []),
        (("nodelint",), 5),
    ],
)
def test_answers_that_are_not_whole_are_refused(path: tuple[Any, ...], value: object) -> None:
    data: Any = copy.deepcopy(REAL)
    parse_snapshot(json.dumps(data))
    place = data
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    with pytest.raises(SnapshotError, match="not a whole snapshot"):
        parse_snapshot(json.dumps(data))


def each_change(data: Any) -> Iterator[Any]:
    """The data with one value replaced by another, or one key left out."""

    def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
        for step in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
            yield (*path, step)
            yield from places(value[step], (*path, step))

    for *path, last in places(data):
        for replacement in (..., None, 5, "x", [], {}, [["a"]], ["a"], {"a": 1}, True):
            changed = copy.deepcopy(data)
            place = changed
            for step in path:
                place = place[step]
            if replacement is not ...:
                place[last] = replacement
            elif isinstance(last, str):
                del place[last]
            yield changed


@pytest.mark.parametrize("data", [plain(SMALL), REAL], ids=["types", "regions"])
def test_what_the_reader_refuses_for_its_shape_breaks_the_schema(data: Any) -> None:
    """The schema names the faults, so it must know one where the reader only says that there is one."""
    validator = jsonschema.Draft202012Validator(SCHEMA)
    shapes = 0
    for changed in each_change(data):
        try:
            parse_snapshot(json.dumps(changed))
        except SnapshotError as error:
            if error.misshapen:
                assert not validator.is_valid(changed), changed
                shapes += 1
            else:
                assert str(error) != "not a whole snapshot"
    assert shapes > 100


def test_all_faults_of_a_file_are_listed_with_their_places(tmp_path: Path) -> None:
    data: Any = copy.deepcopy(REAL)
    region = data["regions"][0]
    region["at"] = "2026-11-20"
    region["asked"] = [
        {"ask": "subnets", "fuond": []},
        {"ask": "costs", "found": []},
        {"ask": "roles", "filters": [["a"]], "found": [], "failed": "denied", "transient": False},
    ]
    region["subnets"][0]["free"] = "1"
    data["instanceTypes"] = plain(SMALL)["instanceTypes"]
    data["instanceTypes"]["labels"] = ["a", "a"]
    data["instanceTypes"]["rows"][0] = ["x1.large", [], [], [3, 10, True, 9]]
    path = tmp_path / "facts.json"
    path.write_text(json.dumps(data, indent=1), encoding="utf-8")
    with pytest.raises(UnusableSnapshot) as caught:
        read(str(path), "; make it anew")
    assert [message.removeprefix(f"{path}:") for message in caught.value.messages] == [
        "9:10: `at` is `2026-11-20`, must be a time in UTC, ISO 8601 to the second, or an empty text",
        "11:5: `found` or `failed` and `transient` is missing",
        "13:6: unknown key `fuond` (did you mean `found`?)",
        "16:13: `ask` is `costs`, must be instance-types, offerings, images, parameters, subnets, security-groups, "
        "capacity-reservations, placement-groups, instance-profiles, roles, volume-encryption, prices or spot-prices",
        "19:5: `found` and `failed` exclude each other",
        "22:7: an item of `filters` must have 2 items, not 1",
        "37:14: `free` must be a whole number, not `1`",
        "43:13: `labels` must have no item twice",
        "70:4: an item of `rows` must have 5 items, not 4",
        "74:5: an item of `rows` must have 5 items, not 4; make it anew",
    ]


def test_of_many_faults_the_first_are_listed(tmp_path: Path) -> None:
    data: Any = copy.deepcopy(REAL)
    data["regions"][0]["asked"] = [{"ask": "costs", "found": []}] * 50
    path = tmp_path / "facts.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(UnusableSnapshot) as caught:
        read(str(path))
    *listed, last = caught.value.messages
    assert len(listed) == 20
    assert last == f"{path}: 30 more faults"


def test_what_most_answers_share_is_said_once_and_a_new_answer_is_one_new_line() -> None:
    early, late = "2026-11-20T12:00:00Z", "2026-11-20T13:00:00Z"
    answers = {Question.make("roles", ("name", n)): Answer(early, (n,), 1) for n in ("a", "b", "c")}
    old = snapshot_text(SMALL._replace(regions=(Region("us-east-1", None, answers),)))
    assert old.count(early) == 1
    first = {Question.make("roles", ("name", "d")): Answer(late, ("d",), 1)}
    new = snapshot_text(SMALL._replace(regions=(Region("us-east-1", None, {**answers, **first}),)))
    # The comma of the line before comes with it.
    assert len(set(new.splitlines()) - set(old.splitlines())) == 2


def test_of_many_images_those_are_kept_that_can_decide() -> None:
    def image(day: int, arch: str = "amd64", state: str = "available") -> MachineImage:
        at = f"2026-10-{day:02}T00:00:00Z"
        return MachineImage(f"ami-{arch}-{state}-{day}", "golden", arch, state, at, "self")

    many = [image(day, arch, state) for day in range(1, 31) for arch in ("amd64", "arm64") for state in ("a", "b")]
    remaining = kept_images(reversed(many), "2026-11-20T00:00:00Z")
    assert len(remaining) == 40
    assert {image.created[8:10] for image in remaining} == {f"{day:02}" for day in range(21, 31)}
    assert [image.created for image in remaining] == sorted((image.created for image in remaining), reverse=True)


def test_types_of_a_family_that_are_offered_alike_share_a_line() -> None:
    sold = {"m5.large": ("a", "b"), "m5.xlarge": ("a", "b"), "m5.metal": ("a",), "c5.large": ("a", "b")}
    offerings = {name: Offering(name, zones, ("spot",)) for name, zones in sold.items()}
    region = Region("us-east-1", None, {}, offerings=offerings)
    written = snapshot_text(SMALL._replace(regions=(region,)))
    assert '{"types":["m5.large","m5.xlarge"],"zones":["a","b"],"capacity":["spot"]}' in written
    assert written.count('"zones"') == 3
    assert parse_snapshot(written).regions == (region,)


def test_the_columns_that_a_run_reads_are_those_of_the_catalogue() -> None:
    """Else `python tools/make_columns.py` writes them."""
    catalogue = parse_snapshot(BUNDLED.read_bytes())
    columns = read_columns(table("catalog_columns"))
    assert table("catalog_columns")["size"] == BUNDLED.stat().st_size
    assert [list(row) for row in columns.rows] == [list(row) for row in catalogue.rows]
    assert columns._replace(rows=()) == catalogue._replace(rows=())
    assert len(columns.rows) == len(catalogue.rows)


def test_a_catalogue_that_has_changed_is_read_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = catalog_module._bundled().names_in(catalog_module._bundled().all_types)[0]
    changed = BUNDLED.read_text(encoding="utf-8").replace(f'["{name}",', '["a1.1000xlarge",')
    (tmp_path / "catalog.json").write_text(changed, encoding="utf-8")
    monkeypatch.setattr(catalog_module, "DATA", str(tmp_path))
    assert "a1.1000xlarge" in catalog_module._bundled.__wrapped__()


def test_a_value_that_has_no_place_in_a_column_is_refused() -> None:
    row = ("a1.large", ["a b"], [], None, [])
    snapshot = read_columns(table("catalog_columns"))._replace(labels=("l",), resources=(), priced=(), rows=(row,))
    with pytest.raises(ValueError, match="blank"):
        columns_text(snapshot)
