"""Settings of the controller as files state them: values of its chart, variables and flags of its Deployment.

`inventory.controller_charts` reads the installations; what `data/settings.json` does not know is passed over here:
charts hold much else. A setting counts for what lies nearest to the file that states it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property

from nodelint.base.tuples import NamedTuple
from nodelint.data import table
from nodelint.model.manifest import text
from nodelint.model.releases import Version, releases_match
from nodelint.text import UNKNOWN, Node, Source, SourceText

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Literal

    from nodelint.model.finding import Span

    Kind = Literal["value", "variable", "flag", "gate"]

_COMMAND = re.compile(r"\bhelm[ \t]+(?:upgrade|install)\b[^;|&]{0,2000}karpenter")

INSTALLING = (
    *("HelmRelease", "Application", "helmCharts", "helm_release", "releases:", "helm upgrade", "helm install"),
    *("karpenter/controller", "settings:", "settings."),
)
"""A file that installs the controller, or gives its chart values, holds one of these."""

TERRAFORM = (".tf", ".tofu", ".hcl", ".tf.json", ".tofu.json")


class WrittenSetting(NamedTuple):
    """A setting as it is written: a value of the chart by its path, a variable, a flag, or a feature gate."""

    kind: Kind
    name: str
    value: str
    node: Node
    chart: int | None = None
    """Which chart of the run it belongs to."""
    is_known: bool = True
    """Whether the value is known; the text of one that is not is empty."""

    @property
    def variable(self) -> str | None:
        """The variable by which the controller knows the setting, in whatever way it is written."""
        row = next((row for row in table("settings")["settings"] if row.get(self.kind) == self.name), None)
        return row.get("variable") if row is not None else None


class ControllerInstall(NamedTuple):
    """How a file installs the controller: where, by what, in which version, and with which settings.

    `version` is as it is written; None where it is not known. `is_complete` says that no other values count than
    those that were read. `values` are all that were read; None where the installation has no chart. `files` are the
    texts with a part in them.
    """

    at: Span
    by: str
    version: str | None
    settings: tuple[WrittenSetting, ...]
    is_complete: bool
    values: Node | None
    files: tuple[SourceText, ...]

    def find(self, variable: str) -> tuple[WrittenSetting, ...]:
        """The settings that give the controller a variable a value, known or not."""
        return tuple(s for s in self.settings if s.variable == variable and (s.value or not s.is_known))

    @property
    def release(self) -> Version | None:
        """The release of Karpenter; None where it is not known."""
        from nodelint.model.evidence import NO_RELEASE, stated

        found = stated("karpenter", self.version or "", self.at.source.path, 1, self.by)
        return None if found is None or found.weight == NO_RELEASE else found.karpenter


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
    """All settings that the files of a run state, asked by the path of an object's file.

    `find` reads the installations when they are first asked for. `others` are files of the run that hold no manifest.
    """

    def __init__(self, find: Callable[[], Sequence[ControllerInstall]], others: Sequence[Source] = ()) -> None:
        self._find = find
        self.scripts = [source for source in others if _COMMAND.search(source.text)]
        """Files without a manifest that install the controller by a command."""

    @cached_property
    def installs(self) -> Sequence[ControllerInstall]:
        """All installations of the controller."""
        return self._find()

    @cached_property
    def _stated_settings(self) -> list[StatedSetting]:
        return [setting for install in self.installs for setting in stated_settings(install)]

    def for_path(self, path: str, release: Version) -> ControllerFacts:
        """Those of the files that share the deepest folder with a path."""
        folders = _folders(path)
        near: dict[int, list[StatedSetting]] = {}
        for setting in self._stated_settings:
            near.setdefault(_shared(folders, setting.folders), []).append(setting)
        return ControllerFacts(near[max(near)] if near else (), release)


def stated_settings(install: ControllerInstall) -> Iterator[StatedSetting]:
    """The settings that one installation states."""
    folders = _folders(install.at.source.path)
    for setting in install.settings:
        variable = setting.variable
        if variable is not None and setting.value:
            yield StatedSetting(folders, False, variable, setting.value)
        for gate, state in _gates(*setting[:3]):
            yield StatedSetting(folders, True, gate, state)


def _folders(path: str) -> tuple[str, ...]:
    return tuple(os.path.dirname(os.path.abspath(path)).split(os.sep))


def _shared(a: tuple[str, ...], b: tuple[str, ...]) -> int:
    return next((n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def controller_containers(source: Source) -> Iterator[tuple[Node, Node]]:
    """The containers of Deployments of Karpenter's controller, each behind its Deployment."""
    for document in source.documents:
        root = document.root
        if root is None or text(root.get("kind")) != "Deployment":
            continue
        listed = root.find("spec", "template", "spec", "containers")
        for container in listed.items if listed is not None else ():
            image = text(container.get("image"))
            if isinstance(image, str) and re.search(r"karpenter/controller\b", image):
                yield root, container


def settings_of_values(values: Node, chart: int | None) -> Iterator[WrittenSetting]:
    """The settings among the values of Karpenter's chart."""
    for path, key, value in chart_leaves(values):
        if path.startswith(("settings.", "webhook.")):
            yield chart_leaf(path, key, value)._replace(chart=chart)
    controller = values.get("controller")
    if controller is not None:
        yield from container_settings(controller, chart)


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
    return WrittenSetting("value", path, _setting_text(value), key, is_known=value.value is not UNKNOWN)


def container_settings(container: Node, chart: int | None) -> Iterator[WrittenSetting]:
    """The variables and flags of a container."""
    env, args = container.get("env"), container.get("args")
    for item in env.items if env is not None else ():
        name = text(item.get("name"))
        value = item.get("value")
        if isinstance(name, str):
            known = value is not None and value.value is not UNKNOWN
            text_ = _setting_text(value) if value is not None else ""
            yield WrittenSetting("variable", name, text_, item, chart, known)
    for item in args.items if args is not None else ():
        written = text(item)
        flag = re.fullmatch(r"--?([a-z][a-z0-9-]*)(?:=(.*))?", written) if isinstance(written, str) else None
        if flag is not None:
            yield WrittenSetting("flag", flag[1], flag[2] or "", item, chart)


def _setting_text(value: Node) -> str:
    if value.value is UNKNOWN or value.value is None:
        return ""
    return str(value.value).lower() if isinstance(value.value, bool) else str(value.value)


def gates_of(setting: WrittenSetting) -> Iterator[WrittenSetting]:
    """The feature gates that a setting turns on or off."""
    for gate, value in _gates(*setting[:3]):
        yield setting._replace(kind="gate", name=gate, value=value)


def _gates(kind: Kind, name: str, value: str) -> Iterator[tuple[str, str]]:
    if kind == "value":
        for row in table("settings")["gates"]:
            if row.get("value") == name and value:
                yield row["gate"], value
        for row in table("settings")["settings"]:
            if row.get("value") == name and value:
                yield from ((gate, value) for gate in row.get("gates", ()))
    elif name.upper().replace("-", "_") in ("FEATURE_GATES", "AWS_FEATURE_GATES"):
        for part in value.split(","):
            gate, _, state = part.partition("=")
            if state:
                yield gate.strip(), state.strip().lower()
