"""Settings of the controller as files state them: values of its chart, variables and flags of its Deployment.

Read are HelmReleases, Argo CD Applications, `helmCharts` of a kustomization, files of values, Deployments, and the
`set` blocks of Terraform's helm_release. What `data/settings.json` does not know is passed over: charts hold much
else. A setting counts for what lies nearest to the file that states it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from nodelint.base.tuples import NamedTuple
from nodelint.data import table
from nodelint.model.manifest import text
from nodelint.model.releases import Version, releases_match
from nodelint.text import UNKNOWN, Node, Source

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Literal

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


class StatedSetting(NamedTuple):
    """A setting that a file states: `name` is a gate's name, or a variable's; the folders lead to the file."""

    folders: tuple[str, ...]
    gate: bool
    name: str
    value: str


class ControllerFacts:
    """The settings of the controller that counts for an object, as far as files state them."""

    def __init__(self, stated: Sequence[StatedSetting], release: Version) -> None:
        self._stated = stated
        self._release = release

    def gate(self, name: str) -> bool | None:
        """Whether a feature gate is stated to be on or off; None where no file does, or the release has none such."""
        row = next((row for row in table("settings")["gates"] if row["gate"] == name), None)
        if row is None or not releases_match(row["releases"], self._release):
            return None
        value = self._value(name, gate=True)
        return {"true": True, "false": False}.get(value.lower()) if value is not None else None

    def setting(self, variable: str) -> str | None:
        """The value of a setting by its variable, such as `MIN_VALUES_POLICY`; None where no file states one value.

        So it is where the release knows no such setting.
        """
        row = next((row for row in table("settings")["settings"] if row.get("variable") == variable), None)
        known = row is not None and releases_match(row["releases"], self._release)
        return self._value(variable, gate=False) if known else None

    def _value(self, name: str, gate: bool) -> str | None:
        found = {setting.value for setting in self._stated if (setting.gate, setting.name) == (gate, name)}
        return found.pop() if len(found) == 1 else None


class StatedSettings:
    """All settings that the files of a run state, asked by the path of an object's file."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self._all = [setting for source in sources for setting in stated_settings(source)]

    def for_path(self, path: str, release: Version) -> ControllerFacts:
        """Those of the files that share the deepest folder with a path."""
        folders = _folders(path)
        near: dict[int, list[StatedSetting]] = {}
        for setting in self._all:
            near.setdefault(_shared(folders, setting.folders), []).append(setting)
        return ControllerFacts(near[max(near)] if near else (), release)


def stated_settings(source: Source) -> Iterator[StatedSetting]:
    """The settings that one file states."""
    folders = _folders(source.path)
    written: list[tuple[Kind, str, str]]
    if source.path.endswith(_TERRAFORM):
        written = [("value", name, value) for name, value in _SET.findall(source.text)]
    else:
        found = [setting for chart in chart_values(source) for setting in settings_of_values(chart, None)]
        written = [setting[:3] for setting in (*found, *settings_of_deployments(source))]
    for kind, name, value in written:
        row = next((row for row in table("settings")["settings"] if row.get(kind) == name), None)
        if row is not None and "variable" in row and value:
            yield StatedSetting(folders, False, row["variable"], value)
        for gate, state in _gates(kind, name, value):
            yield StatedSetting(folders, True, gate, state)


_TERRAFORM = (".tf", ".tofu", ".hcl", ".tf.json", ".tofu.json")
_SET = re.compile(r'\bname"?\s*+[=:]\s*+"(settings\.[\w.]+)"\s*+,?\s*+"?value"?\s*+[=:]\s*+"?([\w.=,%-]+)"?')
"""A `set` of Terraform's helm_release: the path of a value of the chart, and the value."""


def _folders(path: str) -> tuple[str, ...]:
    return tuple(os.path.dirname(os.path.abspath(path)).split(os.sep))


