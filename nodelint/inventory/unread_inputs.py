"""Find inputs of charts, modules and overlays that cannot be read.

Rendering skips such a file, but the real tool stops at it.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence

from nodelint.base.budget import RUN
from nodelint.files import safe_read
from nodelint.files.folders import Discovery
from nodelint.files.gate import gate
from nodelint.forms.lib.chart_places import chart_of
from nodelint.forms.registry import TABLE, FormRow
from nodelint.forms.rendered import Built
from nodelint.inventory.syntax_check import find_fault
from nodelint.text import Source
from nodelint.text.reading import nodes_of

_LARGEST = 16 << 20


def list_inputs(sources: Sequence[Source], builds: Sequence[Built]) -> Iterator[str]:
    """Yield absolute paths of the chart and module files that hold objects or are inputs of rendered manifests."""
    for row in TABLE.rows:
        if not row.names and _is_of_concern(row, sources, builds, ()):
            yield from row.load().list_inputs(sources, builds, (), ())


def find_unread_inputs(
    found: Discovery, builds: Sequence[Built], folder_files: Sequence[str], named: Collection[str] = ()
) -> Iterator[tuple[str, str]]:
    """Yield the files that the user named but that cannot be read as inputs: `path:line`, and the reason.

    A file with an object is left out if a finding reports its syntax error. `named` are folders of overlays that are
    already reported as not rendered.
    """
    shown = {os.path.abspath(path): path for path in (*found.seen, *found.glanced)}
    # A skipped text may be valid for helm or Terraform: a template that is not YAML yet, or an object in another
    # form.
    aside = {s.path for s in found.sources if s.set_aside and not _is_tool_input(s)}
    broken = {os.path.abspath(source.path) for source in found.sources if source.problems or source.path in aside}
    rows = [row for row in TABLE.rows if _is_of_concern(row, found.sources, builds, folder_files)]
    inputs: list[str] = []
    for row in sorted(rows, key=lambda row: bool(row.names)):  # overlays come last
        form = row.load()
        inputs += filter(form.is_required, form.list_inputs(found.sources, builds, folder_files, shown))
    named_before = {os.path.abspath(path) for path in found.seen}
    folders = {os.path.dirname(path): os.path.dirname(name) for path, name in shown.items()}
    known: dict[str, object] = {}
    for path in dict.fromkeys(inputs):
        if RUN.is_over():
            return
        if path not in shown and os.path.islink(path) and not gate.exists(path) and os.path.dirname(path) in folders:
            shown[path] = os.path.join(folders[os.path.dirname(path)], os.path.basename(path))
        if path not in shown and TABLE.of_language(path) is not None and os.path.dirname(path) in folders:
            shown[path] = os.path.join(folders[os.path.dirname(path)], os.path.basename(path))  # one module
        if path not in shown or path in broken:
            continue
        try:
            source, fault = find_fault(path, gate.read(path, _LARGEST), known)
        except OSError as error:
            if path not in named_before:  # a file that may hold objects and cannot be opened was reported before
                yield shown[path], safe_read.error_reason(error)
            continue
        if fault is None and os.path.dirname(path) not in named:
            of_folder = next((row for row in TABLE.rows if os.path.basename(path) in row.names), None)
            fault = of_folder.load().find_missing_path(source) if of_folder is not None else None
        is_template = "{{" in source.text and "}}" in source.text and chart_of(path) is None
        has_language = TABLE.of_language(path) is not None
        if fault is not None and (has_language or not is_template):
            place = source.position(fault.offset)
            column = f":{place.column}" if has_language else ""
            yield f"{shown[path]}:{place.line}{column}", f"cannot be read: {fault.message}"
    for row in rows:
        yield from row.load().find_lost_inputs(found.sources)


def find_broken_installs(found: Discovery) -> Iterator[tuple[str, str]]:
    """Yield `path:line` and a reason for each file that may install a chart or change a folder, but is not YAML.

    Only files that were read are checked. A file with template code is skipped: its text is not the final YAML.
    """
    paths = {os.path.abspath(path) for path in (*found.installing, *found.applying)}
    named = {path.partition(":")[0] for path, _ in found.unreadable}
    for source in found.sources:
        if os.path.abspath(source.path) not in paths or source.path in named or source.masked:
            continue
        if any(source.concerns_karpenter(problem.offset) for problem in source.problems):
            continue  # a finding reports it
        if "{{" in source.text or nodes_of(source):
            continue
        _, fault = find_fault(source.path, source.text.encode())
        if fault is not None:
            place = source.position(fault.offset)
            yield f"{source.path}:{place.line}", f"cannot be read: {fault.message}"


def _is_of_concern(
    row: FormRow, sources: Sequence[Source], builds: Sequence[Built], folder_files: Sequence[str]
) -> bool:
    """Return whether files of a form may be inputs of the objects of a run."""
    if row.names:
        return bool(folder_files)
    if row.folders and any(source.may_be_template for source in sources):
        return True
    endings = (*row.endings, *row.inputs, *row.templates)
    if row.words and not endings:
        return any(word in source.text for source in sources for word in row.words)
    paths = (*(source.path for source in sources), *(part for built in builds for part in built.parts))
    return any((endings and path.endswith(endings)) or _is_within(path, row.folders) for path in paths)


def _is_within(path: str, folders: Sequence[str]) -> bool:
    return any(f"{os.sep}{folder}{os.sep}" in path for folder in folders)


def _is_tool_input(source: Source) -> bool:
    """Return whether a tool reads a file that may hold objects in a form that nodelint does not read here."""
    if source.may_be_template and chart_of(source.path) is not None:
        return True
    language = TABLE.of_language(source.path)
    return language is not None and source.path.endswith((*language.endings, *language.inputs))
