"""Read settings of the controller from files: values of its chart, variables and flags of its Deployment."""

from __future__ import annotations

import re
from collections.abc import Iterator

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.data import table
from nodelint.model.manifest_terms import text
from nodelint.model.releases import Version
from nodelint.text import UNKNOWN, Node, Source, SourceText
from nodelint.text.missing import items_of

if TYPE_CHECKING:
    from typing import Literal

    from nodelint.model.finding import Span

    Kind = Literal["value", "variable", "flag", "gate"]


_COPY = r"(?:^|/)karpenter[-_]v?(\d{1,3})\.(\d{1,3})\.(\d{1,3})/[^/]+$"


class WrittenSetting(NamedTuple):
    """A setting of the controller.

    - `kind`: `value` (of the chart), `variable`, `flag` or `gate` (a feature gate).
    - `name`: its name; for a chart value, its path.
    - `value`: its text; empty if it is not known.
    - `node`: where it is written.
    """

    kind: Kind
    name: str
    value: str
    node: Node
    chart: int | None = None
    """The number of the chart of the run to which it belongs."""
    is_known: bool = True
    """Whether the value of the setting is known."""

    @property
    def variable(self) -> str | None:
        """Return the environment variable of the controller for the setting. None if there is none."""
        row = next((row for row in table("settings")["settings"] if row.get(self.kind) == self.name), None)
        return row.get("variable") if row is not None else None


class ControllerInstall(NamedTuple):
    """How a file installs the controller.

    - `at`: the place of the installation.
    - `by`: its kind in words, such as `the HelmRelease`.
    - `version`: as it is written, None if it is not known.
    - `settings`: the settings of the controller.
    - `is_complete`: all values that apply were read.
    - `values`: the chart values that were read, None if it is not a chart.
    - `files`: the texts that are part of it.
    """

    at: Span
    by: str
    version: str | None
    settings: tuple[WrittenSetting, ...]
    is_complete: bool
    values: Node | None
    files: tuple[SourceText, ...]
    has_gaps: bool = False
    """Whether the installation names further values that could not be read."""

    @property
    def paths(self) -> set[str]:
        """Return the paths of the texts that are part of the installation."""
        texts = (self.at.source, *self.files, *(setting.node.source for setting in self.settings))
        return {text.path for text in texts}

    def find(self, variable: str) -> tuple[WrittenSetting, ...]:
        """Return the settings that set a variable of the controller, with a known or unknown value."""
        return tuple(s for s in self.settings if s.variable == variable and (s.value or not s.is_known))

    @property
    def release(self) -> Version | None:
        """Return the release of Karpenter. None if it is not known.

        If values are in a copy of the chart, such as `karpenter-v0.33.1/`, the name of the folder counts.
        """
        from nodelint.model.evidence import NO_RELEASE, stated

        of_folder = re.search(_COPY, self.at.source.path) if not self.version else None
        if of_folder is not None:
            return Version(*map(int, of_folder.groups()))
        found = stated("karpenter", self.version or "", self.at.source.path, 1, self.by)
        return None if found is None or found.weight == NO_RELEASE else found.karpenter


def controller_containers(source: Source) -> Iterator[tuple[Node, Node]]:
    """Yield (Deployment, container) for each container of Karpenter's controller."""
    for document in source.documents:
        root = document.root
        if root is None or text(root.get("kind")) != "Deployment":
            continue
        for container in items_of(root.find("spec", "template", "spec", "containers")):
            image = text(container.get("image"))
            if isinstance(image, str) and re.search(r"karpenter/controller\b", image):
                yield root, container


def settings_of_values(values: Node) -> Iterator[WrittenSetting]:
    """Yield the settings in the values of Karpenter's chart."""
    for path, key, value in chart_leaves(values):
        if path.startswith(("settings.", "webhook.")):
            yield chart_leaf(path, key, value)
    controller = values.get("controller")
    if controller is not None:
        yield from container_settings(controller)


def hides_settings(values: Node) -> bool:
    """Return whether some settings in the values of Karpenter's chart are unknown."""
    pending = [values, *filter(None, (values.find("controller", "env"), values.find("controller", "args")))]
    for node in pending:
        if node.value is UNKNOWN or any(entry.name is None for entry in node.entries):
            return True
        if any(item.value is UNKNOWN for item in node.items):
            return True
        names = ("settings", "controller") if node is values else ("featureGates", "awsFeatureGates", "env", "args")
        below = [entry.value for entry in node.entries if entry.name in names]
        pending += [value for value in below if value.kind == "mapping" or value.value is UNKNOWN]
    return False


def chart_leaves(values: Node) -> Iterator[tuple[str, Node, Node]]:
    """Yield (path, key, value) for each scalar of nested mappings."""
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
    """Return a setting for a scalar of the chart's values."""
    return WrittenSetting("value", path, _setting_text(value), key, is_known=value.value is not UNKNOWN)


def container_settings(container: Node) -> Iterator[WrittenSetting]:
    """Yield the variables and flags of a container."""
    env, args = container.get("env"), container.get("args")
    for item in items_of(env):
        name = text(item.get("name"))
        value = item.get("value")
        if isinstance(name, str):
            known = value is not None and value.value is not UNKNOWN
            text_ = _setting_text(value) if value is not None else ""
            yield WrittenSetting("variable", name, text_, item, is_known=known)
    for item in items_of(args):
        written = text(item)
        flag = re.fullmatch(r"--?([a-z][a-z0-9-]*)(?:=(.*))?", written) if isinstance(written, str) else None
        if flag is not None:
            yield WrittenSetting("flag", flag[1], flag[2] or "", item)


def _setting_text(value: Node) -> str:
    if value.value is UNKNOWN or value.value is None:
        return ""
    return str(value.value).lower() if isinstance(value.value, bool) else str(value.value)


def gates_of(setting: WrittenSetting) -> Iterator[WrittenSetting]:
    """Yield the feature gates that a setting turns on or off."""
    for gate, value in list_gates(*setting[:3]):
        yield setting._replace(kind="gate", name=gate, value=value)


def list_gates(kind: Kind, name: str, value: str) -> Iterator[tuple[str, str]]:
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
