"""The findings of a check as one HTML page, for a reviewer or an audit, without network access or other files.

The page groups findings by folder and object, each with excerpt, reason and fix. A table lists all objects. Sections
list the decisions not to report findings, and the parts that were not judged. The page follows the reader's light or
dark theme.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from html import escape
from itertools import chain

from nodelint import __version__
from nodelint.base.printable import printable
from nodelint.base.types import TYPE_CHECKING
from nodelint.lint.fix_effects import describe_unsafe_fix
from nodelint.lint.results import has_written_name
from nodelint.model.finding import SEVERITIES, find_object_place, span_of, written_place
from nodelint.model.messages import counted, list_first
from nodelint.report.decisions import list_decisions
from nodelint.report.fix_preview import fix_lines
from nodelint.report.grouping import entries
from nodelint.report.html_parts import bullets, escaped, html_page, inline_code, section
from nodelint.report.run_info import headline, shown_path
from nodelint.report.snippet import Underline, excerpt
from nodelint.report.style import PAGE, rule_page
from nodelint.report.summary import summary_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from nodelint.lint.engine import Report, Result
    from nodelint.model.finding import Also, Span
    from nodelint.model.manifest import Object
    from nodelint.report.grouping import FindingGroup
    from nodelint.report.run_info import Run

_PLACES = 20
"""The most further places of one cause that the page lists. JSON lists all."""

_MOST_NAMES = 5
"""The most rendered objects of one template that a row names."""

_OWN_STYLE = """
.error{border-left-color:var(--red)}.warning{border-left-color:var(--amber)}.info{border-left-color:var(--bar)}
.word{font-weight:600}.error .word,td.error{color:var(--red)}.warning .word,td.warning{color:var(--amber)}
.info .word,td.info{color:var(--bar)}
pre{font:.8125rem/1.45 ui-monospace,monospace;background:var(--card);border-radius:.4rem;padding:.6rem .75rem;
overflow-x:auto;margin:.5rem 0}
.del{color:var(--red)}.ins{color:var(--green)}
h2.folder{margin-top:2.5rem;font-size:1.375rem}h3.object{margin:1.75rem 0 0}
article{border:1px solid var(--line);border-left:.3rem solid;border-radius:.4rem;padding:.75rem 1rem;margin:1rem 0}
article p{margin:.25rem 0;overflow-wrap:anywhere}
th.number,td.number{text-align:right;padding:.35rem 0 .35rem .6rem;white-space:nowrap;
font-variant-numeric:tabular-nums}
main>h2{margin:1.5rem 0 .25rem}.quiet+section>h2{margin-top:1rem}
@media(max-width:40rem){th,td{padding-right:.4rem}th.number,td.number{padding-left:.55rem;padding-right:0;font-size:.75rem}}
"""


def render(report: Report, run: Run) -> str:
    """Return the page: the verdict, a table of all objects, the findings, the decisions and the gaps."""
    lead = inline_code(_sentence(headline(report, run.files, run.unread)))
    made = ", ".join(filter(None, [f"nodelint {__version__}", run.time, run.commit and f"commit {run.commit}"]))
    body = (
        f"<p class=quiet>{escaped(made)}</p>{_objects(report, run)}{_findings(report, run)}{_decisions(report, run)}"
        f"{_unjudged(report, run)}"
    )
    return html_page("nodelint check", lead, body, _OWN_STYLE)


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _place(span: Span, run: Run) -> str:
    position = span.source.position(span.start)
    return f"{shown_path(span.source.path, run.root)}:{position.line}"


def _home(result: Result, run: Run) -> tuple[str, str]:
    """Return the folder and the object under which a finding is listed; the file name if it is about no object."""
    path = shown_path(result.span.source.path, run.root)
    obj = result.named_object
    return os.path.dirname(path) or ".", obj.label if obj is not None else os.path.basename(path)


# -- the objects


def _objects(report: Report, run: Run) -> str:
    """Return a table of all objects with the number of their findings."""
    counts: dict[int, Counter[str]] = {}
    anchors: dict[int, str] = {}
    for result in report.places:
        if result.object is not None:
            counts.setdefault(id(result.object), Counter())[result.severity] += 1
            anchors.setdefault(id(result.object), _anchor(*_home(result, run)))
    if not report.objects:
        return ""
    rendered = _list_rendered_names(report)
    rows = "".join(
        _object(obj, rendered.get(find_object_place(obj), ()), counts.get(id(obj), Counter()), anchors, run)
        for obj in report.objects
    )
    head = "<th>object</th>" + "".join(f"<th class=number>{word}</th>" for word in ("errors", "warnings", "info"))
    search = (
        '<input type=search class=filter placeholder="Search: prod, NodePool …" aria-label="Search objects">'
        if len(report.objects) > 10
        else ""
    )
    return section("Objects", f"{search}<div class=scroll><table><tr>{head}</tr>{rows}</table></div>")


def _list_rendered_names(report: Report) -> dict[tuple[str, int], list[str]]:
    """Return the names of rendered objects, by the place of their source object."""
    found: dict[tuple[str, int], dict[str, None]] = {}
    for obj in report.seen:
        if obj.source.built is not None and isinstance(obj.name, str):
            found.setdefault(find_object_place(obj), {})[obj.name] = None
    return {place: list(names) for place, names in found.items()}


def _object(obj: Object, rendered: Sequence[str], counts: Counter[str], anchors: Mapping[int, str], run: Run) -> str:
    cells = "".join(
        f"<td class='number {word if counts[word] else ''}'>{counts[word] or '–'}</td>" for word in SEVERITIES
    )
    place = _place(span_of(written_place(obj.name_node)), run)
    name = escaped(
        obj.label if has_written_name(obj) or not rendered else f"{obj.kind}/{list_first(rendered, _MOST_NAMES)}"
    )
    if id(obj) in anchors:
        name = f'<a href="#{anchors[id(obj)]}">{name}</a>'
    return f"<tr><td>{name}<br><code class=quiet>{escaped(place)}</code></td>{cells}</tr>"


def _anchor(folder: str, name: str) -> str:
    """Return the id of the findings of an object in a folder."""
    return escape(re.sub(r"[^\w.-]+", "-", printable(f"{folder}/{name}")))


# -- the findings


def _findings(report: Report, run: Run) -> str:
    """Return the findings by folder and object; the most severe come first."""
    folders: dict[str, dict[str, list[FindingGroup]]] = {}
    for group in entries(report.results):
        folder, name = _home(group.first_line[0], run)
        folders.setdefault(folder, {}).setdefault(name, []).append(group)
    parts = []
    for folder, objects in sorted(folders.items(), key=lambda item: min(map(_rank, chain(*item[1].values())))):
        parts.append(f"<h2 class=folder>{escaped(folder)}</h2>")
        for name, groups in sorted(objects.items(), key=lambda item: min(map(_rank, item[1]))):
            ordered = sorted(groups, key=_rank)
            title = f'<h3 class=object id="{_anchor(folder, name)}">{escaped(name)}</h3>'
            parts.append(title + "".join(_finding(group, run) for group in ordered))
    return "".join(parts)


def _rank(group: FindingGroup) -> int:
    return SEVERITIES.index(group.first_line[0].severity)


def _finding(group: FindingGroup, run: Run) -> str:
    first = group.first_line[0]
    extent = f" ({group.extent})" if group.extent else ""
    messages = "".join(
        f"<p><span class=word>{result.severity}</span> {inline_code(result.message)}{escaped(extent)}</p>"
        for result in group.first_line
    )
    advice = "".join(f"<p>{inline_code(line)}</p>" for line in first.finding.advice)
    return (
        f"<article class={first.severity}>{messages}"
        f"<p class=quiet><code>{escaped(_place(first.span, run))}</code> {_rule(first)}</p>"
        f"{_excerpts(group)}{advice}{_fix(group)}{_suggestions(first)}{_places(group, run)}</article>"
    )


def _rule(result: Result) -> str:
    address = rule_page(result.rule)
    name = escaped(result.rule.name)
    return f'<a href="{escape(address)}">{name}</a>' if address else f"nodelint rule {name}"


def _excerpts(group: FindingGroup) -> str:
    """Return the underlined lines of the finding's file, then those of related files."""
    first = group.first_line[0]
    underlines = [Underline(result.span, own=True) for result in group.first_line]
    others: dict[int, list[Also]] = {}
    for also in first.finding.also:
        if also.span.source is first.span.source:
            underlines.append(Underline(also.span, also.message))
        else:
            others.setdefault(id(also.span.source), []).append(also)
    shown = _pre(excerpt(first.span.source, underlines, PAGE))
    for related in others.values():
        source = related[0].span.source
        rows = excerpt(source, [Underline(also.span, also.message) for also in related], PAGE)
        shown += f"<p class=quiet><code>{escaped(source.path)}</code></p>{_pre(rows)}"
    return shown


