"""Find the files that one side of a change cannot read, before the sides are compared."""

from __future__ import annotations

import os
import re
from functools import cached_property

from nodelint.base.types import TYPE_CHECKING
from nodelint.files.gate import gate
from nodelint.files.safe_read import error_reason
from nodelint.forms.registry import TABLE
from nodelint.model.finding import Span
from nodelint.model.gap import FilePlace, Gap
from nodelint.plan.read_side import is_lost
from nodelint.plan.refused_appliers import find_refused, match_refused
from nodelint.plan.refused_releases import match_refused_releases
from nodelint.plan.stopped_roots import find_stopped_roots
from nodelint.plan.unread import UnreadFiles, unread_file
from nodelint.text import Source
from nodelint.text.source import YAML_NAMES
from nodelint.text.syntax_errors import SyntaxProblem

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nodelint.forms.rendered import Built
    from nodelint.plan.read_side import Read
    from nodelint.text import SourceText
    from nodelint.text.syntax_errors import SyntaxProblem

_LARGEST = 16 << 20


def find_unread_files(was: Read, new: Read) -> UnreadFiles:
    """Return the differing files that a side cannot read, with the objects rendered from them."""
    sides = [_Side(0, was), _Side(1, new)]
    unread: dict[tuple[int, str], Gap] = {}
    inputs = sorted({path for side in sides for path in side.list_inputs()})
    for side, other in (sides, sides[::-1]):
        for path in (*side.list_broken(), *inputs):
            # A template that is the same on both sides may include another one that only one side has.
            differs = side.content(path) != other.content(path) or path in side.unreadable - other.unreadable
            if (side.number, path) not in unread and differs:
                found = side.find_fault(path, other)
                if found is not None:
                    unread[side.number, path] = found
    for side, other in (sides, sides[::-1]):
        for found in side.list_unbuilt(other):
            unread.setdefault((side.number, found.subject), found)
    refused = find_refused((was, new))
    stopped = find_stopped_roots((was, new))
    files = [*unread.values()]
    of_builds = {id(built): cause for built, cause in match_refused_releases((was, new))}
    if not files and not refused and not stopped.folders:
        return UnreadFiles(of_builds=of_builds)
    of_builds |= {id(built): cause for side in sides for built, cause in side.match_builds(files)}
    of_builds |= {id(built): cause for built, cause in match_refused(refused, (was, new))}
    halted = [(obj, gap) for objects in stopped.objects for obj, gap in objects]
    of_builds |= {id(obj.source.built): gap for obj, gap in halted if obj.source.built is not None}
    of_paths = [dict(mine.match_paths(files, other, of_builds)) for mine, other in (sides, sides[::-1])]
    for side, objects, paths in zip(sides, stopped.objects, of_paths, strict=True):
        paths |= {side.below(obj.source.path): gap for obj, gap in objects if obj.source.built is None}
    of_sides = [
        [
            *(gap for (side, _), gap in unread.items() if side == number),
            *(applier.gap for applier in refused if applier.side == number),
            *stopped.of_sides[number],
        ]
        for number in (0, 1)
    ]
    return UnreadFiles(of_sides, of_builds, of_paths, [is_lost(read) for read in (was, new)], stopped.folders)


