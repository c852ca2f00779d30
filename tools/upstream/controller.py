"""Settings, feature gates and Kubernetes ranges of a release, written into `settings.json` and `support.json`."""

from __future__ import annotations

import json
import re
from typing import Any

from upstream import texts
from upstream.facts import Release
from upstream.git import Unreadable

_TEMPLATE = "charts/karpenter/templates/deployment.yaml"
_MATRIX = "hack/docs/compatibilitymatrix_gen/compatibility.yaml"
_OPTIONS = "pkg/operator/options/options.go"

Row = dict[str, Any]


class Table:
    """Rows under a key of a data file, one a line. `news` describes the changes, `by_hand` what a person must still
    do.
    """

    def __init__(self, text: str, key: str) -> None:
        self.key = key
        self.rows: list[Row] = json.loads(text)[key]
        self.news: list[str] = []
        self.by_hand: list[str] = []

    def into(self, text: str) -> str:
        body = ",\n".join(f"  {json.dumps(row, ensure_ascii=False)}" for row in self.rows)
        return texts.with_block(text, self.key, body)

    def row(self, name: str, value: str) -> Row | None:
        return next((row for row in self.rows if row.get(name) == value), None)


def follow_settings(table: Table, release: str, old: Release, new: Release) -> None:
    """Add rows for the settings that a release adds, and end the rows of those that it removes."""
    before, after = old.settings(), new.settings()
    for flag in sorted(after.keys() - before.keys()):
        setting = after[flag]
        if table.row("variable", setting.variable) is not None:
            continue
        source = f"{setting.of} {_OPTIONS}@v{release}"
        value = _chart_value(new, setting.variable)
        chart = {"value": value, "chart": f">={release}"} if value else {}
        row = {"variable": setting.variable, "flag": flag, "releases": f">={release}", **chart, "source": source}
        table.rows.append(row)
        table.news.append(f"{setting.variable} came in {release}")
    for flag in sorted(before.keys() - after.keys()):
        gone = table.row("variable", before[flag].variable)
        if gone is not None:
            _end(table, gone, release, before[flag].variable)


def follow_gates(table: Table, release: str, old: Release, new: Release) -> None:
    """Add rows for the feature gates that a release adds, removes or enables."""
    before, after = old.gates(), new.gates()
    for gate, on in after.items():
        row = table.row("gate", gate)
        if row is None:
            value = _chart_value(new, gate)
            row = {"gate": gate, "releases": f">={release}", **({"on": f">={release}"} if on else {})}
            row |= {**({"value": value} if value else {}), "what": gate, "source": f"core {_OPTIONS}@v{release}"}
            table.rows.append(row)
            table.news.append(f"gate {gate} came in {release}")
            table.by_hand.append(f"settings.json: say what the gate {gate} turns on")
        elif on and before.get(gate) is False and "on" not in row:
            row["on"] = f">={release}"
            table.news.append(f"gate {gate} is on by itself from {release} on")
        elif before.get(gate) is True and not on:
            table.by_hand.append(f"settings.json: gate {gate} is off by itself from {release} on")
    for gate in sorted(before.keys() - after.keys()):
        gone = table.row("gate", gate)
        if gone is not None:
            _end(table, gone, release, f"gate {gate}")


def _end(table: Table, row: Row, release: str, what: str) -> None:
    if "<" not in row["releases"]:
        row["releases"] = ",".join(part for part in (row["releases"], f"<{release}") if part)
        table.news.append(f"{what} went in {release}")


def _chart_value(release: Release, name: str) -> str | None:
    """Return the chart value that sets a variable or a feature gate. None if the chart has none for it."""
    try:
        template = release.provider.show(release.revision, _TEMPLATE)
    except Unreadable:
        return None
    found = (
        re.search(rf"\b{name}=\{{\{{ \.Values\.([\w.]+)", template)
        or re.search(rf"with \.Values\.([\w.]+) \}}\}}\n\s*- name: {name}\n", template)
        or re.search(rf"- name: {name}\n\s*value: [^\n]*\.Values\.([\w.]+)", template)
    )
    return found[1] if found else None


def follow_support(table: Table, release: str, day: str, matrix: str) -> None:
    """Add a row for a new minor version and its range of Kubernetes. Its day ends the support of the version before.

    `matrix` is the table of Kubernetes versions (`_MATRIX`) at a revision of the documentation.
    """
    minor = release.rpartition(".")[0]
    spans = _range(matrix, release)
    row = table.row("minor", minor)
    if row is None:
        previous = table.rows[-1] if table.rows else None
        if previous is not None and not previous["lts"]:
            previous["until"] = day
        row = {"minor": minor, "date": day, "lts": False, "until": "", "kubernetes": []}
        table.rows.append(row)
        table.news.append(f"{minor} came on {day}")
        table.by_hand.append(f"support.json: say until when {minor} is supported, and whether for long (SUPPORT.md)")
    if spans is None:
        table.by_hand.append(f"support.json: {_MATRIX} has no range of Kubernetes for {release}")
        return
    known = row["kubernetes"]
    if not known or (known[-1]["min"], known[-1]["max"]) != spans:
        known.append({"from": release, "min": spans[0], "max": spans[1]})
        table.news.append(f"{release} takes Kubernetes {spans[0]} to {spans[1]}")


def _range(matrix: str, release: str) -> tuple[str, str] | None:
    """Return the range in the entry for a release: of the newest patch that is not newer, else of its
    minor version.
    """
    entries = re.findall(r"appVersion: (\S+)\s+minK8sVersion: (\S+)\s+maxK8sVersion: (\S+)", matrix)
    minor, _, patch = release.rpartition(".")
    best: tuple[int, tuple[str, str]] | None = None
    for version, oldest, newest in entries:
        of, _, number = version.rpartition(".")
        at = -1 if number == "x" else int(number) if number.isdigit() else None
        if of == minor and at is not None and at <= int(patch) and (best is None or at > best[0]):
            best = (at, (oldest, newest))
    return best[1] if best else None


def matrix_at(release: Release, docs: str) -> str:
    """Return the documentation's table of Kubernetes versions. Empty if there is none."""
    try:
        return release.provider.show(docs, _MATRIX)
    except Unreadable:
        return ""
