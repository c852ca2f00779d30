"""Decide which chart templates to render, with values from which files and releases."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial

from nodelint.base.types import TYPE_CHECKING
from nodelint.files.gate import gate
from nodelint.forms.helm.chart_values import RELEASES, find_releases, install_known_charts
from nodelint.forms.helm.charts import ChartFiles, values_of, values_place, vendored_place
from nodelint.forms.helm.fill import fill_template
from nodelint.forms.helm.other_kinds import makes_other_kinds
from nodelint.forms.helm.subchart_releases import Subcharts, list_values_files
from nodelint.forms.helm.values_files import beside, list_keys, note_near_values, overrides
from nodelint.forms.lib.chart_dependencies import ChartDependencies, find_depending_charts
from nodelint.forms.lib.chart_places import CHART, chart_of, find_outer_chart, find_templates_folder
from nodelint.forms.lib.chart_values import ChartRelease
from nodelint.forms.lib.text_map import Back, Uses, leave_out, make_built
from nodelint.forms.lib.values import merged, own_roots, read, values_root
from nodelint.forms.rendered import Built, lead_through
from nodelint.text import Node, Source
from nodelint.text.limits import guarded
from nodelint.text.reading import nodes_of
from nodelint.text.source import YAML_NAMES

if TYPE_CHECKING:
    from nodelint.forms.helm.overlay_releases import OverlayRelease
    from nodelint.forms.lib.gotemplate.evaluate import Holes

_LARGEST = 1 << 20
"""The most bytes of a values file that does not name Karpenter."""

_Charts = dict[str, tuple[Source, list[Source]]]
"""For each chart, by the absolute path of its default values: the default values and its templates."""


def filled_charts(
    sources: Sequence[Source], overlays: Sequence[Built] = (), each_release: bool = False
) -> Iterator[Built]:
    """Yield the rendered chart templates: with default values, and with each other values file or release.

    Releases among the objects of `overlays` are used as the overlays render them. With `each_release`, a chart is
    rendered for each of its installations, also with the default values, and so is a template without values: each
    environment is complete.
    """
    charts, within = _find_charts(sources, each_release)
    files = ChartFiles({os.path.abspath(source.path): source for source in sources})
    uses: Uses = {}
    every_chart = {**charts, **within}
    subcharts = Subcharts({path: values for path, (values, _) in every_chart.items()}, files.sources)
    defaults = {path: values for path, values in subcharts.defaults.items() if path not in within}
    files.switched = set(filter(subcharts.is_switched, every_chart)) if each_release else ()
    named = _list_named_releases(defaults, sources)
    if named:
        subcharts.add_releases(named, defaults.keys(), {})
        yield from _fill_releases(charts, files, named, each_release)
        yield from _fill_subcharts(every_chart, files, subcharts, each_release)
        return
    holders = _list_holders(sources, overlays) if defaults and overlays else None
    also_within = {**defaults, **{path: values for path, (values, _) in within.items()}}
    releases = [*find_releases(also_within, sources, holders), *install_known_charts(defaults, sources)]
    of_overlays = _find_overlay_releases(defaults, files, overlays)
    every: list[ChartRelease | OverlayRelease] = [*releases, *of_overlays]
    with_defaults = [release for release in every if not release.given]
    users = {release.path: release.by for release in with_defaults if _is_complete(release)}
    of_defaults = {release.path: release.unread for release in with_defaults}
    releases = [release for release in releases if release.given]
    appliers = {} if each_release else _group_appliers(with_defaults)
    installed = {release.path for release in every}.difference(() if each_release else of_defaults)
    with_defaults = with_defaults if each_release else []
    given = [*_list_file_releases(defaults, sources, releases, each_release), *releases]
    overlaid = [release for release in of_overlays if release.given]
    subcharts.add_releases([*given, *overlaid, *with_defaults], installed, users)
    for path in charts:
        is_installed = subcharts.gives_values(path, each_release) or path in installed
        user = users[path][1] if path in users else ""
        for made in _fill_own(charts[path], files, uses, each_release, appliers.get(path, ())):
            yield made._replace(is_installed=is_installed, unread=of_defaults.get(path), user=user)
    yield from _fill_releases(every_chart, files, given, each_release)
    yield from _fill_overlaid(charts, files, overlaid, each_release)
    yield from _fill_defaults(every_chart, files, with_defaults)
    yield from _fill_subcharts(every_chart, files, subcharts, each_release)


def _group_appliers(releases: Iterable[ChartRelease | OverlayRelease]) -> dict[str, list[tuple[str, str]]]:
    """Return what installs each chart with its default values, by the path of these."""
    appliers: dict[str, list[tuple[str, str]]] = {}
    for release in releases:
        appliers.setdefault(release.path, []).append(release.by)
    return appliers


def _fill_own(
    chart: tuple[Source, list[Source]],
    files: ChartFiles,
    uses: Uses,
    each_release: bool,
    appliers: Sequence[tuple[str, str]],
) -> Iterator[Built]:
    """Yield the templates of a chart rendered with its default values. `appliers` install it with these."""
    values, templates = chart
    own = next(iter(own_roots(values)), None)
    first, *others = appliers or [("", "")]
    for variants in _fill_all(templates, values, uses, files, own if appliers else None, each_release):
        made = make_built(variants, values, fixing=True)
        yield made._replace(applied_by=first, also_applied_by=tuple(others), values=own)


def _list_file_releases(
    defaults: Mapping[str, Source],
    sources: Sequence[Source],
    releases: Sequence[ChartRelease],
    each_release: bool,
) -> Iterator[ChartRelease]:
    """Yield a release of a chart for each further values file that none of the known releases passes.

    A file that holds no value yet is an environment like the others, and of `each_release` alone another result.
    """
    taken = {os.path.abspath(file.path) for release in releases for file in release.given}
    for path, source, root in overrides(defaults, sources, each_release):
        if os.path.abspath(source.path) not in taken:  # the values that a release passes in addition also count
            yield ChartRelease(path, (source,), merged(next(iter(own_roots(defaults[path])), root), root))


def _fill_releases(
    charts: _Charts, files: ChartFiles, releases: Sequence[ChartRelease], each_release: bool
) -> Iterator[Built]:
    """Yield the templates of charts rendered with the values of each release."""
    for number, release in enumerate(release for release in releases if release.path in charts):
        values, templates = charts[release.path]
        is_complete = _is_complete(release)
        filled = list(_fill_all(templates, values, {}, files, release.root, each_release, is_complete))
        if not filled and (release.unread is not None or release.by[1]):
            # What is not known must not take the release away: the only value of a template may be a placeholder.
            root = release.root if release.unread is None else None
            filled = list(_fill_all(templates, values, {}, files, root, True))
        for variants in filled:
            made = make_built(variants, values, release.given)
            yield made._replace(release=number, values=release.root, unread=release.unread, applied_by=release.by)


def _fill_defaults(
    charts: _Charts, files: ChartFiles, releases: Sequence[ChartRelease | OverlayRelease]
) -> Iterator[Built]:
    """Yield the templates of charts for each release that gives them no values."""
    for number, release in enumerate(release for release in releases if release.path in charts):
        values, templates = charts[release.path]
        for variants in _fill_all(templates, values, {}, files, None, True, _is_complete(release)):
            made = make_built(variants, values, fixing=True)
            # Counted downwards: releases with values have the numbers from 0.
            yield made._replace(
                release=-1 - number, values=release.root, unread=release.unread, applied_by=release.by
            )


def _fill_overlaid(
    charts: _Charts, files: ChartFiles, releases: Sequence[OverlayRelease], each_release: bool
) -> Iterator[Built]:
    """Yield the templates of charts rendered with the values of each release that an overlay creates."""
    for release in (release for release in releases if release.path in charts):
        values, templates = charts[release.path]
        is_complete = _is_complete(release)
        for variants in _fill_all(templates, values, {}, files, release.root, each_release, is_complete):
            made = make_built(variants, values, release.given)
            made = made._replace(values=release.root, unread=release.unread, applied_by=release.by)
            yield lead_through(made, release.overlay)


def _list_named_releases(defaults: Mapping[str, Source], sources: Sequence[Source]) -> list[ChartRelease]:
    """Return a release of each chart with the files of `--values`, merged in order as in helm."""
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


def _fill_subcharts(charts: _Charts, files: ChartFiles, subcharts: Subcharts, each_release: bool) -> Iterator[Built]:
    """Yield the templates of subcharts, rendered with the values from their outer charts.

    For a release that disables the subchart, the rendering is empty.
    """
    for path, (values, templates) in charts.items():
        is_vendored = values_place(templates[0].path) is None
        for number, found in enumerate(subcharts.list_releases(path)):
            if found.has_own and found.is_default and not each_release:
                continue  # the same as with the default values of the chart
            given = () if is_vendored and found.is_default else found.release.given
            if found.is_off and each_release:
                made = [leave_out(template, values, given) for template in templates]
            else:
                filled = _fill_all(templates, values, {}, files, found.release.root, each_release)
                made = [make_built(variants, values, given) for variants in filled]
            overlay = getattr(found.release, "overlay", None)
            for built in made:
                by = found.release.by
                whole = built._replace(
                    release=number if not found.is_default else None,
                    applied_by=by if not found.is_default else ("", ""),
                    user=by[1] if found.is_default else "",
                    is_installed=found.is_replaced,
                    unread=found.release.unread,
                    values=found.release.root,
                )
                yield lead_through(whole, overlay) if overlay is not None else whole


def _is_complete(release: ChartRelease | OverlayRelease) -> bool:
    """Return whether an object or a command installs a release, and all its values are known."""
    return release.by[1] != "" and release.unread is None


def _fill_all(
    templates: Sequence[Source],
    values: Source,
    uses: Uses,
    files: ChartFiles,
    root: Node | None,
    all_of_them: bool,
    is_complete: bool = False,
) -> Iterator[tuple[Back, ...]]:
    """Yield the rendered templates of a chart that use some of the values.

    With `all_of_them`, yield all templates if at least one uses some values, in a condition too, or if values may
    disable the whole chart. Else, with the values of a release (`root`), yield each template: its cluster gets it,
    and may run a release of its own. `is_complete`: no further values are set.
    """

    def filled(template: Source, plain: Holes | None = None) -> tuple[Back, ...]:
        if makes_other_kinds(template):
            return ()
        make = partial(fill_template, template, values, uses, files, root, plain, is_complete)
        return tuple(guarded(template.path, make))

    found = [filled(template) for template in templates]
    uses_values = any(found) or any(".Values" in template.text for template in templates)
    is_whole = all_of_them and (uses_values or os.path.abspath(values.path) in files.switched)
    for template, variants in zip(templates, found, strict=True):
        whole = variants
        if is_whole and (not variants or variants[0].leaves_out):
            whole = filled(template, "objects") or variants
        elif not variants and root is not None and not all_of_them:
            whole = filled(template, "keys")
        if whole:
            yield whole


def _list_holders(sources: Sequence[Source], overlays: Sequence[Built]) -> list[Source]:
    """Return the sources whose releases are not part of a rendered overlay."""
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


def _find_charts(sources: Sequence[Source], with_plain: bool = False) -> tuple[_Charts, _Charts]:
    """Return the default values and the templates of each chart, by the absolute path of the default values.

    The second mapping has the charts in the folder of another chart, the first all others. With `with_plain`, files
    without template code count as templates.
    """
    by_path = {os.path.abspath(source.path): source for source in sources}
    found: tuple[_Charts, _Charts] = {}, {}
    for folder, templates in _group_by_folder(sources, with_plain).items():
        path = values_place(templates[0].path) or vendored_place(templates[0].path)
        if path is None:
            continue
        whole = os.path.abspath(path)
        values = by_path.get(whole) or read(path)
        if values is None and not gate.exists(path):
            values = Source.from_text(path, "{}\n")  # a chart may leave all values to its installations
        if values is not None:
            by_path[whole] = values
            is_vendored = find_outer_chart(os.path.dirname(folder)) is not None
            found[is_vendored].setdefault(whole, (values, []))[1].extend(templates)
    return found


def _group_by_folder(sources: Sequence[Source], with_plain: bool = False) -> dict[str, list[Source]]:
    """Return the templates among sources by the folder that makes them such."""
    found: dict[str, list[Source]] = {}
    for source in sources:
        if source.may_be_template or (with_plain and source.path.endswith(YAML_NAMES)):
            folder = find_templates_folder(source.path)
            if folder is not None:
                found.setdefault(folder, []).append(source)
    return found


def read_releases(
    sources: Sequence[Source], paths: Sequence[str], also: str | None, with_plain: bool = False
) -> list[Source]:
    """Return the files that may install a chart with values and do not name Karpenter.

    Overlays that include them are rendered with their objects. `also` is a pattern of further texts to read.
    `with_plain` is as in `_find_charts`.
    """
    if not paths or not any(chart_of(files[0].path) for files in _group_by_folder(sources, with_plain).values()):
        return []
    have = {os.path.abspath(source.path) for source in sources}
    pattern = RELEASES if also is None else f"{also}|{RELEASES}"
    found = [read(path, pattern) for path in paths if os.path.abspath(path) not in have]
    return [source for source in found if source is not None and not source.may_be_template]


def find_values_of_charts(sources: Sequence[Source], seen: set[str], with_plain: bool = False) -> list[Source]:
    """Return the values files of charts with a template among the sources, and the files of their outer charts.

    Chart.yaml files of charts that depend on one by a path are included. `seen` are the requested files.
    `with_plain` is as in `_find_charts`.
    """
    have = {os.path.abspath(source.path) for source in sources}
    first: dict[str, Source] = {}
    for templates in _group_by_folder(sources, with_plain).values():
        chart = chart_of(templates[0].path)
        if chart is not None:
            first.setdefault(os.path.abspath(chart), templates[0])
    found = [s for s in find_depending_charts(first, seen) if os.path.abspath(s.path) not in have]
    dependencies = ChartDependencies({os.path.abspath(source.path): source for source in (*sources, *found)})
    have |= {os.path.abspath(source.path) for source in found}
    for template in first.values():
        path = values_of(template.path)
        files = [path, *beside(path)] if path is not None else []
        for file in (*files, *list_values_files(template, dependencies)):
            if os.path.abspath(file) not in have and file in seen and (values := read(file)):
                nodes_of(values)
                have.add(os.path.abspath(file))
                found.append(values)
    return found


def read_values_in_order(sources: Sequence[Source], paths: Sequence[str]) -> list[Source]:
    """Return the files of `--values` that are not among the sources. Each file gets its number (`values_order`)."""
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


def values_elsewhere(
    sources: Sequence[Source], seen: set[str], named: Collection[str] = (), with_plain: bool = False
) -> list[Source]:
    """Return the values files in other folders for charts of the sources, if they do not name Karpenter.

    `seen` are all requested files. A file counts if all its keys are keys of one such chart's own values, and not of
    any other chart. For files in `named`, which were requested by path, one key is enough: `overrides` reports the
    other keys. `with_plain` is as in `_find_charts`.
    """
    charts_within = _find_charts(sources, with_plain)
    by_path = {os.path.abspath(source.path): source for source in sources}
    of_charts = {path: values for found in charts_within for path, (values, _) in found.items()}
    defaults = Subcharts(of_charts, by_path).defaults
    outer = [values for path, values in defaults.items() if find_outer_chart(os.path.dirname(path)) is None]
    paths = {values.path: keys for values in outer if (keys := list_keys(values.text))}
    charts = list(paths.values())
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
        if not fitting and not _is_of_chart(path):
            note_near_values(path, keys, paths)
        if not keys or len(fitting) != 1 or any(keys <= other for other in others):
            continue
        if _is_of_chart(path) and path not in named:
            continue
        shown = "/".join(os.path.abspath(path).split(os.sep)[-2:])
        if not any(shown in source.text for source in sources):  # another file that names it decides how it is used
            values = Source.from_text(path.replace(os.sep, "/"), text)
            nodes_of(values)
            found.append(values)
    return found


def _read_values(path: str) -> str:
    """Return the text of a file if it may hold chart values and contains no Kubernetes object.

    Else return an empty text.
    """
    try:
        data = gate.read_listed(path, _LARGEST)
    except OSError:
        return ""
    return "" if b"apiVersion" in data else data.decode(errors="replace")


def _is_of_chart(path: str) -> bool:
    return gate.is_file(os.path.join(os.path.dirname(path), CHART))
