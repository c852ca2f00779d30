"""Render open texts together with the files around them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from nodelint.files.gate import gate
from nodelint.files.safe_read import is_below, repository
from nodelint.forms.lib.chart_places import CHART
from nodelint.forms.lib.values import find_values_error
from nodelint.forms.registry import TABLE
from nodelint.forms.rendered import Built
from nodelint.inventory import Inventory, build
from nodelint.model.documents import objects
from nodelint.model.finding import Span
from nodelint.model.gap import Gap
from nodelint.text import Source
from nodelint.text.source import WHOLE_FILE

_MOST_OVERLAYS = 60
"""The most kustomize overlays that are rendered at each key press. If there are more, only the command
renders them.
"""


def build_with_project(
    opened: Sequence[Source], sources: Sequence[Source], folder_files: Sequence[str] = ()
) -> Inventory:
    """Return the inventory of the manifests that the open texts contribute to.

    Other templates of their charts and modules are from `sources`.

    `folder_files` are the kustomization files of the repository. If there are too many, overlays are not rendered.
    """
    folders = {folder for source in opened for folder in _folders(source)}
    near = [source for source in sources if any(is_below(os.path.abspath(source.path), folder) for folder in folders)]
    manifests = any(source.path.endswith((".yaml", ".yml", ".json")) for source in opened)
    overlays = folder_files if manifests and len(folder_files) <= _MOST_OVERLAYS else ()
    inventory = build([*opened, *near], overlays)
    paths = {os.path.abspath(source.path) for source in opened}
    mine = {id(source) for source in opened}
    built = (built for built in inventory.built if paths.intersection(built.parts) or _holds_value_of(built, mine))
    return inventory._replace(built=tuple(built))


def list_broken_values(opened: Sequence[Source], sources: Sequence[Source]) -> list[Gap]:
    """Return a gap for each open text with values that is not YAML: the chart, or the object that names the file, is
    then judged without it.

    `sources` are the files around them. A text counts if it is in the folder of a chart with templates about
    Karpenter, or if one of the files names it.
    """
    found = []
    for source in opened:
        if not source.path.endswith((".yaml", ".yml")) or source.problems or not _may_be_used(source, sources):
            continue
        problem = find_values_error(Source.from_text(source.path, source.text, WHOLE_FILE))
        if problem is not None:
            at = Span(source, problem.offset, problem.offset)
            found.append(Gap(at, "file", f"{problem.message}: the values of this file are not known", fails=True))
    return found


def _may_be_used(source: Source, others: Sequence[Source]) -> bool:
    """Return whether one of the other files is a template of the chart around a text, or names the text."""
    folders = [folder for folder in _folders(source) if gate.is_file(os.path.join(folder, CHART))]
    name = os.path.basename(source.path)
    return not source.may_be_template and any(
        name in other.text or any(is_below(os.path.abspath(other.path), folder) for folder in folders)
        for other in others
    )


def _holds_value_of(built: Built, sources: set[int]) -> bool:
    """Return whether a value of the rendered manifest is written in one of the sources (ids), such as a file of
    variables.
    """
    roots = (document.root for document in built.source.documents if document.root is not None)
    origins = (built.find_origin(node) for root in roots for node in root.walk())
    return any(origin is not None and id(origin.at.source) in sources for origin in origins)


def _folders(source: Source) -> Iterator[str]:
    """Yield the folders whose files may be rendered together with a text."""
    path = os.path.abspath(source.path)
    if not os.path.isabs(source.path):
        return  # a text without a name
    folder = os.path.dirname(path)
    top = repository(folder)
    rows = TABLE.of_languages([path])
    for row in rows:
        yield from row.load().list_related_folders(path, source.text, top)
    if rows:
        return
    if path.endswith((*TABLE.templates, ".tpl")):
        yield os.path.dirname(folder)
    around = folder
    while around != os.path.dirname(around):
        if gate.is_file(os.path.join(around, CHART)):
            yield around
            return
        if around == top:
            break
        around = os.path.dirname(around)
    if top is not None and path.endswith((".yaml", ".yml")) and not any(objects(source)):
        yield top  # values for a chart elsewhere in the repository
