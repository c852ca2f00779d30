"""The file format of a snapshot: JSON with one fact per line, validated when it is read and sorted when it is
written.

`schemas/snapshot.schema.json` describes it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import Any, T
from nodelint.ec2.snapshot.records import (
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
    Row,
    SecurityGroup,
    Snapshot,
    SnapshotError,
    SpotPrice,
    Subnet,
)
from nodelint.model.fact_kinds import FACT_KINDS
from nodelint.model.releases import Version

WRITES = "`nodelint refresh --output FILE` writes one"

_TABLES: dict[str, tuple[str, Any]] = {
    "images": ("images", MachineImage),
    "subnets": ("subnets", Subnet),
    "groups": ("securityGroups", SecurityGroup),
    "reservations": ("capacityReservations", CapacityReservation),
    "placements": ("placementGroups", PlacementGroup),
    "prices": ("prices", OnDemandPrice),
    "spot_prices": ("spotPrices", SpotPrice),
}
"""For each field of Region, the key in the file and the record type. The file has one record per line."""


class _Offered(NamedTuple):
    """A line of the file: the instance types of a family with the same zones and capacity types.

    There are over a thousand types, so a line for each would be most of what a run reads.
    """

    types: tuple[str, ...]
    zones: tuple[str, ...]
    capacity: tuple[str, ...]


def read_bundled(text: bytes) -> Snapshot:
    """Return the snapshot in a file that is part of nodelint. Raise SnapshotError if it is not a snapshot of format
    1.

    The values in the columns of instance types are not checked: `check_rows` would take a third of the time.
    """
    return _snapshot_of(json.loads(text))


def read_columns(written: dict[str, Any]) -> Snapshot:
    """Return the snapshot in a table of `tools/make_columns.py`. Its rows are `TextColumns`."""
    from nodelint.ec2.snapshot.columns import TextColumns

    rows: Any = TextColumns(written["columns"])
    return _snapshot_of(written["snapshot"])._replace(rows=rows)


def _snapshot_of(data: Any) -> Snapshot:
    if not isinstance(data, dict) or "nodelint-snapshot" not in data:
        raise SnapshotError(f"not a snapshot: the key `nodelint-snapshot` is missing; {WRITES}")
    if data["nodelint-snapshot"] != FORMAT:
        raise SnapshotError(f"snapshot of format `{data['nodelint-snapshot']}`; this release reads {FORMAT}")
    try:
        return _read(data)
    except SnapshotError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _misshapen() from error


def parse_snapshot(text: str | bytes) -> Snapshot:
    """Return the snapshot in the text of a file. Raise SnapshotError if it is not a snapshot of format 1."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SnapshotError(f"not a snapshot: not JSON; {WRITES}") from error
    snapshot = _snapshot_of(data)
    check_rows(snapshot.rows)
    return snapshot


_REGIONS, _NEXT, _END = b'\n"regions": [\n', b"\n},\n", b"\n}\n]\n}\n"


def with_region_alone(text: bytes, name: str) -> bytes:
    """Return the text of a snapshot file without the other regions. If the text is not laid out as `snapshot_text`
    does it, return all of it.

    The other regions are not read, so their faults are not found.
    """
    head, begin, rest = text.partition(_REGIONS)
    regions = rest.removesuffix(_END).split(_NEXT)
    first = b'{\n"region": '
    wanted = [region for region in regions if region.startswith(b"%s%s,\n" % (first, json.dumps(name).encode()))]
    as_written = rest.endswith(_END) and all(region.startswith(first) for region in regions)
    if not as_written or len(wanted) != 1:
        return text
    return b"".join((head, begin, wanted[0], _END))


def _misshapen() -> SnapshotError:
    error = SnapshotError("not a whole snapshot")
    error.misshapen = True
    return error


def snapshot_text(snapshot: Snapshot) -> str:
    """Return the text of the file: sorted, one fact per line, with a final line break."""
    return "".join(f"{line}\n" for line in _lines(snapshot))


