"""The effects of an upgrade, as text, Markdown and JSON (schemas/upgrade.schema.json)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from nodelint.base.printable import printable
from nodelint.base.tuples import NamedTuple
from nodelint.model.finding import SEVERITIES, Severity, Span
from nodelint.model.messages import counted
from nodelint.model.releases import Version
from nodelint.model.support import eks_support
from nodelint.report.locations import place_column
from nodelint.report.style import PAGE, TextStyle, fitted, wrap
from nodelint.upgrade import FindingChange, Location, Note, Upgrade, severity_of
from nodelint.upgrade.changes import ReleaseChange
from nodelint.upgrade.settings import SettingChange

_PLACES = 5
_COLOURS: dict[Severity, str] = {"error": "red", "warning": "yellow", "info": "blue"}
_PARTS = (
    ("before", "Before the upgrade"),
    ("with", "With the upgrade"),
    ("after", "After the upgrade"),
    (None, "What changes by itself"),
)
_DRIFT = {"none": "", "possible": ", may replace nodes", "certain": ", replaces nodes"}


class _PrintedChange(NamedTuple):
    """A change of a release, or of a setting, as it is printed."""

    severity: Severity
    title: str
    text: str
    do: str | None
    places: Sequence[Location]
    findings: Sequence[FindingChange] = ()


def upgrade_text(outcome: Upgrade, everything: bool = False, look: TextStyle = PAGE) -> str:
    """Return the steps, the tasks by time, the changes, and the findings that appear or disappear."""
    lines = [look.style(headline(outcome), bold=True), ""]
    for step in steps(outcome):
        lines += wrap(step, look.width, "  ", "  ")
    for when, title in _PARTS:
        entries = _entries(outcome, when)
        if entries:
            lines += ["", look.style(title, bold=True)]
        for entry in entries:
            lines += ["", *_entry(entry, everything, look)]
    for title, findings in _findings(outcome):
        lines += ["", look.style(title, bold=True), ""]
        for group in _alike(findings):
            lines += _group(group, everything, look)
    if everything and outcome.unseen:
        lines += ["", look.style("Further changes, which manifests do not show", bold=True), ""]
        for change, release in outcome.unseen:
            lines += wrap(f"{_release(release)} {change.subject}: {change.text}", look.width, "  ", "  ")
    last = [row for line in _sum(outcome, everything) for row in fitted(line, look)]
    return "\n".join([*lines, "", *last])


def headline(outcome: Upgrade) -> str:
    """Return the two releases and the number of objects in one sentence."""
    files = len({obj.source.path for obj in outcome.objects})
    objects = counted(len(outcome.objects), "object")
    return f"Karpenter {outcome.old.karpenter} to {outcome.new.karpenter}: {objects} in {counted(files, 'file')}"


def steps(outcome: Upgrade) -> Iterator[str]:
    """Yield the steps of the route, each as a sentence."""
    route = outcome.route
    yield from (*route.trouble, *route.healed)
    for stop in route.stops:
        yield f"Stop at {stop.release}: {stop.why}."
    reached = f"what {outcome.new.karpenter} supports is not known"
    if route.new is not None:
        reached = f"{outcome.new.karpenter} supports {route.new}"
    ranges = f"Kubernetes: {outcome.old.karpenter} supports {route.old}, {reached}"
    if outcome.new.kubernetes is None and route.common is not None:
        ranges += f"; the cluster must run {route.common} during the upgrade"
    yield f"{ranges}."
    ends = [
        f"{s.minor} until {s.until or 'the next minor version is out'}{' (long-term)' if s.lts else ''}"
        for s in route.support
    ]
    yield f"Support: {', '.join(ends)}."
    eks = eks_support(outcome.new.kubernetes) if outcome.new.kubernetes is not None else None
    if eks is not None:
        days = f"standard support until {eks.standard}, extended until {eks.extended}"
        yield f"EKS: Kubernetes {outcome.new.kubernetes} has {days}."


def _entries(outcome: Upgrade, when: str | None) -> list[_PrintedChange]:
    entries = [_of_note(note) for note in outcome.notes if note.change_time == when]
    entries += [_of_shift(shift) for shift in outcome.settings if _change_time(shift) == when]
    return sorted(entries, key=lambda entry: SEVERITIES.index(entry.severity))


def _of_note(note: Note) -> _PrintedChange:
    title = f"{note.change.subject} ({_release(note.release)}{_DRIFT[note.change.drift]})"
    return _PrintedChange(note.severity, title, note.change.text, note.change.do, note.places, note.findings)


def _of_shift(shift: SettingChange) -> _PrintedChange:
    title = f"{shift.setting.name} ({shift.release})"
    return _PrintedChange(severity_of(shift), title, shift_text(shift), None, (Location(shift.setting.node),))


def _change_time(shift: SettingChange) -> str | None:
    if shift.begins:
        return "after" if shift.setting.kind == "flag" else None
    return "with" if shift.setting.kind == "flag" else "after"


def shift_text(shift: SettingChange) -> str:
    """Return what happens to a setting."""
    kind = shift.setting.kind
    if shift.begins:
        known = {"value": "From this release on, the chart reads the value. Before, the value has no effect."}
        known["variable"] = (
            "From this release on, the controller reads the variable. Before, the variable has no effect."
        )
        known["flag"] = "From this release on, the controller knows the flag. Older controllers do not start with it."
        known["gate"] = "From this release on, the gate exists. Before, it has no effect."
        return known[kind]
    gone = {"value": "The chart no longer reads the value: you can remove it."}
    gone["variable"] = "The controller no longer reads the variable: you can remove it."
    gone["flag"] = "The controller does not start with the flag: remove it in the same step."
    gone["gate"] = "The gate no longer exists: you can remove it."
    return gone[kind]


def _release(release: Version | None) -> str:
    return "not released yet" if release is None else str(release)


def _entry(entry: _PrintedChange, everything: bool, look: TextStyle) -> Iterator[str]:
    severity, title, text, do, places, findings = entry
    yield f"  {look.style(severity, fg=_COLOURS[severity])} {look.style(title, bold=True)}"
    yield from wrap(text, look.width, "    ", "    ")
    if do is not None:
        first, *rest = wrap(f"help: {do}", look.width, "    ", "    ")
        yield first.replace("help:", look.style("help:", bold=True, fg="cyan"), 1)
        yield from rest
    shown = places if everything else places[:_PLACES]
    for place in shown:
        label = f"  {printable(place.label)}" if place.label else ""
        yield from fitted(f"      {place_column(place.span)}{label}", look)
    if len(places) > len(shown):
        yield f"      and {counted(len(places) - len(shown), 'more place')}"
    for change in findings if everything else findings[:_PLACES]:
        news = "new" if change.appears else "gone"
        yield from fitted(f"      {news}: {change.result.rule.name}: {_message(change)}{_fix(change)}", look)


def _findings(outcome: Upgrade) -> Iterator[tuple[str, list[FindingChange]]]:
    for appears, title in ((True, "Findings of check that appear"), (False, "Findings of check that go away")):
        found = [change for change in outcome.finding_changes if change.appears == appears]
        if found:
            yield title, found


def _alike(findings: Sequence[FindingChange]) -> list[list[FindingChange]]:
    """Return findings of one rule, severity and release in groups, the most severe first."""
    groups: dict[tuple[int, str, Version], list[FindingChange]] = {}
    for change in findings:
        key = (SEVERITIES.index(change.result.severity), change.result.rule.name, change.release)
        groups.setdefault(key, []).append(change)
    return [groups[key] for key in sorted(groups)]


def _group(group: Sequence[FindingChange], everything: bool, look: TextStyle) -> Iterator[str]:
    severity = group[0].result.severity
    name = look.style(group[0].result.rule.name, bold=True)
    yield f"  {look.style(severity, fg=_COLOURS[severity])} {name} (from {group[0].release} on)"
    shown = group if everything else group[:_PLACES]
    for change in shown:
        yield from fitted(f"    {place_column(change.result.span)}: {_message(change)}{_fix(change)}", look)
    if len(group) > len(shown):
        yield f"    and {counted(len(group) - len(shown), 'more place')}"


def _message(change: FindingChange) -> str:
    return printable(change.result.finding.message)


def _fix(change: FindingChange) -> str:
    if change.early is None:
        return ""
    return "; you can apply its fix before the upgrade" if change.early else "; apply its fix after the upgrade"


def _sum(outcome: Upgrade, everything: bool) -> Iterator[str]:
    grave = ", ".join(counted(outcome.number_of(severity), severity) for severity in SEVERITIES[:2])
    both = f"{counted(outcome.stay, 'finding')} of check in both releases"
    yield f"{grave}, {outcome.number_of('info')} for information; {both}."
    if outcome.unseen and not everything:
        yield f"{counted(len(outcome.unseen), 'further change')} that manifests do not show: --all lists them."


# -- Markdown


def upgrade_markdown(outcome: Upgrade, everything: bool = False) -> str:
    """Return the report for a pull request: the verdict first, mere information folded."""
    from nodelint.report.markdown import code, inline

    parts = [f"### {headline(outcome)}", "", "".join(f"- {inline(step)}\n" for step in steps(outcome))]
    for when, title in _PARTS:
        entries = _entries(outcome, when)
        if entries:
            body = "".join(_item(entry, everything) for entry in entries)
            parts.append(_folded(title, len(entries), body) if when is None else f"#### {title}\n\n{body}")
    for title, findings in _findings(outcome):
        rows = "".join(
            f"- {code(place_column(change.result.span))} {change.result.severity} {change.result.rule.name}:"
            f" {inline(_message(change))} (from {change.release} on{_fix(change)})\n"
            for change in findings
        )
        parts.append(_folded(title, len(findings), rows))
    if everything and outcome.unseen:
        rows = "".join(
            f"- {_release(release)} {inline(change.subject)}: {inline(change.text)}\n"
            for change, release in outcome.unseen
        )
        parts.append(_folded("Further changes, which manifests do not show", len(outcome.unseen), rows))
    return "\n".join([*parts, *_sum(outcome, everything)]) + "\n"


def _item(entry: _PrintedChange, everything: bool) -> str:
    from nodelint.report.markdown import code, inline

    severity, title, text, do, places, findings = entry
    lines = [f"- **{severity}** {inline(title)}: {inline(text)}"]
    lines += [f"  - help: {inline(do)}"] if do is not None else []
    shown = places if everything else places[:_PLACES]
    lines += [f"  - {code(place_column(place.span))} {inline(printable(place.label))}".rstrip() for place in shown]
    if len(places) > len(shown):
        lines.append(f"  - and {counted(len(places) - len(shown), 'more place')}")
    lines += [f"  - {change.result.rule.name}: {inline(_message(change))}{_fix(change)}" for change in findings]
    return "\n".join(lines) + "\n"


def _folded(title: str, count: int, body: str) -> str:
    return f"<details><summary>{title} ({count})</summary>\n\n{body}\n</details>\n"


# -- JSON


def upgrade_json(outcome: Upgrade) -> dict[str, Any]:
    """Return the report of an upgrade as plain values for JSON, with all places and all changes."""
    route = outcome.route
    return {
        "version": 1,
        "from": str(outcome.old.karpenter),
        "to": str(outcome.new.karpenter),
        "route": {
            "kubernetes": {
                "cluster": str(outcome.new.kubernetes) if outcome.new.kubernetes else None,
                "from": _range(route.old),
                "to": _range(route.new),
                "common": _range(route.common),
            },
            "stops": [{"release": str(stop.release), "why": stop.why} for stop in route.stops],
            "trouble": list(route.trouble),
            "healed": list(route.healed),
            "support": [{"minor": s.minor, "until": s.until, "longTerm": s.lts} for s in route.support],
        },
        "changes": [_note_json(note) for note in outcome.notes],
        "settings": [_shift_json(shift) for shift in outcome.settings],
        "findings": [_finding_json(change) for change in outcome.finding_changes],
        "unseen": [_change_json(change, release) for change, release in outcome.unseen],
        "summary": {**{severity: outcome.number_of(severity) for severity in SEVERITIES}, "unchanged": outcome.stay},
    }


def _range(span: Any) -> dict[str, str] | None:
    return None if span is None else {"min": str(span.least), "max": str(span.most)}


def _change_json(change: ReleaseChange, release: Version | None) -> dict[str, Any]:
    return {
        "id": change.id,
        "release": None if release is None else str(release),
        "area": change.area,
        "subject": change.subject,
        "text": change.text,
        "source": change.source,
    }


def _note_json(note: Note) -> dict[str, Any]:
    return {
        **_change_json(note.change, note.release),
        "severity": note.severity,
        "do": note.change.do,
        "when": note.change_time,
        "drift": note.change.drift,
        "places": [{**_position_json(place.span), "object": place.label or None} for place in note.places],
        "findings": [_finding_json(change) for change in note.findings],
    }


def _shift_json(shift: SettingChange) -> dict[str, Any]:
    setting = shift.setting
    return {
        "kind": setting.kind,
        "name": setting.name,
        "value": setting.value,
        "release": str(shift.release),
        "begins": shift.begins,
        "severity": severity_of(shift),
        "text": shift_text(shift),
        "when": _change_time(shift),
        **_position_json(Location(setting.node).span),
    }


def _finding_json(change: FindingChange) -> dict[str, Any]:
    result = change.result
    return {
        "rule": result.rule.name,
        "severity": result.severity,
        "message": result.finding.message,
        "release": str(change.release),
        "appears": change.appears,
        "fixable": result.fixable,
        "fixBefore": change.early,
        "object": result.object.label if result.object else None,
        **_position_json(result.span),
    }


def _position_json(span: Span) -> dict[str, Any]:
    at = span.source.position(span.start)
    return {"path": span.source.path, "line": at.line, "column": at.column}
