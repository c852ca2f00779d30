"""Findings as text: message, place, excerpt, notes, and the fix as removed and added lines."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from nodelint.base.printable import printable, printable_path
from nodelint.lint.fix_effects import describe_unsafe_fix
from nodelint.lint.results import Result, each_place
from nodelint.model.finding import SEVERITIES, Also, Edit, Span
from nodelint.model.messages import counted
from nodelint.report.fix_preview import fix_lines, list_shown_edits
from nodelint.report.grouping import FindingGroup, entries
from nodelint.report.snippet import Underline, excerpt
from nodelint.report.style import PLAIN, TextStyle, rule_page, wrap, wrap_labelled
from nodelint.text.source_comments import template_of

_COLOURS = {"error": "red", "warning": "yellow", "info": "cyan"}

# Causes that differ in names and numbers only: above the first number, the second is shown whole.
_MOST_ALIKE, _WHOLE_ALIKE = 10, 5

# Further places of one cause that are listed.
_PLACES = 10

# Places in other files that play a part and are shown.
_PARTS = 10


def findings_text(results: Sequence[Result], look: TextStyle = PLAIN, *, hints: bool = False) -> list[str]:
    """Return a text for each cause, errors first.

    A fix that several causes share is shown once. With `hints`, each rule's `nodelint rule` command is shown once. If
    more than ten causes differ only in names and numbers, five are shown completely and ten more places in one line
    each.
    """
    shown: set[tuple[Edit, ...]] = set()
    named: set[str] | None = set() if hints else None
    return [
        "\n".join(_entry(group[0], look, shown, named) if whole else _more_alike(group, look))
        for whole, group in _arrange(results)
    ]


def list_suggesting(results: Sequence[Result]) -> Iterator[Result]:
    """Yield the places of the results whose suggestions `findings_text` shows, as far as it shows their lines."""
    for first in (group[0].first_line[0] for whole, group in _arrange(results) if whole):
        offered = (list_shown_edits(offer.edits, first.span.source) for offer in first.finding.suggestions)
        shown = {edit for edits in offered for edit in edits}
        for result in each_place([first]) if shown else ():
            if any(not shown.isdisjoint(suggestion.edits) for suggestion in result.finding.suggestions):
                yield result


def _arrange(results: Sequence[Result]) -> Iterator[tuple[bool, Sequence[FindingGroup]]]:
    """Yield the causes to show, errors first: each alone to be shown whole, or several that are shown briefly."""
    ordered = sorted(entries(results), key=lambda entry: SEVERITIES.index(entry.first_line[0].severity))
    alike: dict[tuple[str, ...], list[FindingGroup]] = {}
    for entry in ordered:
        alike.setdefault(_shape(entry), []).append(entry)
    counts: Counter[tuple[str, ...]] = Counter()
    for entry in ordered:
        shape = _shape(entry)
        group, number = alike[shape], counts[shape]
        counts[shape] += 1
        if number < _WHOLE_ALIKE or len(group) <= _MOST_ALIKE:
            yield True, [entry]
        elif number == _WHOLE_ALIKE:
            yield False, group[number:]


def _more_alike(group: Sequence[FindingGroup], look: TextStyle) -> Iterator[str]:
    """Yield one line for each place of further causes that differ only in names, up to ten places."""
    first = group[0].first_line[0]
    results = [result for entry in group for result in entry.results]
    hint = ", --diff shows the fixes" if first.fixable else ""
    yield f"{len(group):,} more of {first.rule.name}{hint}:"
    for result in results[:_PLACES]:
        yield f"  {concise_text(result, look)}"
    if len(results) > _PLACES:
        yield f"  … and {counted(len(results) - _PLACES, 'more place')}; --format concise lists every place"


def _shape(entry: FindingGroup) -> tuple[str, ...]:
    """Return a key that is equal for findings that differ only in names and numbers."""
    first = entry.first_line[0]
    return first.severity, first.rule.name, re.sub(r"`[^`]*`|[0-9][0-9,.]*", "`", first.message)


def statistics_lines(results: Sequence[Result]) -> list[str]:
    """Return a line for each rule: number of findings, severity, number of fixes; the most frequent rule first."""
    by_rule: dict[tuple[str, str], list[Result]] = {}
    for result in results:
        by_rule.setdefault((result.severity, result.rule.name), []).append(result)
    ordered = sorted(
        by_rule.items(), key=lambda item: (-len(item[1]), SEVERITIES.index(item[1][0].severity), item[0])
    )
    width = max(len(str(len(found))) for _, found in ordered)
    name_width = max(len(name) for (_, name), _ in ordered)
    lines = []
    for (severity, name), found in ordered:
        fixable = sum(result.fixable for result in found)
        aside = f"  {fixable} with a fix" if fixable else ""
        lines.append(f"{len(found):>{width}}  {severity:<7}  {name:<{name_width}}{aside}".rstrip())
    return lines


def finding_text(result: Result, look: TextStyle = PLAIN) -> str:
    """Return one finding with its excerpt, its other places and its fix."""
    return findings_text([result], look)[0]


def concise_text(result: Result, look: TextStyle = PLAIN) -> str:
    """Return one finding in one line, ending with `[fix]` or `[unsafe fix]` if it has one."""
    fix = "" if not result.fixable else " [fix]" if result.safety == "safe" else " [unsafe fix]"
    where = look.style(place(result.span), bold=True)
    return f"{where}: {_word(result, look)}: {printable(result.message)}" + look.style(fix, fg="green")


def _entry(
    entry: FindingGroup, look: TextStyle, shown: set[tuple[Edit, ...]], named: set[str] | None
) -> Iterator[str]:
    first = entry.first_line[0]
    for number, result in enumerate(entry.first_line):
        yield from _headline(result, look, f" ({entry.extent})" if entry.extent and not number else "")
    colour = _COLOURS[first.severity]
    underlines = [Underline(result.span, own=True, colour=colour) for result in entry.first_line]
    further_underlines = [
        Underline(also.span, also.message) for also in first.finding.also if also.span.source is first.span.source
    ]
    underlines += further_underlines[:_PARTS]
    margin = max(len(str(mark.span.source.position(mark.span.start).line)) for mark in underlines)
    for result in entry.first_line:
        yield f"{' ' * margin}{look.style('-->', fg='blue')} {place(result.span)}"
    yield from excerpt(first.span.source, underlines, look)
    if len(further_underlines) > _PARTS:
        more = counted(len(further_underlines) - _PARTS, "more place")
        yield f"  … and {more} in this file; --format json lists all"
    yield from _elsewhere(first, look)
    if first.finding.note:
        yield from wrap_labelled("note", first.finding.note, look, fg="cyan")
    yield from _fix(entry, look, shown)
    if first.finding.withheld is not None:
        yield from wrap_labelled("fix withheld", first.finding.withheld.text, look, fg="yellow")
    if first.finding.help:
        yield from wrap_labelled("help", first.finding.help, look, fg="cyan")
    yield from _suggestions(first, look)
    yield from _places(entry, look)
    if named is not None and first.rule.name not in named:
        named.add(first.rule.name)
        yield look.style(f"  = nodelint rule {first.rule.name}", dim=True)


def _suggestions(result: Result, look: TextStyle) -> Iterator[str]:
    """Yield the suggestions of a finding, each with the lines that it changes."""
    for suggestion in result.finding.suggestions:
        yield from wrap_labelled("suggestion", suggestion.name, look, fg="magenta")
        yield from fix_lines(suggestion.edits, result.span.source, look, "shown by --format json")


def _word(result: Result, look: TextStyle) -> str:
    """Return the severity and the rule of a finding."""
    name = result.rule.name
    address = rule_page(result.rule) if look.links else None
    if address:
        name = f"\x1b]8;;{address}\x1b\\{name}\x1b]8;;\x1b\\"
    return look.style(f"{result.severity}[{name}]", fg=_COLOURS[result.severity], bold=True)


def _headline(result: Result, look: TextStyle, extent: str) -> Iterator[str]:
    plain = f"{result.severity}[{result.rule.name}]: "
    if not look.terminal:
        yield f"{_word(result, look)}: {printable(result.message)}{extent}"
        return
    lines = wrap(f"{result.message}{extent}", look.width, plain, "  ")
    yield f"{_word(result, look)}: {look.style(lines[0][len(plain) :], bold=True)}"
    yield from (look.style(line, bold=True) for line in lines[1:])


def _elsewhere(result: Result, look: TextStyle) -> Iterator[str]:
    """Yield the related places in other files, each with its lines."""
    groups: dict[int, list[Also]] = {}
    for also in result.finding.also:
        if also.span.source is not result.span.source:
            groups.setdefault(id(also.span.source), []).append(also)
    for group in list(groups.values())[:_PARTS]:
        yield f"  {look.style(f'--> {place(group[0].span)}', dim=True)}"
        yield from excerpt(group[0].span.source, [Underline(also.span, also.message) for also in group], look)
    if len(groups) > _PARTS:
        yield f"  … and {counted(len(groups) - _PARTS, 'more place')} in other files; --format json lists all"


def _fix(entry: FindingGroup, look: TextStyle, shown: set[tuple[Edit, ...]]) -> Iterator[str]:
    first = entry.first_line[0]
    if not first.fixable:
        return
    edits = tuple(dict.fromkeys(edit for result in entry.first_line for edit in result.finding.edits))
    about = [] if first.safety == "safe" else [f"unsafe: {describe_unsafe_fix(first)}"]
    if len(entry.lines) > 1 and edits not in shown:
        texts = {tuple(edit.text for result in line for edit in result.finding.edits) for line in entry.lines}
        about.append("the same in each place" if len(texts) == 1 else "of this place; --diff shows all")
    aside = f" ({'; '.join(about)})" if about else ""
    head = f"fix{aside}:{' the same as above' if edits in shown else ''}"
    lines = wrap(head, look.width, "  ", "    ") if look.terminal else [f"  {head}"]
    yield from (f"{line[:2]}{look.style(line[2:], fg='green', bold=True)}" for line in lines)
    if edits in shown:
        return
    shown.add(edits)
    yield from fix_lines(edits, first.span.source, look, "shown by --diff")


def _places(entry: FindingGroup, look: TextStyle) -> Iterator[str]:
    places = entry.places()
    if not places:
        return
    yield "  also at:"
    left = _PLACES
    for path, results in places.items():
        at = [result.span.source.position(result.span.start) for result in results[:left]]
        spots = ", ".join(f"{position.line}:{position.column}" for position in at)
        # `path:line:column` is what terminals and editors open.
        yield from wrap(f"{path}:{spots}", look.width, "    ", "      ")
        left -= len(at)
        if not left:
            break
    if more := sum(map(len, places.values())) - _PLACES + left:
        yield f"    … and {counted(more, 'more place')}; --format concise lists every place"


def place(span: Span, path: str = "") -> str:
    """Return `path:line:column` of the start of a span, and the chart file from which it was rendered.

    `path` replaces the path of the source if it is not empty.
    """
    position = span.source.position(span.start)
    origin = template_of(span.source, span.start)
    rendered = f" ({printable(origin)})" if origin is not None else ""
    return f"{printable_path(path or span.source.path)}:{position.line}:{position.column}{rendered}"
