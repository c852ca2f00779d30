"""Settings of the controller among the manifests: values of its chart, and variables and flags of its Deployment.

Read are HelmReleases, Argo CD Applications, `helmCharts` of a kustomization, files of values, and Deployments. What
`data/settings.json` does not know is passed over: charts hold much else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Literal

from nodelint.data import table
from nodelint.model.manifest import text
from nodelint.model.releases import Version, releases_match
from nodelint.source import UNKNOWN, Node, Source
from nodelint.tuples import NamedTuple
from nodelint.upgrade.things import Site

Kind = Literal["value", "variable", "flag", "gate"]

_TELLTALE = ("clusterName", "featureGates", "interruptionQueue", "clusterEndpoint")
"""Keys of `settings` by which a file of values is known for that of Karpenter's chart."""


class WrittenSetting(NamedTuple):
    """A setting as it is written: a value of the chart by its path, a variable, a flag, or a feature gate."""

    kind: Kind
    name: str
    value: str
    node: Node
    chart: int | None = None
    """Which chart of the run it belongs to."""


class Shift(NamedTuple):
    """What a move makes of a setting: known from a release on (`begins`), or no longer."""

    setting: WrittenSetting
    release: Version
    begins: bool


class ControllerSettings:
    """The settings of some sources."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self._charts: list[Node] = []
        self.found: list[WrittenSetting] = []
        for source in sources:
            for node in _chart_values(source):
                self.found += _of_values(node, len(self._charts))
                self._charts.append(node)
            for container in _containers(source):
                self.found += _of_container(container, None)
        self.found += [gate for setting in self.found for gate in _gates(setting)]

    def named(self, condition: dict[str, Any]) -> Iterator[Site]:
        """Where a variable is set, in whatever way; with `is`, to this value."""
        row = next(row for row in table("settings")["settings"] if row.get("variable") == condition["name"])
        names = {row["variable"], row["flag"], row.get("value")}
        wanted = condition.get("is")
        for setting in self.found:
            if setting.kind != "gate" and setting.name in names and setting.value and wanted in (None, setting.value):
                yield _place(setting)

    def gates(self, condition: dict[str, Any]) -> Iterator[Site]:
        """Where a feature gate is set, to a value that `is`."""
        for setting in self.found:
            if setting.kind == "gate" and setting.name == condition["name"] and setting.value == condition["is"]:
                yield _place(setting)

    def charts_with(self, condition: dict[str, Any]) -> Iterator[Site]:
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
                leaves = [_leaf(*leaf) for leaf in _leaves(chart)]
                found = [each for each in leaves if re.fullmatch(condition["value"], each.name)]
                yield from (_place(each) for each in found if each.value or "beside" not in condition)
            elif "env" in condition:
                yield from (_place(s) for s in own if (s.kind, s.name) == ("variable", condition["env"]))
            else:
                yield Site(_first_key(chart), "values of the chart")

    def shifts(self, old: Version, new: Version) -> Iterator[Shift]:
        """The settings that begin or end to be known between two releases."""
        values = {id(setting.node) for setting in self.found if setting.kind == "value"}
        for setting in self.found:
            if setting.kind == "gate" and id(setting.node) in values:
                continue  # told as the value that it is written as
            releases = _known(setting)
            if releases is None or releases_match(releases, old) == releases_match(releases, new):
                continue
            yield Shift(setting, _border(releases, old, new), releases_match(releases, new))


def _border(releases: str, old: Version, new: Version) -> Version:
    from nodelint.model.releases import RELEASES

    wanted = releases_match(releases, new)
    between = [release for release in RELEASES if old < release <= new]
    return next((release for release in between if releases_match(releases, release) == wanted), new)


def _known(setting: WrittenSetting) -> str | None:
    """The releases that know a setting; None where none of 1.0 and later does, or it is not one of the controller."""
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


def _place(setting: WrittenSetting) -> Site:
    return Site(setting.node, "values of the chart" if setting.kind == "value" else "")


# -- where they stand


def _chart_values(source: Source) -> Iterator[Node]:
    """The values that a source gives to Karpenter's chart."""
    for document in source.documents:
        root = document.root
        if root is None or root.kind != "mapping":
            continue
        kind = text(root.get("kind"))
        if kind == "HelmRelease":
            chart = text(root.at("spec", "chart", "spec", "chart")) or text(root.at("spec", "chartRef", "name"))
            yield from _if_ours(chart, root.at("spec", "values"))
        elif kind == "Application":
            listed = root.at("spec", "sources")
            for each in (root.at("spec", "source"), *(listed.items if listed is not None else ())):
                if each is not None:
                    chart = text(each.get("chart")) or text(each.get("repoURL"))
                    yield from _if_ours(chart, each.at("helm", "valuesObject") or _block(each.at("helm", "values")))
        elif kind is None:
            yield from _plain(root)
        charts = root.get("helmCharts")
        for each in charts.items if charts is not None else ():
            yield from _if_ours(text(each.get("name")), each.get("valuesInline"))


