"""Find the values with which the charts of a repository are installed, by any form."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from nodelint.files.gate import gate
from nodelint.files.gitignore import is_ignored
from nodelint.files.safe_read import find_top
from nodelint.forms.lib.chart_values import (
    MOST_RELEASES,
    ChartRelease,
    RepositoryTree,
    files_in,
)
from nodelint.forms.lib.values import values_root
from nodelint.forms.registry import ARGOCD, FLUX, HELM, TABLE
from nodelint.forms.requests import InstallChart
from nodelint.model.finding import Span
from nodelint.model.gap import FilePlace, Gap
from nodelint.model.messages import did_you_mean, short
from nodelint.text import Node, Source
from nodelint.text.limits import note_broken, note_more
from nodelint.text.missing import text_of
from nodelint.text.reading import nodes_of
from nodelint.text.source import WHOLE_FILE

RELEASES = "|".join(re.escape(word) for word in (*ARGOCD.installs, *FLUX.installs, *HELM.installs))
"""Pattern of a file with an object that installs a chart."""


def find_releases(
    charts: Mapping[str, Source],
    sources: Sequence[Source],
    holders: Sequence[Source] | None = None,
    find_place: Callable[[Node | Span], Node | Span] = lambda at: at,
) -> Iterator[ChartRelease]:
    """Yield the values that Applications, HelmReleases and helmfiles pass to charts of the repository.

    `charts` are the default values of charts by absolute path. `holders` are the texts with the objects, if these are
    not the sources; `find_place` returns the place in a file of a part of such a text.
    """
    folders = {os.path.dirname(path): path for path in charts}
    counts = dict.fromkeys(charts, 0)
    beyond: dict[str, str] = {}
    by_path = {os.path.abspath(source.path): source for source in sources}
    named = [source for source in sources if holders is not None and os.path.basename(source.path) in TABLE.names]
    for source in sources if holders is None else dict.fromkeys((*holders, *named)):
        rows = [row for row in TABLE.rows if row.may_install(source.path, source.text)] if folders else ()
        if not rows or source.may_be_template:
            continue
        tree = RepositoryTree.around(source, by_path)
        for root in nodes_of(source) if tree is not None else ():
            assert tree is not None
            for made in (made for row in rows for made in row.load().install_charts(root, tree)):
                path = folders.get(made.folder)
                unread = made.unread or next(iter(tree.gaps), None)
                broken = [gap.source for gap in tree.gaps if is_broken(gap)]
                tree.gaps.clear()
                place = find_place(unread) if unread is not None else None
                release = _make_release(path, charts[path], made, place) if path is not None else None
                if path is None or release is None:
                    continue
                note_broken(broken)
                counts[path] += 1
                if counts[path] > MOST_RELEASES:
                    beyond.setdefault(path, source.path)
                    continue
                yield release
    for chart, first in beyond.items():
        note_more(first, counts[chart], MOST_RELEASES, "releases of one chart")


def install_known_charts(charts: Mapping[str, Source], sources: Sequence[Source]) -> Iterator[ChartRelease]:
    """Yield the values that Terraform and commands pass to charts.

    `charts` are the charts' default values by path.
    """
    paths = {os.path.dirname(path): path for path in charts}
    for row in TABLE.rows if charts else ():
        # An installation may name the chart alone: a form with a language of its own searches the files next to it.
        for made in row.load().install_known_charts(charts, sources) if row.endings or row.commands else ():
            path = paths[made.folder]
            release = _make_release(path, charts[path], made, made.unread)
            if release is not None:
                yield release


def _make_release(path: str, defaults: Source, made: InstallChart, unread: Node | Span | None) -> ChartRelease | None:
    """Return a release with all its values. None if the chart's default values cannot be read."""
    whole = values_root(defaults)
    if whole is None:
        return None
    for layer in made.layers:
        whole = layer.apply(whole)
    given = files_in(made.layers, whole, defaults) if made.layers else ()
    if unread is None:
        return ChartRelease(path, given, whole, by=made.by)
    if is_broken(unread):
        note_broken([unread.source])
    # A release whose values cannot be read is still a release, and not one with the defaults.
    return ChartRelease(path, given or (unread.source,), whole, _explain_unread(unread, made.folder), made.by)


def is_broken(at: Node | Span) -> bool:
    """Return whether a gap is the syntax error of a values file (see `RepositoryTree.gaps`)."""
    return at.source.also == WHOLE_FILE and bool(at.source.problems)


def _explain_missing(at: Node | Span, chart: str) -> str | None:
    """Return the reason that the repository lacks a values file which a release names. None if it is there."""
    name = at.value if isinstance(at, Node) else at.source.text[at.start : at.end].strip("\"'")
    if not isinstance(name, str) or not re.fullmatch(r"[\w./-]+\.ya?ml", name):
        return None
    home = os.path.dirname(os.path.abspath(at.source.path))
    folders = [folder for folder in (chart, home, find_top(home)) if folder is not None]
    paths = [os.path.normpath(os.path.join(folder, name.lstrip("/"))) for folder in folders]
    there = next((path for path in paths if gate.exists(path)), None)
    if there is not None:
        return (
            f"git ignores the values file `{name}`: the release is judged without it" if is_ignored(there) else None
        )
    near = did_you_mean(os.path.basename(name), gate.names(os.path.dirname(os.path.join(chart, name))))
    return f"the values file `{name}` is not in the repository{near}: the release is judged without it"


def _explain_unread(at: Node | Span, chart: str) -> Gap:
    """Return a gap for values of a release that cannot be read: of an object, a file, or flags."""
    source = at.source
    if is_broken(at):
        reason = f"the values file is not YAML ({source.problems[0].message}): the release is judged without it"
        return Gap(FilePlace(source.path, source.position(at.start).line), "values", reason)
    missing = _explain_missing(at, chart)
    if missing is not None:
        return Gap(FilePlace(source.path, source.position(at.start).line), "values", missing)
    kind, name = (text_of(at.get(key)) if isinstance(at, Node) else "" for key in ("kind", "name"))
    what = f"the {kind} `{name}`" if kind and name else f"`{short(source.text[at.start : at.end], 80)}`"
    reason = f"the values in {what} are not known: what they change is not judged"
    return Gap(FilePlace(source.path, source.position(at.start).line), "values", reason)
