"""The lines after the findings: the number of findings and fixes, and the parts that were not judged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nodelint.base.printable import printable
from nodelint.base.types import TYPE_CHECKING
from nodelint.ec2.facts import NO_SNAPSHOT
from nodelint.lint.engine import Report, Result
from nodelint.model.gap import Gap
from nodelint.model.messages import counted, list_first
from nodelint.report.all_clear import PAIR, say_all_clear, say_nothing
from nodelint.report.coverage import Coverage, cover, coverage_lines
from nodelint.report.releases import (
    assumed,
    broken_text,
    count_by_severity,
    judged,
    objects_text,
    target_lines,
    versions_text,
)
from nodelint.report.skipped import UNREADABLE, in_part_text, unjudged_text, unread_lines

if TYPE_CHECKING:
    from nodelint.inventory.unread_forms import UnreadGroup
    from nodelint.model.finding import Edit
    from nodelint.report.run_info import Run, SnapshotSummary


def not_fixed_lines(refused: Sequence[tuple[Result, str]]) -> Iterator[str]:
    """Yield a line for each fix that was not applied, with the reason."""
    if refused:
        from nodelint.report.text import place  # here: a run that finds nothing shows no findings

        for result, why in refused:
            yield f"Not fixed: {result.rule.name} at {place(result.span)}: {printable(why)}."


MOST_FIXES = 10
"""The most fixed findings that are named, unless the user asks for all."""


def fixed_lines(applied: Sequence[Result], most: int | None) -> list[str]:
    """Return a line for each of the first `most` applied fixes (None: all), and one that counts the others."""
    if not applied:
        return []
    from nodelint.report.text import place  # here: a run that finds nothing shows no findings

    shown = applied[:most]
    lines = [f"  {place(result.span)}: {result.rule.name}: {printable(result.message)}" for result in shown]
    if len(shown) < len(applied):
        lines.append(f"  and {len(applied) - len(shown):,} more; --show-fixes names all")
    return lines


def summary_text(
    report: Report,
    run: Run,
    *,
    karpenter_named: bool = True,
    fixing: bool = False,
    verbose: bool = False,
    most_fixes: int | None = MOST_FIXES,
) -> str:
    """Return the summary: lines for gaps with reasons, and a last line with counts and fixes.

    With `verbose`, it names all gaps and every rule that lacks facts. At most `most_fixes` applied fixes are listed;
    None lists all.
    """
    lines = list(not_fixed_lines(run.refused))
    if run.applied:
        lines.append(f"Fixed {counted(len(run.applied), 'finding')}:")
        lines += fixed_lines(run.applied, most_fixes)
    nothing_built = any(skip.line and skip.rule is None for skip in report.skipped)
    if not report.objects and not report.results and not report.unjudged and not nothing_built:
        where = f"in {counted(run.files, 'file')}"
        lines.append(f"{say_nothing('check', PAIR, where, run.unread)}.")
        return "\n".join(
            [*lines, *_skips(report.skipped, verbose), *_wants(report.skipped, verbose), *unread_lines(run.unread)]
        )
    target, stated = _targets(report, karpenter_named)
    coverage = cover(report)
    where = f"{objects_text(report)} in {counted(run.files, 'file')}"
    outcome = _outcome(report, where, target, run.unread, coverage)
    further = [] if fixing else [_fixable(report.results)]
    if not report.results:  # what qualifies that all is good
        further.append(_unasked(report.skipped))
    lines += _skips(report.skipped, verbose)
    lines += coverage_lines(coverage, verbose)
    lines += _wants(report.skipped, verbose)
    lines += unread_lines(run.unread)
    if run.repository:
        rest = "workloads with these NodePools, as other parts of the repository may have pools for them"
        lines.append(printable(f"Not compared: {rest}; to compare them: `nodelint check {run.repository}`."))
    facts = run.facts
    if facts and facts.snapshot:
        lines.append(f"Facts: {_describe_snapshot(facts.snapshot)}; {facts.types:,} instance types of {facts.date}.")
    lines += stated
    return "\n".join([*lines, "; ".join(filter(None, [outcome, *further])) + "."])


def _outcome(report: Report, where: str, target: str, unread: Sequence[UnreadGroup], coverage: Coverage) -> str:
    """Return the number of findings and where they are. If there are none, return how much was judged."""
    found = count_by_severity(report)
    if found and (broken := broken_text(report)):
        return f"Found {found}: {broken}"
    if found:
        text = f"Found {found} in {where}, for {target}"
        return "; ".join(filter(None, [text, in_part_text(coverage)]))
    if not judged(report):
        return f"Nothing was judged: {where}"
    unjudged = unjudged_text(report, coverage, unread)
    if any(place.kind == UNREADABLE for place in unread):
        return f"{unjudged}; nothing found in the rest: {where}, for {target}"
    return f"{say_all_clear('check', report.unbuilt, unjudged)}: {where}, for {target}"


def _targets(report: Report, karpenter_named: bool) -> tuple[str, list[str]]:
    """Return the releases of a run, and the lines that state them."""
    if report.target.choose is None:
        text = f"Karpenter {report.target.karpenter}" + ("" if karpenter_named else " (newest known)")
        return text + (f", Kubernetes {report.target.kubernetes}" if report.target.kubernetes else ""), []
    text = versions_text(report)
    if assumed(report):
        text = text.replace(str(report.target.karpenter), f"{report.target.karpenter} (newest known)")
    return text, [printable(line) for line in target_lines(report)]


def _fixable(results: Sequence[Result]) -> str:
    safeties = [result.safety for result in results if is_editable(result.finding.edits)]
    safe, unsafe = safeties.count("safe"), safeties.count("unsafe")
    ways = [f"{safe:,} fixable with --fix"] if safe else []
    if unsafe:
        ways.append(f"{unsafe:,} {'more' if ways else 'fixable'} with --unsafe-fixes")
    offered = [result for result in results if result.finding.suggestions and not result.finding.edits]
    chosen = sum(any(is_editable(offer.edits) for offer in result.finding.suggestions) for result in offered)
    if chosen:
        ways.append(f"{chosen:,} {'more' if ways else 'fixable'} with --apply FILE:LINE")
    elsewhere = sum(bool(result.finding.edits) for result in results) - len(safeties) + len(offered) - chosen
    if elsewhere:
        ways.append(f"{elsewhere:,} {'more' if ways else 'fixable'} if the files of the edits are named too")
    return ", ".join(ways)


def is_editable(edits: Sequence[Edit]) -> bool:
    """Return whether there are edits and all are in files that the user named."""
    return bool(edits) and all(edit.source.is_editable for edit in edits)


def _describe_snapshot(snapshot: SnapshotSummary) -> str:
    # Times, not ages: the same facts make the same text, however late it is.
    when = utc(snapshot.until)
    if snapshot.since[:16] != snapshot.until[:16]:
        when = f"{utc(snapshot.since)} to {when}"
    return printable(f"{snapshot.region} as of {when} ({snapshot.path or 'not saved'})")


def utc(at: str) -> str:
    """Return a timestamp of a snapshot to the minute: `2026-11-20 12:00 UTC`."""
    return f"{at[:10]} {at[11:16]} UTC"


def missing_lines(skipped: Sequence[Gap]) -> list[str]:
    """Return one line for each missing fact: kind, reason, whether a retry may help, and the rules that need it."""
    lines: dict[str, list[str]] = {}
    for skip in skipped:
        passes = "trying again may help" if skip.transient else "trying again will not help"
        names = lines.setdefault(f"missing {skip.fact}: {skip.reason} ({passes})", [])
        if skip.rule and skip.rule not in names:
            names.append(skip.rule)
    return [f"{line}; needed by {', '.join(names)}" for line, names in lines.items()]


def _skips(skipped: Sequence[Gap], verbose: bool = False) -> Iterator[str]:
    """Yield one line for each reason, with the rules and objects that were not judged.

    Reasons that begin alike, up to a colon, and concern the same objects share a line unless `verbose`.
    """
    groups: dict[str, tuple[list[str], list[str]]] = {}
    several = len({s.path for s in skipped if s.path}) > 1
    for skip in skipped:
        if skip.rule and not skip.path:
            continue
        rules, places = groups.setdefault(skip.reason, ([], []))
        where = skip.object.label if skip.object else skip.path + f":{skip.line}" * bool(skip.line)
        if skip.object and several:
            where += f" ({skip.path})"
        if skip.rule and skip.rule not in rules:
            rules.append(skip.rule)
        if where not in places:
            places.append(where)
    lines: dict[tuple[str, str, str], list[str]] = {}
    for reason, (rules, places) in groups.items():
        start = reason if verbose else reason.partition(": ")[0]
        what = f" ({', '.join(rules)})" if rules else ""
        lines.setdefault((list_first(places, len(places) if verbose else 3), start, what), []).append(reason)
    for (where, _, what), reasons in lines.items():
        more = f"; and {len(reasons) - 1:,} more" if len(reasons) > 1 else ""
        yield printable(f"Skipped: {where}: {reasons[0]}{more}{what}.")


def _without_facts(skipped: Sequence[Gap]) -> list[str]:
    """Return the rules that need facts from AWS, if the run has none."""
    return sorted({skip.rule for skip in skipped if skip.rule and not skip.path and skip.reason == NO_SNAPSHOT})


def _unasked(skipped: Sequence[Gap]) -> str:
    """Return how many rules lack facts from AWS; empty if none does."""
    rules = _without_facts(skipped)
    if not rules:
        return ""
    need = "it needs" if len(rules) == 1 else "they need"
    return f"{counted(len(rules), 'rule')} did not run, because {need} facts from AWS (nodelint refresh)"


def _wants(skipped: Sequence[Gap], verbose: bool = False) -> Iterator[str]:
    """Yield a line for each reason that kept rules from running. With `verbose`, include missing AWS facts."""
    unjudged: dict[str, list[str]] = {}
    for skip in skipped:
        if skip.rule and not skip.path and skip.reason != NO_SNAPSHOT:
            unjudged.setdefault(skip.reason, []).append(skip.rule)
    for reason, names in unjudged.items():
        shown = list_first(names, len(names) if verbose else 3)
        yield printable(f"Not run because a fact from AWS is missing: {shown}: {reason}.")
    if verbose and (rules := _without_facts(skipped)):
        yield f"Not run, because they need facts from AWS (`nodelint refresh` gets them): {', '.join(rules)}."