def _pre(excerpt_rows: Iterable[str]) -> str:
    rows = list(excerpt_rows)
    _, *shown = rows or [""]  # the first row is an empty one above the excerpt
    text = "\n".join(map(escape, shown))
    return f"<pre>{text}</pre>" if text else ""


def _fix(group: FindingGroup) -> str:
    first = group.first_line[0]
    if not first.fixable:
        return ""
    edits = tuple(dict.fromkeys(edit for result in group.first_line for edit in result.finding.edits))
    how = "fix (safe)" if first.safety == "safe" else f"fix (unsafe: {describe_unsafe_fix(first)})"
    lines = fix_lines(edits, first.span.source, PAGE, "shown by `nodelint check --diff`")
    return f"<p>{inline_code(how)}</p>{_diff(lines)}"


def _suggestions(result: Result) -> str:
    return "".join(
        f"<p>suggestion: {inline_code(suggestion.name)}</p>"
        f"{_diff(fix_lines(suggestion.edits, result.span.source, PAGE, 'shown by --format json'))}"
        for suggestion in result.finding.suggestions
    )


def _diff(lines: Iterable[str]) -> str:
    """Return the lines of a fix in HTML; removed and added lines are coloured."""
    shown = []
    for line in lines:
        sign = re.match(r" *\d+ ([+-]) ?", line)
        kind = {"-": "del", "+": "ins"}[sign[1]] if sign else ""
        shown.append(f"<span class={kind}>{escape(line)}</span>" if kind else escape(line))
    return f"<pre>{chr(10).join(shown)}</pre>" if shown else ""


