"""Facts about EC2 as a file: what it holds, where it comes from, how old it is.

A snapshot is one JSON document with one instance type to a line, so that the difference between two of
them can be read. `schemas/snapshot.schema.json` describes it. The catalogue that comes with nodelint is
such a file (`data/catalog.json`), made by `tools/make_catalog.py`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, cast

from nodelint.versions import Version

FORMAT = 1
"""The version of the file format. A reader refuses any other."""


class SnapshotError(ValueError):
    """A file that is no snapshot, or one in a format that this release does not read."""


class Network(NamedTuple):
    """What a VPC allows an instance type: counts of interfaces and addresses.

    `interfaces` is the number of network interfaces that can be attached, `ipv4_per_interface` the
    addresses on each, `trunking` whether it can have branch interfaces and `branches` how many, `cards`
    the largest number of interfaces on each network card, in the order of their indices.
    """

    interfaces: int
    ipv4_per_interface: int
    trunking: bool
    branches: int
    cards: tuple[int, ...]


class Origin(NamedTuple):
    """Where facts come from, and of what day (ISO 8601) they are."""

    facts: str
    origin: str
    date: str


class Change(NamedTuple):
    """Label values as they were `before` a Karpenter release: by type, None for a label that was missing."""

    before: Version
    label: str
    values: dict[str, str | None]


Row = tuple[str, list[str | None], list[str | None], list[Any] | None, list[float | None]]
"""An instance type: name, label values, resource quantities, network limits, prices (USD per hour)."""


class Snapshot(NamedTuple):
    """The content of a snapshot file.

    `labels`, `resources` and `regions` name what stands in the columns of the rows. Rows are sorted by
    name. A label that is None is missing on the type; an empty text is a value.
    """

    origin: str
    date: str
    sources: tuple[Origin, ...]
    labels: tuple[str, ...]
    resources: tuple[str, ...]
    regions: tuple[str, ...]
    changes: tuple[Change, ...]
    rows: Sequence[Row]

    @classmethod
    def parse(cls, text: str | bytes) -> Snapshot:
        """Read the text of a file. Raises SnapshotError where it is no snapshot of format 1."""
        try:
            data = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise SnapshotError(f"not a snapshot: no JSON ({error})") from error
        if not isinstance(data, dict) or "nodelint-snapshot" not in data:
            raise SnapshotError("not a snapshot: no key `nodelint-snapshot`")
        if data["nodelint-snapshot"] != FORMAT:
            raise SnapshotError(f"snapshot of format `{data['nodelint-snapshot']}`; this release reads {FORMAT}")
        try:
            return cls._read(data)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise SnapshotError(f"not a whole snapshot: {type(error).__name__} {error}") from error

    @classmethod
    def _read(cls, data: dict[str, Any]) -> Snapshot:
        types = data["instanceTypes"]
        labels, resources, regions = tuple(types["labels"]), tuple(types["resources"]), tuple(types["prices"])
        rows = cast("list[Row]", types["rows"])
        shape = (len(labels), len(resources), len(regions))
        last = ""
        for name, values, quantities, network, prices in rows:
            if (len(values), len(quantities), len(prices)) != shape or (network is not None and len(network) != 5):
                raise ValueError(f"columns of `{name}` do not match the header")
            if name <= last:
                raise ValueError(f"`{name}` is out of order")
            last = name
        return cls(
            origin=str(data["origin"]),
            date=str(data["date"]),
            sources=tuple(Origin(s["facts"], s["origin"], s["date"]) for s in data["sources"]),
            labels=labels,
            resources=resources,
            regions=regions,
            changes=tuple(Change(Version.parse(c["before"]), c["label"], c["values"]) for c in types["changes"]),
            rows=rows,
        )

    def text(self) -> str:
        """The file: sorted, one instance type to a line, ending in a line break."""
        return "".join(f"{line}\n" for line in self._lines())

    def _lines(self) -> Iterator[str]:
        yield "{"
        yield f'"nodelint-snapshot": {FORMAT},'
        yield f'"origin": {_json(self.origin)},'
        yield f'"date": {_json(self.date)},'
        yield '"sources": ['
        yield from _listed([_json(s._asdict()) for s in self.sources])
        yield "],"
        yield '"instanceTypes": {'
        yield f'"labels": {_json(self.labels)},'
        yield f'"resources": {_json(self.resources)},'
        yield f'"prices": {_json(self.regions)},'
        yield '"changes": ['
        yield from _listed(
            [_json({"before": str(c.before), "label": c.label, "values": c.values}) for c in self.changes]
        )
        yield "],"
        yield '"rows": ['
        yield from _listed([_json(row) for row in self.rows])
        yield "]"
        yield "}"
        yield "}"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _listed(lines: Sequence[str]) -> Iterator[str]:
    for index, line in enumerate(lines, 1):
        yield line + ("," if index < len(lines) else "")