def _shared(a: tuple[str, ...], b: tuple[str, ...]) -> int:
    return next((n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


# -- where they stand


def chart_values(source: Source) -> Iterator[Node]:
    """The values that a source gives to Karpenter's chart."""
    for root in _roots(source):
        kind = text(root.get("kind"))
        if kind == "HelmRelease":
            chart = text(root.find("spec", "chart", "spec", "chart")) or text(root.find("spec", "chartRef", "name"))
            yield from _if_ours(chart, root.find("spec", "values"))
        elif kind == "Application":
            listed = root.find("spec", "sources")
            for candidate in (root.find("spec", "source"), *(listed.items if listed is not None else ())):
                if candidate is not None:
                    chart = text(candidate.get("chart")) or text(candidate.get("repoURL"))
                    yield from _if_ours(
                        chart, candidate.find("helm", "valuesObject") or _block(candidate.find("helm", "values"))
                    )
        elif kind is None:
            yield from _plain(root)
        charts = root.get("helmCharts")
        for node in charts.items if charts is not None else ():
            yield from _if_ours(text(node.get("name")), node.get("valuesInline"))


def _roots(source: Source) -> Iterator[Node]:
    """The mappings of a source; of a file of values that does not name Karpenter too, which is not read otherwise."""
    roots = [document.root for document in source.documents]
    if not any(roots) and source.path.endswith((".yaml", ".yml")) and "settings:" in source.text:
        from nodelint.text.syntax_errors import Unreadable
        from nodelint.text.yaml.compose import compose

        try:
            roots = list(compose(source, source.text, 0, masked=False))
        except Unreadable:
            return
    yield from (root for root in roots if root is not None and root.kind == "mapping")


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
    from nodelint.text.syntax_errors import Unreadable
    from nodelint.text.yaml.compose import compose

    begin = node.source.text.find("\n", node.start) + 1
    try:
        roots = compose(node.source, node.source.text[begin : node.end], begin, masked=False)
    except Unreadable:
        return None
    return roots[0] if len(roots) == 1 else None


def settings_of_deployments(source: Source) -> Iterator[WrittenSetting]:
    """The settings that Deployments of the controller give it."""
    for container in _containers(source):
        yield from _of_container(container, None)


def _containers(source: Source) -> Iterator[Node]:
    """The containers of Deployments of Karpenter's controller."""
    for document in source.documents:
        root = document.root
        if root is None or text(root.get("kind")) != "Deployment":
            continue
        listed = root.find("spec", "template", "spec", "containers")
        for container in listed.items if listed is not None else ():
            image = text(container.get("image"))
            if isinstance(image, str) and re.search(r"karpenter/controller\b", image):
                yield container


# -- what they say


def settings_of_values(values: Node, chart: int | None) -> Iterator[WrittenSetting]:
    """The settings among the values of Karpenter's chart."""
    for path, key, value in chart_leaves(values):
        if path.startswith(("settings.", "webhook.")):
            yield chart_leaf(path, key, value)._replace(chart=chart)
    controller = values.get("controller")
    if controller is not None:
        yield from _of_container(controller, chart)


def chart_leaves(values: Node) -> Iterator[tuple[str, Node, Node]]:
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


def chart_leaf(path: str, key: Node, value: Node) -> WrittenSetting:
    """A scalar of the chart's values as a setting."""
    return WrittenSetting("value", path, _setting_text(value), key)


def _of_container(container: Node, chart: int | None) -> Iterator[WrittenSetting]:
    env, args = container.get("env"), container.get("args")
    for item in env.items if env is not None else ():
        name = text(item.get("name"))
        value = item.get("value")
        if isinstance(name, str):
            yield WrittenSetting("variable", name, _setting_text(value) if value is not None else "", item, chart)
    for item in args.items if args is not None else ():
        written = text(item)
        flag = re.fullmatch(r"--?([a-z][a-z0-9-]*)(?:=(.*))?", written) if isinstance(written, str) else None
        if flag is not None:
            yield WrittenSetting("flag", flag[1], flag[2] or "", item, chart)


def _setting_text(value: Node) -> str:
    if value.value is UNKNOWN or value.value is None:
        return ""
    return value.text if isinstance(value.value, bool) else str(value.value)


def gates_of(setting: WrittenSetting) -> Iterator[WrittenSetting]:
    """The feature gates that a setting turns on or off."""
    for gate, value in _gates(*setting[:3]):
        yield setting._replace(kind="gate", name=gate, value=value)


def _gates(kind: Kind, name: str, value: str) -> Iterator[tuple[str, str]]:
    if kind == "value":
        for row in table("settings")["gates"]:
            if row.get("value") == name and value:
                yield row["gate"], value
    elif name.upper().replace("-", "_") in ("FEATURE_GATES", "AWS_FEATURE_GATES"):
        for part in value.split(","):
            gate, _, state = part.partition("=")
            if state:
                yield gate.strip(), state.strip().lower()