def _places(group: FindingGroup, run: Run) -> str:
    spans = [result.span for results in group.places().values() for result in results]
    if not spans:
        return ""
    listed = ", ".join(f"<code>{escaped(_place(span, run))}</code>" for span in spans[:_PLACES])
    more = f" and {counted(len(spans) - _PLACES, 'more place')}" if len(spans) > _PLACES else ""
    return f"<p>also at {listed}{more}</p>"


# -- accepted findings


def _decisions(report: Report, run: Run) -> str:
    """Return a section with the decisions not to report findings: comments, the configuration, a baseline."""
    rows = list_decisions(run.decisions, report) if run.decisions else ()
    return section("Decided, and not reported", bullets(inline_code(printable(row)) for row in rows), "folder")


# -- what was not judged


def _unjudged(report: Report, run: Run) -> str:
    """Return a section with unread and unjudged parts, each with its reason, and the facts of the run."""
    rows = [f"Not read: {printable(shown_path(path, run.root))}: {why}." for path, why in run.unreadable]
    rows += [f"A rule failed: {fault}." for fault in report.faults]
    rows += _summary(report, run)
    if run.facts:
        rows.append(f"Instance types: {run.facts.types:,}, from {run.facts.origin}, {run.facts.date}.")
    return section("Not judged, and basis of the check", bullets(map(inline_code, rows)), "folder")


def _summary(report: Report, run: Run) -> Iterator[str]:
    """Yield the lines of the text report's summary before its last line: the gaps and their reasons."""
    lines: Sequence[str] = summary_text(report, run, verbose=True).split("\n")[:-1]
    yield from (line.strip() for line in lines)