def _read(data: dict[str, Any]) -> Snapshot:
    _known(data, ("nodelint-snapshot", "origin", "date", "nodelint", "sources", "instanceTypes", "regions"))
    types = data.get("instanceTypes", {"labels": [], "resources": [], "prices": [], "changes": [], "rows": []})
    labels, resources, priced = (_header(types[part]) for part in ("labels", "resources", "prices"))
    _known(types, ("labels", "resources", "prices", "changes", "rows"))
    rows: list[Row] = types["rows"]
    shape = (len(labels), len(resources), len(priced))
    last = ""
    for name, values, quantities, network, prices in rows:
        if network is not None and len(network) != 5:
            raise TypeError
        if (len(values), len(quantities), len(prices)) != shape:
            raise SnapshotError(f"not a whole snapshot: columns of `{name}` do not match the header")
        if name <= last:
            raise SnapshotError(f"not a whole snapshot: `{name}` is out of order")
        last = name
    return Snapshot(
        origin=_text(data["origin"]),
        date=_text(data["date"]),
        sources=tuple(Origin(*(_text(s[key]) for key in Origin._fields)) for s in data["sources"]),
        labels=labels,
        resources=resources,
        priced=priced,
        changes=tuple(map(_change, types["changes"])),
        rows=rows,
        regions=_regions(data.get("regions", ())),
        nodelint=_text(data["nodelint"]) if "nodelint" in data else None,
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _header(value: Any) -> tuple[str, ...]:
    """Return the names of columns. Raise TypeError if they are not a list of different texts."""
    if not _CHECKS["tuple[str, ...]"](value):
        raise TypeError
    names = tuple(value)
    if len(set(names)) < len(names):
        raise TypeError
    return names


def _change(data: dict[str, Any]) -> Change:
    _known(data, ("before", "label", "values"))
    values = data["values"]
    if not isinstance(values, dict) or not _TEXTS.issuperset(map(type, values.values())):
        raise TypeError
    return Change(Version.parse(_text(data["before"])), _text(data["label"]), values)


def _is_network(value: object) -> bool:
    """Return whether a value of a row represents a Network."""
    if not isinstance(value, list) or [type(part) for part in value] != [int, int, bool, int, list]:
        return False
    return all(type(count) is int for count in value[4])


def check_rows(rows: Sequence[Row]) -> None:
    """Raise SnapshotError if a value has another type than its column."""
    for part, types in ((1, _TEXTS), (2, _TEXTS), (4, _NUMBERS)):
        for row in rows:
            values: Any = row[part]
            if type(values) is not list or not types.issuperset(map(type, values)):
                raise _misshapen()
    if not all(row[3] is None or _is_network(row[3]) for row in rows):
        raise _misshapen()


def _regions(listed: Sequence[dict[str, Any]]) -> tuple[Region, ...]:
    regions = tuple(map(_region, listed))
    if len({region.name for region in regions}) < len(regions):
        raise SnapshotError("not a whole snapshot: two regions have one name")
    return regions


def _region(data: dict[str, Any]) -> Region:
    # An unknown key may be a damaged known one, and an answer without this key would be wrong.
    _known(data, ("region", "account", "at", "asked", "offerings", *(key for key, _ in _TABLES.values())))
    name, account = _text(data["region"]), _text(data["account"]) if "account" in data else None
    tables: dict[str, Any] = {}
    for field, (key, cls) in _TABLES.items():
        records = [_checked(cls, record) for record in data.get(key, ())]
        tables[field] = {record[0]: record for record in records}
    answers = dict(_answer(line, data["at"]) for line in data["asked"])
    for question, answer in answers.items():
        field = TABLE_OF.get(question.kind, "")
        for id in answer.found:
            if field and id not in tables[field]:
                raise SnapshotError(f"not a whole snapshot: `{id}` was found, but has no record")
    offerings = _offerings(data.get("offerings", ()))
    return Region(name, account, answers, **tables, offerings=offerings)


def _offerings(lines: Iterable[dict[str, Any]]) -> dict[str, Offering]:
    offerings: dict[str, Offering] = {}
    for line in lines:
        types, zones, capacity = _checked(_Offered, line)
        for name in types:
            if name in offerings:
                raise SnapshotError(f"not a whole snapshot: `{name}` is offered twice")
            offerings[name] = Offering(name, zones, capacity)
    return offerings


def _answer(line: dict[str, Any], at: object) -> tuple[Question, Answer]:
    _known(line, ("ask", "filters", "owners", "at", "found", "total", "failed", "transient"))
    filters, owners = line.get("filters", []), line.get("owners", [])
    texts = _CHECKS["tuple[str, ...]"]
    if line["ask"] not in FACT_KINDS or ("found" in line) == ("failed" in line):
        raise ValueError
    if not texts(owners) or not all(texts(pair) and len(pair) == 2 for pair in filters):
        raise TypeError
    question = Question.make(line["ask"], *((name, value) for name, value in filters), owners=owners)
    found = line.get("found", [])
    plain = {"at": line.get("at", at), "found": found, "total": line.get("total", len(found))}
    plain |= {key: line[key] for key in ("failed", "transient") if key in line}
    return question, _checked(Answer, plain)


def _known(data: dict[str, Any], keys: Iterable[str]) -> None:
    if not data.keys() <= set(keys):
        raise ValueError


_TIMES = ("at", "created", "deprecated", "ends")


@cache
def _check_time(text: str) -> None:
    if not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", text, re.ASCII):
        raise ValueError
    from datetime import datetime

    try:
        datetime.fromisoformat(text)
    except ValueError as error:
        raise SnapshotError(f"not a whole snapshot: the time `{text}` does not exist: {error}") from error


_TEXTS = {str, type(None)}
_NUMBERS = {int, float, type(None)}
_CHECKS: dict[str, Callable[[Any], bool]] = {
    "str": lambda v: isinstance(v, str),
    "str | None": lambda v: v is None or isinstance(v, str),
    "int": lambda v: isinstance(v, int) and not isinstance(v, bool),
    "bool": lambda v: isinstance(v, bool),
    "tuple[str, ...]": lambda v: isinstance(v, list) and {str}.issuperset(map(type, v)),
}


_CHECKS_OF: dict[Any, dict[str, Callable[[Any], bool]]] = {
    cls: {name: _CHECKS[hint] for name, hint in cls.__annotations__.items()}
    for cls in (Answer, _Offered, *(cls for _, cls in _TABLES.values()))
}


def _checked(cls: type[T], data: dict[str, Any]) -> T:
    """Return a record of a file. Raise TypeError for a field that is missing, unknown or of another type."""
    checks = _CHECKS_OF[cls]
    fields = {}
    for name, value in data.items():
        if name not in checks or not checks[name](value):
            raise TypeError
        if name in _TIMES and value is not None:
            _check_time(value)
        if name == "usd" and not re.fullmatch(r"\d{1,6}(\.\d{1,10})?", value, re.ASCII):
            raise TypeError
        fields[name] = tuple(value) if type(value) is list else value
    return cls(**fields)


def _lines(snapshot: Snapshot) -> Iterator[str]:
    """Yield the lines of a file, without line breaks."""
    yield "{"
    yield f'"nodelint-snapshot": {FORMAT},'
    yield f'"origin": {_json(snapshot.origin)},'
    yield f'"date": {_json(snapshot.date)},'
    if snapshot.nodelint is not None:
        yield f'"nodelint": {_json(snapshot.nodelint)},'
    yield '"sources": ['
    yield from _listed([_json(s._asdict()) for s in snapshot.sources])
    yield "]" + ("," if snapshot.rows or snapshot.regions else "")
    if snapshot.rows:
        yield '"instanceTypes": {'
        yield f'"labels": {_json(snapshot.labels)},'
        yield f'"resources": {_json(snapshot.resources)},'
        yield f'"prices": {_json(snapshot.priced)},'
        yield '"changes": ['
        yield from _listed(
            [_json({"before": str(c.before), "label": c.label, "values": c.values}) for c in snapshot.changes]
        )
        yield "],"
        yield '"rows": ['
        yield from _listed([_json(row) for row in snapshot.rows])
        yield "]"
        yield "}" + ("," if snapshot.regions else "")
    if snapshot.regions:
        yield '"regions": ['
        for index, region in enumerate(sorted(snapshot.regions, key=lambda r: r.name), 1):
            yield from _region_lines(region)
            yield "}" + ("," if index < len(snapshot.regions) else "")
        yield "]"
    yield "}"


def _region_lines(region: Region) -> Iterator[str]:
    """Yield the lines of a region in a snapshot, without the closing brace. The time that most answers have is
    written once.
    """
    times = [answer.at for answer in region.answers.values()]
    at = max(times, key=lambda t: (times.count(t), t), default="") if len(set(times)) > 1 else "".join(times[:1])
    yield "{"
    yield f'"region": {_json(region.name)},'
    if region.account is not None:
        yield f'"account": {_json(region.account)},'
    yield f'"at": {_json(at)},'
    yield '"asked": ['
    yield from _listed(sorted(_json(_question_record(q, a, at)) for q, a in region.answers.items()))
    tables: list[tuple[str, list[Any]]] = []
    for field, (key, _) in _TABLES.items():
        table = getattr(region, field)
        tables.append((key, [table[id] for id in sorted(table)]))
    tables.append(("offerings", _offered(region.offerings)))
    tables = [(key, records) for key, records in tables if records]
    yield "]" + ("," if tables else "")
    for index, (key, records) in enumerate(tables, 1):
        yield f'"{key}": ['
        yield from _listed([_json(_plain(record)) for record in records])
        yield "]" + ("," if index < len(tables) else "")


def _offered(offerings: Mapping[str, Offering]) -> list[_Offered]:
    alike: dict[tuple[object, ...], list[str]] = {}
    for name in sorted(offerings):
        alike.setdefault((name.partition(".")[0], *offerings[name][1:]), []).append(name)
    return [_Offered(tuple(names), *offerings[names[0]][1:]) for names in alike.values()]


def _question_record(question: Question, answer: Answer, at: str) -> dict[str, object]:
    line: dict[str, object] = {"ask": question.kind}
    if question.filters:
        line["filters"] = question.filters
    if question.owners:
        line["owners"] = question.owners
    if answer.at != at:
        line["at"] = answer.at
    if answer.failed is not None:
        return {**line, "failed": answer.failed, "transient": answer.transient}
    line["found"] = answer.found
    return line if answer.total == len(answer.found) else {**line, "total": answer.total}


def _plain(record: Any) -> dict[str, object]:
    defaults = record._field_defaults
    return {key: value for key, value in record._asdict().items() if key not in defaults or value != defaults[key]}


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _listed(lines: Sequence[str]) -> Iterator[str]:
    for index, line in enumerate(lines, 1):
        yield line + ("," if index < len(lines) else "")
