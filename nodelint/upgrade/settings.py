"""Settings of the controller among the manifests, and the effect of an upgrade on them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from nodelint.base.tuples import NamedTuple
from nodelint.data import table
from nodelint.inventory.controller_installs import find_installs
from nodelint.model.controller_settings import WrittenSetting, chart_leaf, chart_leaves, gates_of
from nodelint.model.releases import RELEASES, Version, releases_match
from nodelint.text import Node, Source
from nodelint.upgrade.resources import Location


class SettingChange(NamedTuple):
    """What a move makes of a setting: known from a release on (`begins`), or no longer."""

    setting: WrittenSetting
    release: Version
    begins: bool


class ControllerSettings:
    """The settings of some sources."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self._charts: list[Node] = []
        self.found: list[WrittenSetting] = []
        for install in find_installs(sources):
            number = len(self._charts) if install.values is not None else None
            self.found += [setting._replace(chart=number) for setting in install.settings]
            if install.values is not None:
                self._charts.append(install.values)
        self.found += [gate for setting in self.found for gate in gates_of(setting)]

    def find_variable(self, condition: dict[str, Any]) -> Iterator[Location]:
        """Where a variable is set, in whatever way; with `is`, to this value."""
        row = next(row for row in table("settings")["settings"] if row.get("variable") == condition["name"])
        names = {row["variable"], row["flag"], row.get("value")}
        wanted = condition.get("is")
        for setting in self.found:
            if setting.kind != "gate" and setting.name in names and setting.value and wanted in (None, setting.value):
                yield _place(setting)

    def gates(self, condition: dict[str, Any]) -> Iterator[Location]:
        """Where a feature gate is set, to a value that `is`."""
        for setting in self.found:
            if setting.kind == "gate" and setting.name == condition["name"] and setting.value == condition["is"]:
                yield _place(setting)

    def charts_with(self, condition: dict[str, Any]) -> Iterator[Location]:
        """Charts with a `value` (a pattern over paths) or a variable `env`.

        They lack the value that `lacks` names, and have `true` for the one that `beside` names.
        """
        for number, chart in enumerate(self._charts):
            own = [setting for setting in self.found if setting.chart == number]
            if any(setting.name == condition.get("lacks") for setting in own):
                continue
            if "beside" in condition and not any((s.name, s.value) == (condition["beside"], "true") for s in own):
                continue
            if "value" in condition:
                leaves = [chart_leaf(*leaf) for leaf in chart_leaves(chart)]
                found = [setting for setting in leaves if re.fullmatch(condition["value"], setting.name)]
                yield from (_place(setting) for setting in found if setting.value or "beside" not in condition)
            elif "env" in condition:
                yield from (_place(s) for s in own if (s.kind, s.name) == ("variable", condition["env"]))
            else:
                yield Location(chart.entries[0].key if chart.entries else chart, "values of the chart")

    def shifts(self, old: Version, new: Version) -> Iterator[SettingChange]:
        """Yield the settings that begin or end to be known between two releases."""
        values = {id(setting.node) for setting in self.found if setting.kind == "value"}
        for setting in self.found:
            if setting.kind == "gate" and id(setting.node) in values:
                continue  # told as the value that it is written as
            releases = _known(setting)
            if releases is None or releases_match(releases, old) == releases_match(releases, new):
                continue
            yield SettingChange(setting, _border(releases, old, new), releases_match(releases, new))


def _border(releases: str, old: Version, new: Version) -> Version:
    wanted = releases_match(releases, new)
    between = [release for release in RELEASES if old < release <= new]
    return next((release for release in between if releases_match(releases, release) == wanted), new)


def _known(setting: WrittenSetting) -> str | None:
    """Return the releases that know a setting; None if none of 1.0 and later does, or it is not one of the
    controller.
    """
    if setting.kind == "gate":
        gates = (row for row in table("settings")["gates"] if row["gate"] == setting.name)
        return next((row["releases"] for row in gates), None)
    for row in (*table("settings")["settings"], *table("settings")["gates"]):
        if setting.kind == "value" and row.get("value") == setting.name:
            chart: str = row.get("chart", row["releases"])
            return chart
        if setting.kind in ("variable", "flag") and row.get(setting.kind) == setting.name:
            releases: str = row["releases"]
            return releases
    return None


def _place(setting: WrittenSetting) -> Location:
    return Location(setting.node, "values of the chart" if setting.kind == "value" else "")
