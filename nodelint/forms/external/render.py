"""Overlays and charts as the cluster gets them, and what is wrong in them led back to the files.

kustomize, kubectl and helm do the rendering, where they are on the path. What they would have to fetch
is said, and never fetched: they run in a sandbox that has no network.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING

from nodelint.base.tuples import NamedTuple
from nodelint.files.globs import READ_ALL, Excluded
from nodelint.forms.external import sandbox, tools
from nodelint.forms.external.roots import Root, roots
from nodelint.forms.external.source_map import Origins
from nodelint.forms.lib.values import read
from nodelint.forms.rendered import Built, ValueOrigin
from nodelint.model.finding import Also, Span, span_of
from nodelint.text import Node, Source

if TYPE_CHECKING:
    from nodelint.model.releases import KubernetesVersion


class Build(NamedTuple):
    """What an overlay, or a chart with one file of values, has come to. The source's path is its folder."""

    root: Root
    source: Source
    values: str | None = None


class Rendering(NamedTuple):
    """All that could be rendered, and what could not: a path and why."""

    builds: tuple[Build, ...] = ()
    problems: tuple[tuple[str, str], ...] = ()


def render(
    paths: Sequence[str],
    exclude: Excluded = READ_ALL,
    kubernetes: KubernetesVersion | None = None,
    *,
    kustomize: bool,
    helm: bool,
) -> Rendering:
    """Render the overlays and charts that paths stand for, as far as they mention Karpenter.

    A folder stands for those below it, a file for those in its repository that it is a part of. Takes as long
    as the tools do, up to `tools.SECONDS` each and `tools.ALL_SECONDS` together. Nothing is raised: what fails is in
    `problems`.
    """
    deadline = monotonic() + tools.ALL_SECONDS
    builds: list[Build] = []
    problems: list[tuple[str, str]] = []
    lacking: set[str] = set()
    for root in roots(paths, exclude, kustomize=kustomize, helm=helm):
        command = tools.kustomize_command() if root.tool == "kustomize" else tools.helm_command(kubernetes, False)
        if command is None:
            if root.tool not in lacking:
                names = "neither kustomize nor kubectl is" if root.tool == "kustomize" else "helm is not"
                problems.append((root.file, f"not rendered: {names} on the path"))
            lacking.add(root.tool)
        elif root.refused is not None:
            problems.append((root.file, f"not rendered: {root.refused}"))
        elif root.tool == "kustomize":
            _overlay(root, command, builds, problems, deadline)
        else:
            _chart(root, kubernetes, builds, problems, deadline)
    return Rendering(tuple(builds), tuple(problems))


def parts(rendering: Rendering, sources: Sequence[Source]) -> list[Source]:
    """The files that were asked for and rendered, and are not among the sources, for they do not mention Karpenter.

    A fix may be theirs (a chart's values): judge and fix them with the others.
    """
    have = {os.path.abspath(source.path) for source in sources}
    more = []
    for build in rendering.builds:
        for path in build.root.parts:
            whole = os.path.abspath(path)
            requested = build.root.asked
            if whole not in have and (requested is None or whole in requested) and (source := read(path)) is not None:
                have.add(whole)
                more.append(source)
    return more


def build_rendered(rendering: Rendering, sources: Sequence[Source]) -> Iterator[Built]:
    """What was rendered, with the places in the files that its values are from: in `sources`, else read anew."""
    at_hand = {os.path.abspath(s.path): s for s in sources}
    for root, source, values in rendering.builds:
        files = {os.path.abspath(path): path for path in root.parts}
        parts = [s for whole, path in files.items() if (s := at_hand.get(whole) or read(path)) is not None]
        at_hand.update((os.path.abspath(s.path), s) for s in parts)
        origins = Origins(root, source, parts)
        yield Built(
            source,
            partial(_origin, root, source, origins),
            parts=tuple(files),
            replaces=tuple(sorted(_covered(root, origins, files))),
            cluster=os.path.abspath(values or root.folder),
            label="" if values is None else os.path.relpath(values, root.folder).replace(os.sep, "/"),
            asked=root.asked,
            find_object=origins.object_of,
        )


# -- rendering


def _overlay(
    root: Root, command: list[str], builds: list[Build], problems: list[tuple[str, str]], deadline: float
) -> None:
    """What an overlay has to fetch is found out by building it, where the tool has no network to fetch from."""
    failed: list[tuple[str, str]] = []
    if root.missing is None or sandbox.ISOLATES:
        _try(root, command, builds, failed, root.file, deadline)
        if not failed:
            return
    if root.missing is not None:
        failed = [(root.file, f"not rendered: `{root.missing}` is not on this disk, and is not fetched")]
    problems += failed


def _chart(
    root: Root,
    kubernetes: KubernetesVersion | None,
    builds: list[Build],
    problems: list[tuple[str, str]],
    deadline: float,
) -> None:
    """A chart as it is, and with each of its files of values.

    One that lacks a value which each of the files gives is not meant to be installed as it is: that is reported
    only where none of them can be rendered.
    """
    alone: list[tuple[str, str]] = []
    before = len(builds)
    common = [part for part in root.parts if part not in root.values and part != root.file]
    for values in (None, *root.values):
        command = tools.helm_command(kubernetes, values is not None) or []
        own = root._replace(parts=(root.file, *([values] if values else []), *common))
        _try(own, command, builds, problems if values else alone, values or root.file, deadline, values)
    if len(builds) == before:
        problems += alone


def _try(
    root: Root,
    command: list[str],
    builds: list[Build],
    problems: list[tuple[str, str]],
    path: str,
    deadline: float,
    values: str | None = None,
) -> None:
    left = deadline - monotonic()
    if left <= 0:
        problems.append((path, f"not rendered: all renderings together took longer than {tools.ALL_SECONDS} s"))
        return
    try:
        text = tools.run(command, root.folder, values, min(left, tools.SECONDS))
    except tools.ToolError as error:
        problems.append((path, f"not rendered: {error}"))
        return
    builds.append(Build(root, Source.from_text(root.folder.replace(os.sep, "/"), text), values))


def _covered(root: Root, origins: Origins, files: Mapping[str, str]) -> set[str]:
    """The files that the result stands for: of a chart's templates, those that have come to something."""
    if root.tool == "kustomize":
        return set(files)
    templates = origins.templates()
    below = os.path.abspath(root.folder) + os.sep
    return {path for path in files if path in templates or os.path.dirname(path) + os.sep == below}


def _origin(root: Root, source: Source, origins: Origins, at: Node | Span) -> ValueOrigin | None:
    """The written place of a part of a result, and which overlay or chart takes it in, where that says more."""
    if at.source is not source:
        return ValueOrigin(at, True)
    place = origins.locate(at)
    if place is None:
        return None
    own = origins.own
    through: tuple[Also, ...] = ()
    if own is not None and span_of(place.at).source is not own:
        what = "overlay" if root.tool == "kustomize" else "chart"
        through = (Also(Span(own, 0, 0), f"in what this {what} renders to"),)
    return ValueOrigin(place.at, place.sure, through)
