"""Find values of Karpenter's chart in files that no installation names, or of a chart that depends on it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from nodelint.base.tuples import NamedTuple
from nodelint.forms.helm.values_files import beside
from nodelint.forms.lib.chart_places import CHART
from nodelint.forms.lib.controller_install import KARPENTER_CHART, ControllerFiles, place_of
from nodelint.forms.registry import TABLE
from nodelint.model.controller_settings import ControllerInstall, settings_of_values
from nodelint.text import Source
from nodelint.text.missing import items_of, text_of
from nodelint.text.reading import nodes_of

_TELLTALE = ("clusterName", "featureGates", "interruptionQueue", "clusterEndpoint")
"""Keys of `settings` that identify a values file of Karpenter's chart."""
_INSTALLS = (
    r"\b(?:Application|ApplicationSet|HelmRelease|helm_release)\b|\bhelm (?:upgrade|install)\b|(?m:^releases:)"
)


def find_plain_values(source: Source, files: ControllerFiles) -> Iterator[ControllerInstall]:
    """Yield the values of Karpenter's chart in a file that no installation names.

    It also yields values that a chart passes to Karpenter's chart as its dependency.
    """
    of_language = TABLE.stating_form(source.path) is not None
    if not (of_language or source.path.endswith((".yaml", ".yml"))):
        return
    if of_language:
        roots = [document.root for document in source.documents if document.root is not None]
    else:
        roots = [] if source.may_be_template else nodes_of(source)
    for root in roots:
        if root.kind != "mapping" or root.get("kind") is not None:
            continue
        dependency = _find_dependency(source, files)
        under = dependency.name if dependency is not None else KARPENTER_CHART
        for values in (root, root.get(under)):
            settings = values.get("settings") if values is not None and values.kind == "mapping" else None
            if values is None or settings is None or not any(settings.get(key) for key in _TELLTALE):
                continue
            version = dependency.version if dependency is not None and values is not root else None
            is_complete = version is not None and _is_alone(source, files)
            written = tuple(settings_of_values(values))
            yield ControllerInstall(
                place_of(settings), "the values of a chart", version, written, is_complete, values, (source,)
            )


def _is_alone(values: Source, files: ControllerFiles) -> bool:
    """Return whether a chart has only its own values: no other values file, and no installation that sets values."""
    folder, name = os.path.split(os.path.abspath(values.path))
    if name != "values.yaml" or beside(os.path.join(folder, name)):
        return False
    chart = os.path.basename(folder)
    return not any(
        chart in source.text and re.search(_INSTALLS, source.text)
        for source in files.sources
        if os.path.dirname(os.path.abspath(source.path)) != folder
    )


class _Dependency(NamedTuple):
    """A chart's dependency on Karpenter's chart.

    - `name`: the key of its values.
    - `version`: as it is written.
    """

    name: str
    version: str


def _find_dependency(values: Source, files: ControllerFiles) -> _Dependency | None:
    """Return the dependency on Karpenter's chart of the chart next to a values file. None if it has none."""
    tree = files.tree(values)
    chart = tree.read_file(os.path.join(os.path.dirname(os.path.abspath(values.path)), CHART)) if tree else None
    for root in nodes_of(chart) if chart is not None else ():
        for node in items_of(root.get("dependencies")):
            if text_of(node.get("name")) == KARPENTER_CHART:
                return _Dependency(text_of(node.get("alias")) or KARPENTER_CHART, text_of(node.get("version")))
    return None
