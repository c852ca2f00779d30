"""An installation of the controller, made of the values that its chart is given."""

from __future__ import annotations

from collections.abc import Sequence

from nodelint.forms.helm.chart_values import ValuesLayer
from nodelint.model.finding import Span
from nodelint.releases.settings import ControllerInstall, settings_of_values
from nodelint.text import Node


def make_install(
    at: Node, by: str, version: str, layers: Sequence[ValuesLayer], is_complete: bool
) -> ControllerInstall:
    """Return an installation with the values that layers make, the weakest first."""
    values = Node(at.source, at.start, at.end, "mapping", "flow")
    for layer in layers:
        values = layer.apply(values)
    files = tuple({id(layer.given): layer.given for layer in layers}.values())
    settings = tuple(settings_of_values(values, None))
    return ControllerInstall(place_of(at), by, version or None, settings, is_complete, values, files)


def place_of(node: Node) -> Span:
    """Where an installation is pointed to: the kind of an object, the name of a chart, else all of it."""
    named = node.get("kind") or node.get("chart") or node.get("name") or node
    return Span(named.source, named.start, named.end)
