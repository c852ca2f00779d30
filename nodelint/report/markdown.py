"""Findings as GitHub Markdown, for a comment on a pull request or the summary of a job.

Text of a manifest is written as code or escaped, so that it cannot add markup or break the table.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from html import escape

from nodelint.base.printable import flat, printable, screened, writable
from nodelint.edits import apply
from nodelint.edits.line_diff import unified
from nodelint.lint.engine import Report, Result
from nodelint.lint.fix_effects import describe_unsafe_fix
from nodelint.model.finding import SEVERITIES, Edit, by_source
from nodelint.model.messages import counted, short
from nodelint.report.grouping import FindingGroup, entries
from nodelint.report.run_info import Run, headline, shown_path, skip_text, skips
from nodelint.report.style import rule_page
from nodelint.report.summary import utc

MOST = 65_536
"""The most characters of a comment that GitHub accepts."""

_BAR = "\\|"
# Parts of the limit. The line that counts the omitted rows must fit as well.
_FOR_ROWS = MOST * 6 // 10
_FOR_NOTES = MOST // 10
_FOR_MORE = 500
# Lines of a fix, characters of each, and lines of the file around it.
_LINES = 40
_WIDTH = 300
_AROUND = 3
# Characters of a note, and reasons of what was skipped.
_LONGEST_NOTE = 500
_REASONS = 5
# The most files that a cause lists, and the most further lines of each.
_FILES = 5
_LINES_OF_FILE = 10


def render(report: Report, run: Run) -> str:
    """Return counts, a table of the findings by cause, the fixes as diffs, and the gaps."""
    head = f"### nodelint: {inline(headline(report, run.files, run.unread))}\n"
    notes = _within(_notes(report, run), _FOR_NOTES)
    groups = entries(report.results)
    table = _table([(group, _row(group, run)) for group in groups])
    fixes = _details(list(_fixes(groups)), run, MOST - len(head + notes + table) - _FOR_MORE)
    return screened(writable("\n".join(filter(None, [head, table, fixes, notes]))))


def _table(rows: Sequence[tuple[FindingGroup, str]]) -> str:
    """Return as many rows as fit: the most severe are kept, in the order of the files."""
    if not rows:
        return ""
    shown_rows: set[int] = set()
    room = _FOR_ROWS
    for number in sorted(range(len(rows)), key=lambda n: SEVERITIES.index(rows[n][0].first_line[0].severity)):
        room -= len(rows[number][1])
        if room < 0:
            break
        shown_rows.add(number)
    shown = "".join(text for number, (_, text) in enumerate(rows) if number in shown_rows)
    left = sum(len(group.results) for number, (group, _) in enumerate(rows) if number not in shown_rows)
    more = f"\n… and {counted(left, 'more finding')}: `nodelint check` lists all.\n" if left else ""
    return f"{table_head('severity', 'place', 'rule', 'message')}{shown}{more}"


def _row(group: FindingGroup, run: Run) -> str:
    result = group.first_line[0]
    address = rule_page(result.rule)
    rule = f"[{result.rule.name}]({address})" if address else result.rule.name
    messages = "<br>".join(inline(printable(result.message)) for result in group.first_line)
    if group.extent:
        messages += f" ({group.extent})"
    for advice in result.finding.whole_advice:
        messages += f"<br>{inline(printable(advice))}"
    return table_row(result.severity, _places(group, run), rule, messages)


def _places(group: FindingGroup, run: Run) -> str:
    """Return the places of a cause by file: path and line of the first, and the lines of the others."""
    files: dict[str, list[int]] = {}
    for line in group.lines:
        source, start = line[0].span.source, line[0].span.start
        files.setdefault(source.path, []).append(source.position(start).line)
    shown = []
    for path, (first, *others) in list(files.items())[:_FILES]:
        more = "".join(f", {line}" for line in others[:_LINES_OF_FILE])
        more += f" and {len(others) - _LINES_OF_FILE:,} more" if len(others) > _LINES_OF_FILE else ""
        shown.append(code(printable(f"{shown_path(path, run.root)}:{first}")) + more)
    if len(files) > _FILES:
        shown.append(f"… and {counted(len(files) - _FILES, 'more file')}")
    return "<br>".join(shown)


def _fixes(groups: Sequence[FindingGroup]) -> Iterator[tuple[Result, int]]:
    """Yield the fixes to show, each with the number of other places with the same fix."""
    for group in groups:
        by_edits: dict[tuple[str, ...], list[Result]] = {}
        for result in group.results:
            if result.fixable:
                by_edits.setdefault(tuple(edit.text for edit in result.finding.edits), []).append(result)
        yield from ((results[0], len(results) - 1) for results in by_edits.values())


def _details(results: Sequence[tuple[Result, int]], run: Run, room: int) -> str:
    shown = []
    for result, others in results:
        text = _fix(result, others, run)
        room -= len(text)
        if room < 0:
            break
        shown.append(text)
    left = len(results) - len(shown)
    more = f"… and {left:,} more: `nodelint check --diff` shows all.\n"
    return "".join(shown) + (more if left else "")


def _fix(result: Result, others: int, run: Run) -> str:
    lines = [line for edits in by_source(result.finding.edits) for line in _diff(edits, run)]
    if len(lines) > _LINES:
        lines = [*lines[:_LINES], f"… {counted(len(lines) - _LINES, 'more line')}, shown by --diff"]
    fence = "`" * max(3, 1 + max(map(_backticks, lines), default=0))
    where = f"{shown_path(result.span.source.path, run.root)}:{result.span.source.position(result.span.start).line}"
    same = f", the same in {counted(others, 'more place')}" if others else ""
    unsafe = "" if result.safety == "safe" else f", unsafe: {describe_unsafe_fix(result)}"
    summary = f"fix of {result.rule.name} at <code>{escape(printable(where))}</code>{same}{unsafe}"
    body = "\n".join(lines)
    return f"<details><summary>{summary}</summary>\n\n{fence}diff\n{body}\n{fence}\n\n</details>\n"


def _diff(edits: Sequence[Edit], run: Run) -> Iterator[str]:
    """Yield a unified diff of the lines around the edits, with the line numbers of the file."""
    source = edits[0].source
    text = source.text
    start, end = min(e.start for e in edits), max(e.end for e in edits)
    start = text.rfind("\n", 0, start) + 1
    for _ in range(_AROUND):
        start = text.rfind("\n", 0, max(0, start - 1)) + 1
    for _ in range(_AROUND + 1):
        end = text.find("\n", end) + 1 or len(text)
    old = text[start:end]
    new = apply(old, [Edit(source, e.start - start, e.end - start, e.text) for e in edits])
    above = source.position(start).line - 1
    path = printable(shown_path(source.path, run.root)).lstrip("/")
    lines = unified(_lines(old), _lines(new), (f"a/{path}", f"b/{path}"), _AROUND, "")
    for line in lines:
        moved = re.sub(r"^@@ -(\d++)([^ ]*+) \+(\d++)([^ ]*+) @@$", lambda m: _moved(m, above), line)
        yield moved if len(moved) <= _WIDTH else f"{moved[:_WIDTH]}…"


def _moved(match: re.Match[str], by: int) -> str:
    return f"@@ -{int(match[1]) + by}{match[2]} +{int(match[3]) + by}{match[4]} @@"


def _lines(text: str) -> list[str]:
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").removesuffix("\n").split("\n")
    return ["\t".join(map(flat, line.split("\t"))) for line in lines]


def _notes(report: Report, run: Run) -> Iterator[str]:
    for path, why in run.unreadable:
        yield f"Not read: {code(printable(shown_path(path, run.root)))}: {_note(why)}."
    for fault in report.faults:
        yield f"A rule failed: {_note(fault)}."
    if run.applied:
        yield f"Fixed {counted(len(run.applied), 'finding')}."
    for result, why in run.refused:
        yield f"The fix of {result.rule.name} was left out: {_note(why)}."
    reasons = skips(report.skipped, run.root)
    if reasons:
        more = len(reasons) - _REASONS
        rest = f"; and {counted(more, 'more reason')}" if more > 0 else ""
        notes = [_note(skip_text(skip)) for skip in reasons[:_REASONS]]
        yield f"Skipped: {'; '.join(notes)}{rest}."
    if run.facts:
        known = [f"{run.facts.types:,} instance types of {run.facts.date} ({run.facts.origin})"]
        if run.facts.snapshot:
            known.append(f"{run.facts.snapshot.region} as of {utc(run.facts.snapshot.until)}")
        yield _note(f"Facts: {'; '.join(known)}.")


def _within(notes: Iterable[str], room: int) -> str:
    """Return the notes that fit into `room` characters, as paragraphs."""
    every = list(notes)
    shown: list[str] = []
    for note in every:
        room -= len(note) + 2
        if room < 0:
            shown.append(f"… and {counted(len(every) - len(shown), 'more note')}.")
            break
        shown.append(note)
    return "\n\n".join(shown) + "\n" if shown else ""


def _note(text: str) -> str:
    return inline(short(printable(text), _LONGEST_NOTE))


def inline(text: str) -> str:
    """Return a message with the text between backticks as code; unpaired backticks are escaped."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return _escaped(text)
    within = range(1, len(parts) - 1)
    return "".join(
        code(part) if n % 2 else " " if n in within and not part else _escaped(part) for n, part in enumerate(parts)
    )


def table_head(*heads: str) -> str:
    """Return the first two lines of a table. A head that ends with `:` aligns its column to the right."""
    titles = "|".join(f" {head.removesuffix(':')} " if head else " " for head in heads)
    return f"|{titles}|\n{table_row(*('---:' if head.endswith(':') else '---' for head in heads))}"


def table_row(*cells: str) -> str:
    """Return a line of a table. Cells are Markdown; a bar in them is escaped, also within code."""
    return f"| {' | '.join(cell.replace('|', _BAR) for cell in cells)} |\n"


def code(text: str) -> str:
    """Return a text as Markdown code; it may contain backticks."""
    if not text.strip():
        return _escaped(f"`{text}`")
    fence = "`" * (1 + _backticks(text))
    pad = " " if text[0] in "` " or text[-1] in "` " else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def _backticks(text: str) -> int:
    """Return the length of the longest run of backticks in a text."""
    return max(map(len, re.findall("`+", text)), default=0)


def _escaped(text: str) -> str:
    return re.sub(r"[\\`*_\[\]~]", r"\\\g<0>", escape(text, quote=False))
