"""Overlays and charts as the cluster gets them, and what is wrong in them led back to the files.

kustomize, kubectl and helm do the rendering, where they are on the path. What they would have to fetch
is said, and never fetched: they run in a sandbox that has no network.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from nodelint.model.finding import Also, Edit, Finding, Span, span_of
from nodelint.render import sandbox, tools
from nodelint.render.places import Origins, Place
from nodelint.render.roots import Root, read, roots
from nodelint.source import Node, Source, reread
from nodelint.source.globs import READ_ALL, Excluded
from nodelint.tuples import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nodelint.lint.engine import Report, Result, Selection, Skipped, Target
    from nodelint.lint.rule import Rule
    from nodelint.model.manifest import Object
    from nodelint.model.releases import KubernetesVersion


class Build(NamedTuple):
    """What an overlay, or a chart with one file of values, has come to. The source's path is its folder."""

    root: Root
    source: Source


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
    as the tools do, up to `tools.SECONDS` each. Nothing is raised: what fails is in `problems`.
    """
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
            _overlay(root, command, builds, problems)
        else:
            _chart(root, kubernetes, builds, problems)
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
            asked = build.root.asked
            if whole not in have and (asked is None or whole in asked) and (source := read(path)) is not None:
                have.add(whole)
                more.append(source)
    return more


def lint(
    rendering: Rendering,
    sources: Sequence[Source],
    target: Target,
    rules: Mapping[str, Rule],
    selection: Selection,
    context_sources: Sequence[Source] = (),
) -> Report:
    """Judge files as `engine.lint` does, and what was rendered in the place of the files that it came from.

    Each finding about a result stands where its value stands in `sources`, or in a file beside them; its
    fix is there only where that place is certain. What the overlay puts right is not a finding any more.
    """
    from nodelint.lint import engine

    plain = engine.lint(sources, target, rules, selection, context_sources)
    if not rendering.builds:
        return plain
    at_hand = {os.path.abspath(s.path): s for s in (*context_sources, *sources)}
    covered: set[str] = set()
    read_too: set[str] = set()
    back = _LedBack()
    for root, source in rendering.builds:
        files = {os.path.abspath(path): path for path in root.parts}
        parts = [s for whole, path in files.items() if (s := at_hand.get(whole) or read(path)) is not None]
        at_hand.update((os.path.abspath(s.path), s) for s in parts)
        origins = Origins(root, source, parts)
        covered |= _covered(root, origins, files)
        read_too |= set(files)
        around = [s for s in (*sources, *context_sources) if os.path.abspath(s.path) not in files]
        report = engine.lint([source], target, rules, selection, around)
        for result in report.results:
            known = _led_back(result, root, source, origins, plain)
            if known is not None and _wanted(known, root, selection):
                back.told.setdefault(_mistake(known), known)
        back.skipped += [_skip(skip, root, origins) for skip in report.skipped]
        back.faults += report.faults
        for obj in report.objects:
            of_files = origins.object_of(obj) or obj
            back.judged.setdefault(id(of_files), of_files)
    # What a chart makes of its values is known: it is not guessed from the values alone.
    guessed = {id(o) for o in plain.objects if o.of_values and os.path.abspath(o.source.path) in read_too}
    results = tuple(r for r in plain.results if id(r.object) not in guessed)
    objects = tuple(o for o in plain.objects if id(o) not in guessed)
    texts = [source.text for root, source in rendering.builds if root.tool == "helm"]
    kept = {id(r) for r in results if _is_about_code(r, texts)}
    return _with(back, plain._replace(results=results, objects=objects), covered, kept, sources)


def _is_about_code(result: Result, rendered: Sequence[str]) -> bool:
    """Whether a finding about a template is about its code, or about a field that none of the results has."""
    span = result.span
    text = span.source.text[span.start : span.end]
    if not span.source.masked or not text or not rendered:
        return False
    is_key = text.isidentifier() and span.source.text[span.end : span.end + 1] == ":"
    return "{{" in text or (is_key and not any(f"{text}:" in each for each in rendered))


class _LedBack:
    """What reports about results say of the files: findings by their mistake, and objects by their id."""

    def __init__(self) -> None:
        self.told: dict[tuple[object, ...], Result] = {}
        self.skipped: list[Skipped] = []
        self.judged: dict[int, Object] = {}
        self.faults: list[str] = []


def _with(back: _LedBack, plain: Report, covered: set[str], kept: set[int], sources: Sequence[Source]) -> Report:
    """The report about files, with what was led back in the place of all about files that are covered by it.

    `kept` are the ids of results that hold all the same.
    """

    def is_left(path: str) -> bool:
        return os.path.abspath(path) not in covered

    left = (r for r in plain.results if id(r) in kept or is_left(r.span.source.path))
    results = [*left, *back.told.values()]
    order = {source.path: n for n, source in enumerate(sources)}
    results.sort(
        key=lambda r: (order.get(r.span.source.path, len(order)), r.span.source.path, r.span.start, r.rule.name)
    )
    return plain._replace(
        results=tuple(results),
        skipped=tuple(dict.fromkeys([*(s for s in plain.skipped if is_left(s.path)), *back.skipped])),
        objects=(*(o for o in plain.objects if is_left(o.source.path)), *back.judged.values()),
        faults=tuple(dict.fromkeys([*plain.faults, *back.faults])),
    )


def results(rendering: Rendering, sources: Sequence[Source]) -> tuple[list[Source], Callable[[Node], Node | Span]]:
    """What the cluster gets: what was rendered, and files that are no part of it; and where a node of it is from."""
    at_hand = {os.path.abspath(s.path): s for s in sources}
    covered: set[str] = set()
    origins: dict[int, Origins] = {}
    for root, source in rendering.builds:
        files = {os.path.abspath(path): path for path in root.parts}
        parts = [s for whole, path in files.items() if (s := at_hand.get(whole) or read(path)) is not None]
        origins[id(source)] = Origins(root, source, parts)
        covered |= _covered(root, origins[id(source)], files)

    def led_back(node: Node) -> Node | Span:
        known = origins.get(id(node.source))
        place = known.of(node) if known is not None else None
        return node if place is None else place.at

    plain = [source for source in sources if os.path.abspath(source.path) not in covered]
    return [*(build.source for build in rendering.builds), *plain], led_back


# -- rendering


def _overlay(root: Root, command: list[str], builds: list[Build], problems: list[tuple[str, str]]) -> None:
    """What an overlay has to fetch is found out by building it, where the tool has no network to fetch from."""
    failed: list[tuple[str, str]] = []
    if root.missing is None or sandbox.ISOLATES:
        _try(root, command, builds, failed, root.file)
        if not failed:
            return
    if root.missing is not None:
        failed = [(root.file, f"not rendered: `{root.missing}` is not on this disk, and is not fetched")]
    problems += failed


def _chart(
    root: Root, kubernetes: KubernetesVersion | None, builds: list[Build], problems: list[tuple[str, str]]
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
        _try(own, command, builds, problems if values else alone, values or root.file, values)
    if len(builds) == before:
        problems += alone


def _try(
    root: Root,
    command: list[str],
    builds: list[Build],
    problems: list[tuple[str, str]],
    path: str,
    values: str | None = None,
) -> None:
    try:
        text = tools.run(command, root.folder, values)
    except tools.ToolError as error:
        problems.append((path, f"not rendered: {error}"))
        return
    builds.append(Build(root, Source.from_text(root.folder.replace(os.sep, "/"), text)))


def _covered(root: Root, origins: Origins, files: Mapping[str, str]) -> set[str]:
    """The files that the result stands for: of a chart's templates, those that have come to something."""
    if root.tool == "kustomize":
        return set(files)
    templates = origins.templates()
    below = os.path.abspath(root.folder) + os.sep
    return {path for path in files if path in templates or os.path.dirname(path) + os.sep == below}


