"""Render the charts of a repository: which templates, with values from which files and releases."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence

from nodelint.base.types import TYPE_CHECKING
from nodelint.files.gate import gate
from nodelint.forms.helm.chart_values import RELEASES, find_releases, install_known_charts
from nodelint.forms.helm.charts import ChartFiles, values_of, values_place
from nodelint.forms.helm.fill import fill_template
from nodelint.forms.helm.other_kinds import makes_other_kinds
from nodelint.forms.helm.values_files import beside, list_keys, overrides
from nodelint.forms.helm.vendored_values import find_vendored_values, vendored_files
from nodelint.forms.lib.chart_places import CHART
from nodelint.forms.lib.chart_values import ChartRelease
from nodelint.forms.lib.text_map import Back, Uses, make_built
from nodelint.forms.lib.values import merged, own_roots, read, values_root
from nodelint.forms.rendered import Built, lead_through
from nodelint.text import Node, Source
from nodelint.text.limits import guarded
from nodelint.text.reading import nodes_of
from nodelint.text.source import YAML_NAMES

if TYPE_CHECKING:
    from nodelint.forms.helm.overlay_releases import OverlayRelease

_LARGEST = 1 << 20
"""Bytes of a file of values that does not name Karpenter."""

_Charts = dict[str, tuple[Source, list[Source]]]
"""The default values of charts by their absolute path, and the templates of each."""


def filled_charts(
    sources: Sequence[Source], overlays: Sequence[Built] = (), each_release: bool = False
) -> Iterator[Built]:
    """Yield the templates of charts among the sources: with default values, and with each other values file.

    Releases that are among the objects of `overlays` count as these have them. With `each_release` a chart is there
    once for each way in which it is installed, also with its defaults, and so is a template without values: its
    objects are those of one cluster.
    """
    charts = _charts(sources, each_release)
    files = ChartFiles({os.path.abspath(source.path): source for source in sources})
    uses: Uses = {}
    defaults = {path: values for path, (values, _) in charts.items()}
    named = _list_named_releases(defaults, sources)
    if named:
        yield from _fill_releases(charts, files, named, each_release)
        yield from _fill_vendored(sources, files)
        return
    holders = _list_holders(sources, overlays) if charts and overlays else None
    releases = [*find_releases(defaults, sources, holders), *install_known_charts(defaults, sources)]
    of_overlays = _find_overlay_releases(defaults, files, overlays)
    every: list[ChartRelease | OverlayRelease] = [*releases, *of_overlays]
    with_defaults = [release for release in every if not release.given]
    of_defaults = {release.path: release.unread for release in with_defaults}
    releases = [release for release in releases if release.given]
    installed = {release.path for release in every}
    if not each_release:
        installed -= of_defaults.keys()
    for path, (values, templates) in charts.items():
        for variants in _fill_all(templates, values, uses, files, None, each_release):
            made = make_built(variants, values, fixing=True)
            yield made._replace(
                values=next(iter(own_roots(values)), None),
                is_installed=path in installed,
                unread=of_defaults.get(path),
            )
    taken = {os.path.abspath(file.path) for release in releases for file in release.given}
    given = [
        ChartRelease(path, (source,), merged(next(iter(own_roots(defaults[path])), root), root))
        for path, source, root in overrides(defaults, sources)
        if os.path.abspath(source.path) not in taken  # what a release gives beside it counts too
    ]
    yield from _fill_releases(charts, files, (*given, *releases), each_release)
    for overlaid in of_overlays:
        values, templates = charts[overlaid.path]
        filled = _fill_all(templates, values, {}, files, overlaid.root, each_release) if overlaid.given else ()
        for variants in filled:
            made = make_built(variants, values, overlaid.given)
            made = made._replace(values=overlaid.root, unread=overlaid.unread, applied_by=overlaid.by)
            yield lead_through(made, overlaid.overlay)
    if each_release:
        yield from _fill_defaults(charts, files, with_defaults)
    yield from _fill_vendored(sources, files)


def _fill_releases(
    charts: _Charts, files: ChartFiles, releases: Sequence[ChartRelease], each_release: bool
) -> Iterator[Built]:
    """Yield the templates of charts with the values of each release."""
    for number, release in enumerate(releases):
        values, templates = charts[release.path]
        for variants in _fill_all(templates, values, {}, files, release.root, each_release):
            made = make_built(variants, values, release.given)
            yield made._replace(release=number, values=release.root, unread=release.unread, applied_by=release.by)


def _fill_defaults(
    charts: _Charts, files: ChartFiles, releases: Sequence[ChartRelease | OverlayRelease]
) -> Iterator[Built]:
    """Yield the templates of charts for each release that gives them no values."""
    for number, release in enumerate(releases):
        values, templates = charts[release.path]
        for variants in _fill_all(templates, values, {}, files, None, True):
            made = make_built(variants, values, fixing=True)
            yield made._replace(
                # Counted downwards: releases with values have the numbers from 0.
                release=-1 - number,
                values=release.root,
                unread=release.unread,
                applied_by=release.by,
            )


def _list_named_releases(defaults: Mapping[str, Source], sources: Sequence[Source]) -> list[ChartRelease]:
    """Return the release of each chart with the files of --values, merged in their order as helm does."""
    ordered = sorted((source for source in sources if source.values_order), key=lambda source: source.values_order)
    roots = [root for source in ordered if (root := values_root(source)) is not None]
    found = []
    for path, values in defaults.items() if ordered else ():
        whole = next(iter(own_roots(values)), None)
        for root in roots:
            whole = merged(whole, root) if whole is not None else root
        if whole is not None:
            found.append(ChartRelease(path, tuple(reversed(ordered)), whole))
    return found


def _fill_vendored(sources: Sequence[Source], files: ChartFiles) -> Iterator[Built]:
    """Yield the templates of charts within others, with the values that these give."""
    for template in (source for source in sources if source.may_be_template):
        for found in find_vendored_values(template, files.sources):
            variants = _fill(template, found.defaults, {}, files, found.root)
            if variants:
                made = make_built(variants, found.defaults, (found.own,) if found.own is not None else ())
                yield made._replace(values=found.root)


def _fill_all(
    templates: Sequence[Source], values: Source, uses: Uses, files: ChartFiles, root: Node | None, all_of_them: bool
) -> Iterator[tuple[Back, ...]]:
    """Yield what the templates of a chart come to that have some of the values; all of them if requested, and one
    has.
    """
    found = [_fill(template, values, uses, files, root) for template in templates]
    is_whole = all_of_them and any(found)
    for template, variants in zip(templates, found, strict=True):
        variants = variants or (_fill(template, values, uses, files, root, plain=True) if is_whole else ())
        if variants:
            yield variants


def _fill(
    template: Source, values: Source, uses: Uses, files: ChartFiles, root: Node | None = None, plain: bool = False
) -> tuple[Back, ...]:
    """Return a template with values; nothing if that fails, or where it makes objects of other kinds."""
    if makes_other_kinds(template):
        return ()
    return tuple(guarded(template.path, lambda: fill_template(template, values, uses, files, root, plain)))


def _list_holders(sources: Sequence[Source], overlays: Sequence[Built]) -> list[Source]:
    """Return the sources whose releases no overlay takes in."""
    from nodelint.forms.helm.overlay_releases import may_hold_releases

    taken = {part for overlay in overlays if may_hold_releases(overlay) for part in overlay.replaces}
    return [source for source in sources if os.path.abspath(source.path) not in taken]


def _find_overlay_releases(
    defaults: dict[str, Source], files: ChartFiles, overlays: Sequence[Built]
) -> list[OverlayRelease]:
    if not defaults or not overlays:
        return []
    from nodelint.forms.helm.overlay_releases import find_overlay_releases

    return list(find_overlay_releases(defaults, list(files.sources.values()), overlays))


def _charts(sources: Sequence[Source], with_plain: bool = False) -> _Charts:
    """Return the default values of charts, by their absolute path, and the templates of each among the sources.

    With `with_plain` files without code in the place of templates count.
    """
    by_path = {os.path.abspath(source.path): source for source in sources}
    found: _Charts = {}
    for source in sources:
        is_template = source.may_be_template or (with_plain and source.path.endswith(YAML_NAMES))
        path = values_place(source.path) if is_template else None
        whole = os.path.abspath(path) if path is not None else ""
        values = by_path.get(whole) or (read(path) if path is not None else None)
        if values is None and path is not None and not gate.exists(path):
            values = Source.from_text(path, "{}\n")  # a chart may leave all values to whom it is installed by
        if values is not None:
            by_path[whole] = values
            found.setdefault(whole, (values, []))[1].append(source)
    return found


def read_releases(sources: Sequence[Source], paths: Sequence[str], also: str | None) -> list[Source]:
    """Return the files that may install a chart with values and do not name Karpenter, for templates among the
    sources.

    Overlays that take them in are built with their objects. `also` is the pattern of what the run reads further.
    """
    if not paths or not any(values_place(source.path) for source in sources if source.may_be_template):
        return []
    have = {os.path.abspath(source.path) for source in sources}
    pattern = RELEASES if also is None else f"{also}|{RELEASES}"
    found = [read(path, pattern) for path in paths if os.path.abspath(path) not in have]
    return [source for source in found if source is not None and not source.may_be_template]


def values_beside(sources: Sequence[Source], seen: set[str]) -> list[Source]:
    """Return the values files of charts with a template among the sources; `seen` are the requested ones."""
    have = {os.path.abspath(source.path) for source in sources}
    found = []
    charts: set[str] = set()
    for source in sources:
        path = values_of(source.path) if source.may_be_template else None
        if path in charts:
            continue
        if path is not None:
            charts.add(path)
        vendored = vendored_files(source) if source.may_be_template and path is None else []
        for folder in (path, *beside(path)) if path is not None else vendored:
            if os.path.abspath(folder) not in have and folder in seen and (values := read(folder)):
                nodes_of(values)
                have.add(os.path.abspath(folder))
                found.append(values)
    return found


def read_values_in_order(sources: Sequence[Source], paths: Sequence[str]) -> list[Source]:
    """Return the files of --values that are no sources yet. Each file, also one of the sources, gets its number."""
    known = {os.path.abspath(source.path): source for source in sources}
    found = []
    for number, path in enumerate(paths, start=1):
        source = known.get(os.path.abspath(path))
        if source is None:
            source = read(path)
            if source is None:
                continue
            found.append(source)
        nodes_of(source)
        source.values_order = number
    return found


def values_elsewhere(sources: Sequence[Source], seen: set[str], named: Collection[str] = ()) -> list[Source]:
    """Return the values files in other folders of charts with a template among the sources, which do not name
    Karpenter.

    `seen` are all requested files. All keys of one that is taken are keys of one such chart's own values, and not of
    those of any other chart. Of `named`, the files that were asked for by their paths, one key is enough: `overrides`
    says what is wrong with the others.
    """
    charts = [keys for values, _ in _charts(sources).values() if (keys := list_keys(values.text))]
    if not charts:
        return []
    have = {os.path.abspath(source.path) for source in sources}
    ending = [path for path in sorted(seen) if path.endswith((".yaml", ".yml")) and os.path.abspath(path) not in have]
    texts = {path: text for path in ending if (text := _read_values(path))}
    others = [list_keys(text) for path, text in texts.items() if _is_of_chart(path) and path not in named]
    found = []
    for path, text in texts.items():
        keys = list_keys(text)
        fitting = [own for own in charts if keys <= own]
        if path in named and any(keys & own for own in charts):
            fitting = fitting[:1] or [keys]
        if not keys or len(fitting) != 1 or any(keys <= other for other in others):
            continue
        if _is_of_chart(path) and path not in named:
            continue
        shown = "/".join(os.path.abspath(path).split(os.sep)[-2:])
        if not any(shown in source.text for source in sources):  # whoever names it says what counts beside it
            values = Source.from_text(path.replace(os.sep, "/"), text)
            nodes_of(values)
            found.append(values)
    return found


def _read_values(path: str) -> str:
    """Return the text of a file if it may hold values of a chart: no Kubernetes object stands in it. Else return an
    empty text.
    """
    try:
        data = gate.read_listed(path, _LARGEST)
    except OSError:
        return ""
    return "" if b"apiVersion" in data else data.decode(errors="replace")


def _is_of_chart(path: str) -> bool:
    return gate.is_file(os.path.join(os.path.dirname(path), CHART))
