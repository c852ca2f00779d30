"""Find the values that HelmReleases and Applications pass to charts after overlays have changed these objects."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from nodelint.base.tuples import NamedTuple
from nodelint.forms.helm.chart_values import RELEASES, find_releases
from nodelint.forms.rendered import Built, find_file_place
from nodelint.model.finding import span_of
from nodelint.model.gap import Gap
from nodelint.text import Node, Source, SourceText


class OverlayRelease(NamedTuple):
    """The values of a chart's release as rendered by an overlay.

    - `path`: the path of the chart's default values.
    - `given`: the files with values of the release.
    - `root`: all values, merged.
    - `overlay`: the rendered overlay.
    - `unread`: a gap for values that cannot be read.
    - `by`: as in `InstallChart`.
    """

    path: str
    given: tuple[SourceText, ...]
    root: Node
    overlay: Built
    unread: Gap | None = None
    by: tuple[str, str] = ("", "")


def may_hold_releases(overlay: Built) -> bool:
    """Return whether a rendered overlay may contain a release."""
    return re.search(RELEASES, overlay.source.text) is not None


def find_overlay_releases(
    charts: Mapping[str, Source], sources: Sequence[Source], overlays: Sequence[Built]
) -> Iterator[OverlayRelease]:
    """Yield the releases in rendered overlays, with the files in which their values are written."""
    for overlay in filter(may_hold_releases, overlays):
        find_place = partial(find_file_place, overlay=overlay)
        for path, given, root, unread, by in find_releases(charts, sources, [overlay.source], find_place):
            files: dict[int, SourceText] = {}
            for source in given:
                texts = [source] if source is not overlay.source else _list_files(overlay, root)
                files.update((id(text), text) for text in texts)
            yield OverlayRelease(path, tuple(files.values()), root, overlay, unread, (overlay.cluster, by[1]))


def _list_files(overlay: Built, root: Node) -> list[SourceText]:
    found: dict[int, SourceText] = {}
    for node in root.walk():
        origin = overlay.find_origin(node) if node.source is overlay.source and node.kind == "scalar" else None
        if origin is not None:
            source = span_of(origin.at).source
            found[id(source)] = source
    return list(found.values())