class _Side:
    """A side whose files are named by their paths below its root."""

    def __init__(self, number: int, read: Read) -> None:
        self.number = number
        self._read = read
        self._root = os.path.realpath(read.root)
        self._beginnings = [os.path.join(root, "") for root in (self._root, os.path.abspath(read.root))]
        closed = ((path, reason) for path, reason in read.found.unreadable if gate.is_folder(path))
        self._closed_folders = {self.below(path): reason for path, reason in closed}
        self._contents: dict[str, bytes | str | None] = dict(self._closed_folders)
        self.builds = read.inventory.built
        sources = (*read.found.sources, *read.beside, *read.inventory.files)
        self._read_sources = [*{source.path: source for source in sources}.values()]

    @cached_property
    def _sources(self) -> dict[str, Source]:
        """Return the sources that were read, by their paths below the root."""
        return {self.below(source.path): source for source in self._read_sources}

    @cached_property
    def unreadable(self) -> set[str]:
        """Return the paths that the run could not read, below the root."""
        return {self.below(re.sub(r"(?::\d+){1,2}$", "", path)) for path, _ in self._read.found.unreadable}

    def below(self, path: str) -> str:
        """Return `path` relative to the root folder of this side."""
        absolute = os.path.abspath(path)
        for beginning in self._beginnings:
            if absolute.startswith(beginning):
                return absolute[len(beginning) :]
            if f"{absolute}{os.sep}" == beginning:
                return os.curdir
        return os.path.relpath(absolute, self._root)

    def _whole(self, path: str) -> str:
        return os.path.join(self._root, path)

    def content(self, path: str) -> bytes | str | None:
        """Return the bytes of a file, or as text the reason why it or a folder cannot be read. None if it does not
        exist.
        """
        if path not in self._contents:
            whole = self._whole(path)
            found: bytes | str | None
            try:
                found = gate.read(whole, _LARGEST)
            except OSError as error:
                found = None
                if os.path.islink(whole):
                    found = f"a link to `{os.readlink(whole)}`, which is not followed or not there"
                elif os.path.lexists(whole):
                    found = error_reason(error)
            self._contents[path] = found
        return self._contents[path]

    # -- what cannot be read

    def list_broken(self) -> Iterator[str]:
        """Yield the files with a problem that reading has found."""
        broken = [source for source in self._read_sources if source.problems or source.set_aside]
        yield from dict.fromkeys(self.below(source.path) for source in broken)
        yield from sorted(self.unreadable)

    def list_inputs(self) -> Iterator[str]:
        """Yield the input files of rendered manifests, and files of charts and modules that may be inputs."""
        for built in self.builds:
            yield from map(self.below, built.parts)
        if self.builds or any(s.may_be_template or not s.path.endswith(YAML_NAMES) for s in self._read_sources):
            from nodelint.inventory.unread_inputs import list_inputs

            yield from map(self.below, list_inputs(self._read_sources, self.builds))

    def find_fault(self, path: str, other: _Side) -> Gap | None:
        """Return a gap with the reason why a file cannot be read.

        None if it can, or if both sides cannot read it because of template code.
        """
        data = self.content(path)
        if data is None:
            return None
        if isinstance(data, str):
            return self._unread(path, Source(path, ""), 0, data, path in self._closed_folders)
        from nodelint.inventory.syntax_check import find_fault

        source, fault = find_fault(self._whole(path), data)
        if fault is not None and "{{" in source.text and other._is_template(path):
            fault = None
        row = next((row for row in TABLE.rows if os.path.basename(path) in row.names), None)
        if fault is None and row is not None:
            fault = row.load().find_missing_path(source)
        if fault is not None:
            return self._unread(path, source, fault.offset, fault.message)
        gaps = self._list_gaps(path)
        if len(gaps) <= len(other._list_gaps(path)):
            return None
        return self._unread(path, source, gaps[0].offset, gaps[0].message)

    def _is_template(self, path: str) -> bool:
        """Return whether a file contains template code and cannot be read without rendering."""
        data = self.content(path)
        if not isinstance(data, bytes) or b"{{" not in data:
            return False
        from nodelint.inventory.syntax_check import find_fault

        return find_fault(self._whole(path), data)[1] is not None

    def _list_gaps(self, path: str) -> Sequence[SyntaxProblem]:
        """Return the problems and skipped regions of a file. Empty if a rendered manifest replaces the file."""
        source = self._sources.get(path)
        return (*source.problems, *source.set_aside) if source is not None and not self._is_filled(path) else ()

    def _is_filled(self, path: str) -> bool:
        """Return whether a rendered manifest replaces a template file."""
        whole = {os.path.abspath(os.path.join(root, path)) for root in (self._root, self._read.root)}
        return any(whole & set(built.replaces) for built in self.builds)

    def _unread(self, path: str, source: SourceText, offset: int, reason: str, is_folder: bool = False) -> Gap:
        shown = Source(self._display_path(path), source.text)
        return unread_file(self.number, path, Span(shown, offset, offset), reason, is_folder)

    def _display_path(self, path: str) -> str:
        """Return a path for reports: for a revision, that of the working tree."""
        root = self._read.above or self._read.root
        return os.path.relpath(os.path.join(root, path)).replace(os.sep, "/")

    def list_unbuilt(self, other: _Side) -> Iterator[Gap]:
        """Yield the overlays and charts that this side does not render, if the other side renders them or has another
        version.
        """
        for overlay in self._read.inventory.unbuilt:
            folder = self.below(overlay.subject)
            path = self.below(overlay.path)
            theirs = [o for o in other._read.inventory.unbuilt if other.below(o.subject) == folder]
            if theirs and self.content(path) == other.content(path):
                continue
            at = Span(Source(path, ""), 0, 0) if isinstance(overlay.place, FilePlace) else overlay.at
            line = at.source.position(at.start).offset
            shown = Span(Source(self._display_path(path), at.source.text), line, line)
            yield self._unread(folder, at.source, line, overlay.reason)._replace(place=shown)

    # -- what is made of it

    def match_builds(self, files: Sequence[Gap]) -> Iterator[tuple[Built, Gap]]:
        """Yield the rendered manifests with an input that a side cannot read, each with its gap."""
        for built in self.builds:
            parts = {self.below(part) for part in (*built.parts, built.cluster)}
            # A controller's manifest is named after the object: its overlay is the folder of a kustomization.
            parts |= {os.path.dirname(part) for part in parts if os.path.basename(part) in TABLE.names}
            cause = self._match(parts, built.cluster, files)
            if cause is not None:
                yield built, cause

    def match_paths(self, files: Sequence[Gap], other: _Side, of_builds: dict[int, Gap]) -> Iterator[tuple[str, Gap]]:
        """Yield the files whose own objects are not applied, because they are parts of a chart, module or overlay
        with an unread input.
        """
        from nodelint.forms.lib.chart_places import chart_of

        for path in self._sources:
            taking = [built for built in other.builds if path in {other.below(part) for part in built.replaces}]
            causes = [of_builds.get(id(built)) for built in taking]
            cause = next(iter(causes), None) if all(causes) else None
            is_built = path.endswith(TABLE.module_files) or chart_of(self._whole(path)) is not None
            if cause is None and is_built:
                cause = self._match({path}, "", files)
            if cause is not None:
                yield path, cause

    def _match(self, parts: set[str], cluster: str, files: Sequence[Gap]) -> Gap | None:
        """Return the first of the gaps that is among some files, or in their module or chart. None if there is
        none.
        """
        from nodelint.forms.lib.chart_places import chart_of

        modules = {os.path.dirname(part) for part in parts if part.endswith(TABLE.module_files)}
        modules |= {_without_dot(self.below(cluster))} if cluster else set()
        charts = {chart for part in parts if (chart := chart_of(os.path.join(self._root, part))) is not None}
        folders = {os.path.join(_without_dot(self.below(chart)), "") for chart in charts}
        for gap in files:
            in_module = gap.subject.endswith(TABLE.module_files) and os.path.dirname(gap.subject) in modules
            if gap.subject in parts or in_module or any(_is_in_chart(gap.subject, folder) for folder in folders):
                return gap
        return None


def _is_in_chart(path: str, folder: str) -> bool:
    """Return whether a file belongs to a chart in every installation. A further values file belongs to some
    installations only.
    """
    from nodelint.forms.lib.chart_places import CHART

    below = path.removeprefix(folder)
    always = below in (CHART, "values.yaml") or below.startswith(
        (os.path.join("templates", ""), os.path.join("charts", ""))
    )
    return path.startswith(folder) and always


def _without_dot(path: str) -> str:
    """Return the path of a folder in the form of `os.path.dirname`: empty for the root itself."""
    return "" if path == os.curdir else path