def _if_ours(chart: object, values: Node | None) -> Iterator[Node]:
    if isinstance(chart, str) and chart.rpartition("/")[2] == "karpenter" and values is not None:
        yield values


def _plain(root: Node) -> Iterator[Node]:
    """A file of values: of the chart itself, or of one that holds it as `karpenter`."""
    for values in (root, root.get("karpenter")):
        settings = values.get("settings") if values is not None else None
        if values is not None and settings is not None and any(settings.get(key) for key in _TELLTALE):
            yield values


def _block(node: Node | None) -> Node | None:
    """The values in a block scalar; None where it is not one, or cannot be read."""
    if node is None or node.style not in ("literal", "folded"):
        return None
    from nodelint.source.compose import compose
    from nodelint.source.unreadable import Unreadable

    begin = node.source.text.find("\n", node.start) + 1
    try:
        roots = compose(node.source, node.source.text[begin : node.end], begin, masked=False)
    except Unreadable:
        return None
    return roots[0] if len(roots) == 1 else None


def _containers(source: Source) -> Iterator[Node]:
    """The containers of Deployments of Karpenter's controller."""
    for document in source.documents:
        root = document.root
        if root is None or text(root.get("kind")) != "Deployment":
            continue
        listed = root.at("spec", "template", "spec", "containers")
        for container in listed.items if listed is not None else ():
            image = text(container.get("image"))
            if isinstance(image, str) and re.search(r"karpenter/controller\b", image):
                yield container


# -- what they say


def _of_values(values: Node, chart: int) -> Iterator[WrittenSetting]:
    for path, key, value in _leaves(values):
        if path.startswith(("settings.", "webhook.")):
            yield _leaf(path, key, value)._replace(chart=chart)
    controller = values.get("controller")
    if controller is not None:
        yield from _of_container(controller, chart)


def _leaves(values: Node) -> Iterator[tuple[str, Node, Node]]:
    """The scalars of nested mappings by their path, each with the node of its key."""
    pending = [("", values)]
    while pending:
        path, node = pending.pop()
        for entry in node.entries:
            at = f"{path}{entry.name}"
            if entry.value.kind == "mapping":
                pending.append((f"{at}.", entry.value))
            elif entry.value.kind == "scalar":
                yield at, entry.key, entry.value


def _leaf(path: str, key: Node, value: Node) -> WrittenSetting:
    return WrittenSetting("value", path, _written(value), key)


def _of_container(container: Node, chart: int | None) -> Iterator[WrittenSetting]:
    env, args = container.get("env"), container.get("args")
    for item in env.items if env is not None else ():
        name = text(item.get("name"))
        value = item.get("value")
        if isinstance(name, str):
            yield WrittenSetting("variable", name, _written(value) if value is not None else "", item, chart)
    for item in args.items if args is not None else ():
        written = text(item)
        flag = re.fullmatch(r"--?([a-z][a-z0-9-]*)(?:=(.*))?", written) if isinstance(written, str) else None
        if flag is not None:
            yield WrittenSetting("flag", flag[1], flag[2] or "", item, chart)


def _written(value: Node) -> str:
    if value.value is UNKNOWN or value.value is None:
        return ""
    return value.text if isinstance(value.value, bool) else str(value.value)


def _gates(setting: WrittenSetting) -> Iterator[WrittenSetting]:
    """The feature gates that a setting turns on or off."""
    if setting.kind == "value":
        for row in table("settings")["gates"]:
            if row.get("value") == setting.name and setting.value:
                yield setting._replace(kind="gate", name=row["gate"])
    elif setting.name.upper().replace("-", "_") in ("FEATURE_GATES", "AWS_FEATURE_GATES"):
        for part in setting.value.split(","):
            name, _, value = part.partition("=")
            if value:
                yield setting._replace(kind="gate", name=name.strip(), value=value.strip().lower())


def _first_key(chart: Node) -> Node:
    return chart.entries[0].key if chart.entries else chart
