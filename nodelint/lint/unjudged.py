"""List the parts of a run that no rule judged."""

from __future__ import annotations

from nodelint.base.types import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nodelint.lint.engine import Report


def list_unjudged(report: Report) -> Iterator[tuple[str, int, str, str]]:
    """Yield path, line, label and reason for each part that is not a judged object."""
    object_ids = {id(obj) for obj in report.objects}
    for skip in report.skipped:
        if skip.rule is None and (skip.object is None or id(skip.object) not in object_ids) and skip.path:
            node = skip.object.node if skip.object is not None else None
            line = node.source.position(node.start).line if node is not None else max(skip.line, 1)
            yield skip.path, line, skip.object.label if skip.object is not None else "", skip.reason
