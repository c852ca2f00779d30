"""Places of objects and values in reports: always in the source files, also for rendered objects."""

from __future__ import annotations

from nodelint.base.printable import printable_path
from nodelint.model.finding import Span, shown_label, written_place
from nodelint.model.manifest import Object
from nodelint.text import Node


def place_line(at: Node | Span) -> str:
    """Return path and line of the source: `pools/spot.yaml:12`."""
    written = written_place(at)
    return f"{written.source.path}:{written.source.position(written.start).line}"


def place_column(span: Span) -> str:
    """Return path, line and column of the source, which terminals and editors open: `pools/spot.yaml:12:3`."""
    at = span.source.position(span.start)
    return f"{printable_path(span.source.path)}:{at.line}:{at.column}"


def object_place(obj: Object) -> str:
    """Return the place of an object in its source, and its values files: `templates/pool.yaml:3 with
    values-prod.yaml`.
    """
    label = shown_label(obj.source)
    return place_line(obj.name_node) + (f" with {label}" if label else "")
