"""Settings of the controller in the manifests, and the effect of an upgrade on them."""

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
    """The effect of an upgrade on a setting: known from a release on (`begins`), or not known from it on."""

    setting: WrittenSetting
    release: Version
    begins: bool


class ControllerSettings:
    """The controller settings in some sources."""

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
        """Yield the places at which a variable is set, as variable, flag or chart value. With `is`, only with this
        value.
        """
        row = next(row for row in table("settings")["settings"] if row.get("variable") == condition["name"])
        names = {row["variable"], row["flag"], row.get("value")}
        wanted = condition.get("is")
        for setting in self.found:
            if setting.kind != "gate" and setting.name in names and setting.value and wanted in (None, setting.value):
                yield _place(setting)

    def gates(self, condition: dict[str, Any]) -> Iterator[Location]:
        """Yield the places at which a feature gate is set to the value `is`."""
        for setting in self.found:
            if setting.kind == "gate" and setting.name == condition["name"] and setting.value == condition["is"]:
                yield _place(setting)

    def charts_with(self, condition: dict[str, Any]) -> Iterator[Location]:
        """Yield the values of charts that match `value` (a pattern over paths), or their variables named `env`. With
        neither, yield the charts.

        Charts with the value `lacks` are ignored. With `beside`, only charts count in which that value is `true`.
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
        """Yield the settings that only one of two releases knows."""
        values = {id(setting.node) for setting in self.found if setting.kind == "value"}
        for setting in self.found:
            if setting.kind == "gate" and id(setting.node) in values:
                continue  # reported as the Helm value in which the gate is written
            releases = _releases_with(setting)
            if releases is None or releases_match(releases, old) == releases_match(releases, new):
                continue
            yield SettingChange(setting, _border(releases, old, new), releases_match(releases, new))


def _border(releases: str, old: Version, new: Version) -> Version:
    wanted = releases_match(releases, new)
    between = [release for release in RELEASES if old < release <= new]
    return next((release for release in between if releases_match(releases, release) == wanted), new)


def _releases_with(setting: WrittenSetting) -> str | None:
    """Return the range of releases that know a setting. None if no release since 1.0 does, or if it is not a
    controller setting.
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