# -- leading back


def _led_back(result: Result, root: Root, source: Source, origins: Origins, plain: Report) -> Result | None:
    """A finding about a result as one about the files; None where not even the overlay's own can be read."""
    finding = result.finding
    place = origins.of(finding.at)
    if place is None:
        return None
    also = [*_also(finding, source, origins), *_built(place, root, origins)]
    edits = _edits(finding, source, origins)
    if not edits:
        edits = _as_plainly_said(result, place, plain)
    led = finding._replace(at=place.at, also=also, covers=(), edits=edits)
    obj = place.object
    if obj is None and result.object is not None:
        around = origins.object_of(result.object)
        span = led.span
        if around is not None and around.source is span.source and around.node.start <= span.start <= around.node.end:
            obj = around
    return result._replace(finding=led, object=obj)


def _mistake(result: Result) -> tuple[object, ...]:
    """What is one mistake: a place and its message without numbers, which differ from object to object."""
    span = result.span
    message = re.sub(r"[0-9][0-9.,]*", "0", result.finding.message)
    return result.rule.name, span.source.path, span.start, span.end, message


def _skip(skip: Skipped, root: Root, origins: Origins) -> Skipped:
    obj = skip.object and origins.object_of(skip.object)
    path = obj.source.path if obj else root.file.replace(os.sep, "/")
    return skip._replace(path=path if skip.path else "", object=obj)


def _also(finding: Finding, source: Source, origins: Origins) -> Iterator[Also]:
    for also in finding.also:
        if also.span.source is not source:
            yield also
            continue
        place = origins.of(also.at)
        if place is not None:
            yield Also(place.at, also.message)


def _built(place: Place, root: Root, origins: Origins) -> Iterator[Also]:
    """Which overlay or chart shows it, where the place itself does not say so."""
    own = origins.own
    span = span_of(place.at)
    if own is not None and span.source is not own:
        what = "overlay" if root.tool == "kustomize" else "chart"
        yield Also(Span(own, 0, 0), f"in what this {what} renders to")


def _edits(finding: Finding, source: Source, origins: Origins) -> Sequence[Edit]:
    """The same change in the files, where every value that it changes has its certain place there; else nothing."""
    from nodelint.build.changes import change_value, find_changes
    from nodelint.edits import NotEditable, apply

    if not finding.edits or any(edit.source is not source for edit in finding.edits):
        return ()
    after = reread(source, apply(source.text, finding.edits))
    if len(after.documents) != len(source.documents):
        return ()
    made: list[Edit] = []
    for node, new in find_changes(source, after):
        place = origins.of(node)
        if place is None or not place.sure or isinstance(place.at, Span) or place.at.kind != node.kind:
            return ()
        try:
            made += change_value(place.at, new)
        except NotEditable:
            return ()
    return made


def _as_plainly_said(result: Result, place: Place, plain: Report) -> Sequence[Edit]:
    """The fix of the same finding about the file itself, where it says the very same of a certain place."""
    if place.sure:
        at = span_of(place.at)
        for other in plain.results:
            if other.rule is result.rule and other.span == at and other.finding.message == result.finding.message:
                return other.finding.edits
    return ()


def _wanted(result: Result, root: Root, selection: Selection) -> bool:
    """Whether a finding is about what was asked for, and nothing in the file or the configuration silences it."""
    from nodelint.lint.suppress import suppressions

    span = result.span
    if root.asked is not None and os.path.abspath(span.source.path) not in root.asked:
        return False
    if selection.ignored_at(result.rule.name, span.source.path):
        return False
    return not any(comment.silences(result.rule.names, result.finding) for comment in suppressions(span.source))
