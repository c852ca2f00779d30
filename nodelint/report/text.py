"""Findings as a person reads them: place, sentence, excerpt, what follows from it, and the fix as lines to write."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nodelint.lint.results import Result
from nodelint.model.finding import Also, Edit, Span
from nodelint.model.messages import counted
from nodelint.printable import printable, printable_path
from nodelint.report.changes import fix_lines
from nodelint.report.entries import FindingGroup, entries
from nodelint.report.excerpt import Mark, excerpt
from nodelint.report.look import PLAIN, Look, cells, rule_page, said, wrapped

_COLOURS = {"error": "red", "warning": "yellow", "info": "cyan"}

# Files whose further places are listed below an entry.
_FILES = 12

# Columns that a message needs beside its place to begin there.
_LEAST = 20

UNSAFE = "unsafe: it changes what runs today"


def findings_text(results: Sequence[Result], look: Look = PLAIN) -> list[str]:
    """A text for each cause: findings of one cause are one text, and a fix that several share is shown once."""
    shown: set[tuple[Edit, ...]] = set()
    return ["\n".join(_entry(entry, look, shown)) for entry in entries(results)]


def finding_text(result: Result, look: Look = PLAIN) -> str:
    """One finding with its excerpt, its other places and its fix."""
    return findings_text([result], look)[0]


def concise_text(result: Result, look: Look = PLAIN) -> str:
    """One finding on one line; at its end `[fix]` or `[unsafe fix]` where there is one."""
    fix = "" if not result.fixable else " [fix]" if result.safety == "safe" else " [unsafe fix]"
    return "".join(_head(result, look)) + look.style(fix, fg="green")


def _entry(entry: FindingGroup, look: Look, shown: set[tuple[Edit, ...]]) -> Iterator[str]:
    first = entry.shown[0]
    for number, result in enumerate(entry.shown):
        yield from _headline(result, look, f" ({entry.extent})" if entry.extent and not number else "")
    colour = _COLOURS[first.severity]
    marks = [Mark(result.span, own=True, colour=colour) for result in entry.shown]
    beside = [also for also in first.finding.also if also.span.source is first.span.source]
    yield from excerpt(first.span.source, [*marks, *(Mark(also.span, also.message) for also in beside)], look)
    yield from _elsewhere(first, look)
    if first.finding.note:
        yield from said("note", first.finding.note, look, fg="cyan")
    yield from _fix(entry, look, shown)
    if first.finding.help:
        yield from said("help", first.finding.help, look, fg="cyan")
    yield from _suggestions(first, look)
    yield from _places(entry, look)


def _suggestions(result: Result, look: Look) -> Iterator[str]:
    """What the author may choose, each with its lines."""
    for suggestion in result.finding.suggestions:
        yield from said("suggestion", suggestion.name, look, fg="magenta")
        yield from fix_lines(suggestion.edits, result.span.source, look)


def _head(result: Result, look: Look) -> tuple[str, str, str]:
    """Place, severity with rule, and message."""
    style = look.style
    name = result.rule.name
    address = rule_page(result.rule) if look.links else None
    if address:
        name = f"\x1b]8;;{address}\x1b\\{name}\x1b]8;;\x1b\\"
    colour = _COLOURS[result.severity]
    word = style(f"{result.severity}[{name}]", fg=colour, bold=True)
    return f"{style(place(result.span), bold=True)}: ", f"{word}: ", printable(result.message)


def _headline(result: Result, look: Look, extent: str) -> Iterator[str]:
    where, word, message = _head(result, look)
    if not look.terminal:
        yield f"{where}{word}{message}{extent}"
        return
    plain = f"{place(result.span)}: {result.severity}[{result.rule.name}]: "
    words = f"{result.message}{extent}"
    if cells(plain) + _LEAST > look.width:
        yield f"{where}{word}".rstrip()
        yield from wrapped(words, look.width, "  ", "  ")
        return
    lines = wrapped(words, look.width, plain, "  ")
    yield f"{where}{word}{lines[0][len(plain) :]}"
    yield from lines[1:]


def _elsewhere(result: Result, look: Look) -> Iterator[str]:
    """The places in other files that play a part, each with its lines."""
    groups: dict[int, list[Also]] = {}
    for also in result.finding.also:
        if also.span.source is not result.span.source:
            groups.setdefault(id(also.span.source), []).append(also)
    for group in groups.values():
        yield f"  {look.style(f'::: {place(group[0].span)}', dim=True)}"
        yield from excerpt(group[0].span.source, [Mark(also.span, also.message) for also in group], look)


def _fix(entry: FindingGroup, look: Look, shown: set[tuple[Edit, ...]]) -> Iterator[str]:
    first = entry.shown[0]
    if not first.fixable:
        return
    edits = tuple(dict.fromkeys(edit for result in entry.shown for edit in result.finding.edits))
    about = [] if first.safety == "safe" else [UNSAFE]
    if len(entry.lines) > 1 and edits not in shown:
        texts = {tuple(edit.text for result in line for edit in result.finding.edits) for line in entry.lines}
        about.append("the same in each place" if len(texts) == 1 else "of this place; --diff shows all")
    aside = f" ({'; '.join(about)})" if about else ""
    head = look.style(f"fix{aside}:", fg="green", bold=True)
    if edits in shown:
        yield f"  {head} the same as above"
        return
    shown.add(edits)
    yield f"  {head}"
    yield from fix_lines(edits, first.span.source, look)


def _places(entry: FindingGroup, look: Look) -> Iterator[str]:
    places = entry.places()
    if not places:
        return
    yield "  also at:"
    for path, results in list(places.items())[:_FILES]:
        at = [result.span.source.position(result.span.start) for result in results]
        spots = ", ".join(f"{each.line}:{each.column}" for each in at)
        yield from wrapped(f"{path}: {spots}", look.width, "    ", "      ")
    if len(places) > _FILES:
        yield f"    … and {counted(len(places) - _FILES, 'more file')}; --format concise lists every place"


def place(span: Span, path: str = "") -> str:
    """`path:line:column` of where a span starts, and the chart's file that it was rendered from.

    `path` is what the file is called where that is not the source's own path.
    """
    position = span.source.position(span.start)
    origin = span.source.origin(span.start)
    rendered = f" ({printable(origin)})" if origin is not None else ""
    return f"{printable_path(path or span.source.path)}:{position.line}:{position.column}{rendered}"
