"""Findings as a person reads them: place, sentence, excerpt, the other places, the fix as lines to write."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from nodelint.edits import apply
from nodelint.lint.engine import Report, Result, Skipped
from nodelint.model.finding import Edit, Span, by_source
from nodelint.model.messages import counted
from nodelint.printable import flat, printable
from nodelint.report.targets import assumed, judged, objects_text, target_lines, versions_text
from nodelint.source import Source
from nodelint.tuples import NamedTuple

# Characters of a line, and lines of a fix, that are shown before the rest is cut.
_WIDTH = 150
_LINES = 16

Style = Callable[..., str]
_COLOURS = {"error": "red", "warning": "yellow", "info": "cyan"}


class Of(NamedTuple):
    """A snapshot behind a run: file, region, hashed account, and the times of its oldest and newest answer."""

    path: str | None
    region: str
    account: str | None
    since: str
    until: str


class Basis(NamedTuple):
    """Where the instance types came from and when, for the summary; `types` is their number."""

    origin: str
    date: str
    types: int
    snapshot: Of | None = None


def plain(text: str, **_: object) -> str:
    """A style that adds nothing, for output that is no terminal."""
    return text


def finding_text(result: Result, style: Style = plain) -> str:
    """One finding with its excerpt, its other places and its fix."""
    at = result.span
    colour = _COLOURS[result.severity]
    lines = [
        f"{style(place(at), bold=True)}: {style(result.severity, fg=colour, bold=True)} "
        f"{style(result.rule.name, bold=True)} {printable(result.message)}"
    ]
    lines += _excerpt(at, style, colour)
    for other in result.finding.also:
        lines.append(f"  also {place(other.span)}: {printable(other.message)}")
    if result.finding.edits:
        safety = "" if result.safety == "safe" else ", unsafe: it changes what runs today"
        lines.append(style(f"  fix{safety}:", fg="green"))
        lines += _fix(result.finding.edits, at.source, style)
    if result.finding.hint:
        lines.append(f"  hint: {printable(result.finding.hint)}")
    return "\n".join(lines)


def place(span: Span, path: str = "") -> str:
    """`path:line:column` of where a span starts, and the chart's file that it was rendered from.

    `path` is what the file is called where that is not the source's own path.
    """
    position = span.source.position(span.start)
    origin = span.source.origin(span.start)
    rendered = f" ({printable(origin)})" if origin is not None else ""
    return f"{printable(path or span.source.path)}:{position.line}:{position.column}{rendered}"


def summary_text(
    report: Report,
    files: int,
    facts: Basis | None,
    karpenter_named: bool,
    applied: Sequence[Result] = (),
    refused: Sequence[tuple[Result, str]] = (),
    fixing: bool = False,
) -> str:
    """Counts, what a fix would do, what was skipped and why, and how old the facts are."""
    lines = []
    for result, why in refused:
        lines.append(f"The fix of {result.rule.name} at {place(result.span)} was left out: {printable(why)}.")
    if applied:
        lines.append(f"Fixed {counted(len(applied), 'finding')}.")
    if not report.objects and not report.results:
        lines.append(f"Nothing to check: no NodePool or EC2NodeClass in {counted(files, 'file')}.")
        return "\n".join([*lines, *_skips(report.skipped)])
    found = [counted(n, s) for s in ("error", "warning") if (n := report.number_of(s))]
    if report.number_of("info"):
        found.append(f"{report.number_of('info')} info")
    target, stated = _targets(report, karpenter_named)
    where = f"{objects_text(report)} in {counted(files, 'file')}"
    if not judged(report) and not found:
        lines.append(f"Nothing judged: {where}.")
    else:
        lines.append(
            f"Found {', '.join(found)} in {where}, for {target}." if found else f"All good: {where}, for {target}."
        )
    if not fixing:
        lines += _fixable(report.results)
    lines += stated
    lines += _skips(report.skipped)
    if facts:
        lines.append(f"Facts: {facts.types:,} instance types of {facts.date} ({facts.origin}).")
        if facts.snapshot:
            lines.append(f"       {_of(facts.snapshot)}.")
    return "\n".join(lines)


def _targets(report: Report, karpenter_named: bool) -> tuple[str, list[str]]:
    """The releases that a run judged for, and the lines that state them."""
    if report.target.choose is None:
        said = f"Karpenter {report.target.karpenter}" + ("" if karpenter_named else " (newest known)")
        return said + (f", Kubernetes {report.target.kubernetes}" if report.target.kubernetes else ""), []

    said = versions_text(report)
    if assumed(report):
        said = said.replace(str(report.target.karpenter), f"{report.target.karpenter} (newest known)")
    return said, [printable(line) for line in target_lines(report)]


def _fixable(results: Sequence[Result]) -> list[str]:
    safe = sum(r.fixable and r.safety == "safe" for r in results)
    unsafe = sum(r.fixable and r.safety == "unsafe" for r in results)
    if not safe and not unsafe:
        return []
    ways = [f"{safe} with --fix"] if safe else []
    if unsafe:
        ways.append(f"{unsafe} {'more ' if safe else ''}with --unsafe-fixes")
    return [f"Fixable: {', '.join(ways)}; add --diff to see what would be written."]


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _of(snapshot: Of) -> str:
    # Times, not ages: the same facts make the same text, however late it is.
    when = utc(snapshot.until)
    if snapshot.since[:16] != snapshot.until[:16]:
        when = f"{utc(snapshot.since)} to {when}"
    return printable(f"{snapshot.region} as of {when} ({snapshot.path or 'kept nowhere'})")


def utc(at: str) -> str:
    """A time of a snapshot to the minute: `2026-11-20 12:00 UTC`."""
    return f"{at[:10]} {at[11:16]} UTC"


def missing_lines(skipped: Sequence[Skipped]) -> list[str]:
    """One line for each fact that was missing: what kind, why, whether it will pass, and the rules that wanted it."""
    lines: dict[str, list[str]] = {}
    for skip in skipped:
        passes = "try again" if skip.transient else "trying again will not help"
        names = lines.setdefault(f"missing {skip.fact}: {skip.reason} ({passes})", [])
        if skip.rule and skip.rule not in names:
            names.append(skip.rule)
    return [f"{said}; wanted by {', '.join(names)}" for said, names in lines.items()]


def _skips(skipped: Sequence[Skipped]) -> list[str]:
    """One line for each reason, with the rules and objects that it kept from being judged."""
    groups: dict[str, tuple[list[str], list[str]]] = {}
    unjudged: dict[str, list[str]] = {}
    for skip in skipped:
        if skip.rule and not skip.path:
            unjudged.setdefault(skip.reason, []).append(skip.rule)
            continue
        rules, places = groups.setdefault(skip.reason, ([], []))
        where = skip.object.label if skip.object else skip.path
        if skip.object and len({s.path for s in skipped if s.path}) > 1:
            where += f" ({skip.path})"
        if skip.rule and skip.rule not in rules:
            rules.append(skip.rule)
        if where not in places:
            places.append(where)
    lines = []
    for reason, (rules, places) in groups.items():
        what = f" ({', '.join(rules)})" if rules else ""
        lines.append(printable(f"Skipped: {_few(places)}: {reason}{what}."))
    lines += [
        printable(f"Not judged for want of facts from AWS: {_few(names)}: {reason}.")
        for reason, names in unjudged.items()
    ]
    return lines


def _excerpt(at: Span, style: Style, colour: str) -> Iterator[str]:
    source = at.source
    start = source.position(at.start)
    line = source.line(start.line)
    if not line.strip():
        return
    margin = len(str(start.line))
    column = start.column - 1
    cut = max(0, column - _WIDTH // 2) if len(line) > _WIDTH else 0
    shown = line[cut : cut + _WIDTH]
    length = max(1, min(at.end - at.start, len(line.rstrip()) - column, len(shown) - (column - cut)))
    yield style(f"{' ' * margin} |", dim=True)
    yield f"{style(f'{start.line} |', dim=True)} {flat(shown)}"
    yield f"{style(f'{chr(32) * margin} |', dim=True)} {' ' * (column - cut)}{style('^' * length, fg=colour)}"


def _fix(edits: Sequence[Edit], home: Source, style: Style) -> Iterator[str]:
    groups = by_source(edits)
    for group in sorted(groups, key=lambda g: g[0].source is not home):
        source = group[0].source
        if len(groups) > 1 or source is not home:
            yield f"    in {printable(source.path)}:"
        changed = list(_changed_lines(source, group))
        first = source.position(min(edit.start for edit in group))
        widest = max((len(line) for number, _, line in changed if number == first.line), default=0)
        # Of a long line that is shown which changes, not its beginning.
        far = widest > _WIDTH and first.column > _WIDTH * 2 // 3
        for number, sign, line in changed[:_LINES]:
            cut = first.column - 1 - _WIDTH // 2 if far and number == first.line else 0
            text = f"{number:>5} {sign} {flat(line)[cut : cut + _WIDTH]}".rstrip()
            yield style(text, fg="red" if sign == "-" else "green")
        if len(changed) > _LINES:
            yield f"      … {len(changed) - _LINES} more lines, shown by --diff"


def _changed_lines(source: Source, edits: Sequence[Edit]) -> Iterator[tuple[int, str, str]]:
    """The lines that go (-) and those that come (+), with their numbers in the old and the new text."""
    from difflib import SequenceMatcher

    # Only what lies between the first and the last edit can differ: their lines and one on either side.
    start = source.text.rfind("\n", 0, max(0, source.text.rfind("\n", 0, min(e.start for e in edits)))) + 1
    end = max(e.end for e in edits)
    for _ in range(2):
        end = source.text.find("\n", end) + 1 or len(source.text)
    first = source.position(start).line - 1
    part = source.text[start:end]
    moved = [Edit(source, e.start - start, e.end - start, e.text) for e in edits]
    old_part, new_part = part.removesuffix("\n").split("\n"), apply(part, moved).removesuffix("\n").split("\n")
    matcher = SequenceMatcher(None, old_part, new_part, autojunk=False)
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag != "equal":
            yield from ((first + i + 1, "-", old_part[i]) for i in range(i1, i2))
            yield from ((first + j + 1, "+", new_part[j]) for j in range(j1, j2))
