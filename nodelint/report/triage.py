"""The causes in a controller's log, as text and as JSON (schemas/triage.schema.json)."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

from nodelint.base.printable import printable
from nodelint.base.types import TYPE_CHECKING
from nodelint.lint.engine import Report, Target
from nodelint.model.messages import counted, list_first
from nodelint.model.releases import NEWEST, OLDEST
from nodelint.report.all_clear import say_all_clear
from nodelint.report.style import PAGE, TextStyle, cells, fitted, wrap
from nodelint.report.text import finding_text
from nodelint.triage import LogGroup, Triage, format_time

if TYPE_CHECKING:
    from nodelint.triage.requests import RequestAdvice

_NAMES = 3
_EXAMPLE = 400
_ENCODED = re.compile(r"[A-Za-z0-9_-]{100,}")
_HEADS = {"stays": ("STAYS", "red"), "unclear": ("UNCLEAR", "yellow"), "passes": ("PASSES", "green")}
_SOURCES = {"log": "", "given": " (as given)"}
_READ = {"log": ("line", "lines"), "messages": ("message", "messages")}
_READ_OBJECTS = ("event or unmet condition", "events and unmet conditions")


def triage_text(read: Triage, path: str, look: TextStyle = PAGE) -> str:
    """Return the causes in a log, lasting ones first, each with its meaning and advice."""
    lines = [row for line in _head(read, path) for row in fitted(line, look)]
    for group in read.groups:
        lines += ["", *_group(group, read, look)]
    lines += ["", *fitted(_sum(read), look)]
    if read.disruptions:
        lines += fitted(_say_disruptions(read), look)
        lines += [row for line in _list_disrupted(read) for row in fitted(line, look)]
    if read.shapes_dropped:
        lines.append(f"{read.shapes_dropped:,} lines of further unknown messages are left out.")
    return "\n".join(lines)


def triage_json(read: Triage, path: str) -> dict[str, Any]:
    """Return the causes in a log as plain values for JSON."""
    counts = {verdict: sum(g.verdict == verdict for g in read.groups) for verdict in _HEADS}
    return {
        "version": 1,
        "log": {
            "path": path,
            "kind": read.kind,
            "lines": read.lines,
            "read": read.read,
            "unread": read.unread,
            "cutFirst": read.cut_first,
            "cutLast": read.cut_last,
            "first": _time(read.first),
            "last": _time(read.last),
            "releases": [{"version": str(r.version), "from": r.source} for r in read.releases],
        },
        "groups": [_group_json(group) for group in read.groups],
        "disruptions": dict(sorted(read.disruptions.items())),
        "disrupted": [
            {
                "reason": node.reason or None,
                "time": f"{node.time}Z" if node.time else None,
                "node": node.node or None,
                "nodeClaim": node.claim or None,
                "nodePool": node.pool or None,
                "instanceType": node.instance_type or None,
            }
            for node in read.disrupted
        ],
        "summary": {**counts, "unknownLinesLeftOut": read.shapes_dropped},
    }


def _head(read: Triage, path: str) -> Iterator[str]:
    releases = ", ".join(f"{r.version}{_SOURCES[r.source]}" for r in read.releases) or "(release not known)"
    where = "standard input" if path == "-" else printable(path)
    if read.first is None or read.last is None:
        span = "without times"
    else:
        span = f"{_day(read.first)} to {_until(read.last, read.first)} UTC"
    singular, many = _READ.get(read.kind, _READ_OBJECTS)
    yield f"{where}: {read.read:,} {singular if read.read == 1 else many} of Karpenter {releases}, {span}"
    if read.unread:
        cut = [which for which, is_cut in (("first", read.cut_first), ("last", read.cut_last)) if is_cut]
        lines = counted(read.unread, "line")
        if cut:
            yield f"{lines} could not be read, the {' and the '.join(cut)} among them: the log seems to be cut there."
        else:
            yield f"{lines} {'is' if read.unread == 1 else 'are'} ignored: not lines of the controller."
    old = [str(r.version) for r in read.releases if r.version < OLDEST]
    if old:
        are = "is" if len(old) == 1 else "are"
        oldest = f"{OLDEST}, the oldest release that nodelint knows"
        yield f"{', '.join(old)} {are} older than {oldest}: some messages may not be recognized."


def _group(group: LogGroup, read: Triage, look: TextStyle) -> Iterator[str]:
    head, colour = _HEADS[group.verdict] if group.cause else ("CANNOT TELL", "yellow")
    margin = look.width, "  ", "  "
    over = " (over?)" if group.over else ""
    name = f"  [{group.cause.id}]" if group.cause else ""
    what = group.title if group.cause else "a message that nodelint does not know"
    sign = f"{head}{over}"
    first, *more = wrap(what, look.width, f"{sign}  ", "  ")
    titles = [f"{look.style(sign, fg=colour, bold=True)}  {look.style(first[len(sign) + 2 :], bold=True)}"]
    titles += [look.style(row, bold=True) for row in more]
    fits_beside = cells([first, *more][-1] + name) <= look.width
    yield from [*titles[:-1], titles[-1] + name] if fits_beside else [*titles, name]
    yield from fitted(f"  {_times(group, read)}", look)
    if group.cause is None:
        yield from wrap(f"like: {printable(group.title)}", *margin)
    names = [_list_names(kind, found) for kind, found in group.names.items()]
    if names:
        yield from wrap("; ".join(names) + (f"; up to {group.more:,} more names" if group.more else ""), *margin)
    if group.lasting:
        hours, minutes = divmod(int(group.lasting) // 60, 60)
        yield from wrap(
            f"Usually this error passes by itself, but in this log it has lasted for {hours} h {minutes} min "
            "without a break.",
            *margin,
        )
    if group.case:
        yield from wrap(_meaning(group), *margin)
    first_help, *more_help = wrap(f"help: {_advice(group)}", *margin)
    yield first_help.replace("help:", look.style("help:", bold=True, fg="cyan"), 1)
    yield from more_help
    example = "example" if read.kind == "objects" else f"line {group.example.line:,}"
    yield from wrap(f"{example}: {_example(group)}", *margin)
    if group.rules:
        looks = "rule that looks" if len(group.rules) == 1 else "rules that look"
        yield from wrap(f"{looks} for it: {', '.join(group.rules)}", *margin)
    for rule, reason in group.not_judged:
        yield from wrap(f"{rule} could not judge: {printable(reason)}", *margin)
    for result in group.findings:
        yield textwrap.indent(finding_text(result, look._replace(width=look.width - 4, terminal=False)), "    ")


def _meaning(group: LogGroup) -> str:
    """Return the meaning of a group, with the resource amounts in its message."""
    found = _explain_amounts(group)
    means = group.case.means if group.case else ""
    return f"{found.means} {means}" if found is not None and found.do is None else found.means if found else means


def _advice(group: LogGroup) -> str:
    """Return the advice for a group."""
    found = _explain_amounts(group)
    if found is not None and found.do is not None:
        return found.do
    return group.case.do if group.case else _next_step(group)


def _explain_amounts(group: LogGroup) -> RequestAdvice | None:
    if group.cause is None or group.cause.id not in _WITH_AMOUNTS:
        return None
    from nodelint.triage.requests import explain_requests

    return explain_requests(f"{group.example.message}: {group.example.error}")


_WITH_AMOUNTS = ("pod-no-room",)
"""Causes whose messages state the requests of a pod."""

_DESCRIBE = {"NodePool": "nodepool", "EC2NodeClass": "ec2nodeclass", "NodeClaim": "nodeclaim", "Node": "node"}


def _next_step(group: LogGroup) -> str:
    """Return a command for an unknown message: the named objects may explain it."""
    named = [
        f"kubectl describe {_DESCRIBE[kind]} {printable(names[0])}"
        for kind, names in group.names.items()
        if kind in _DESCRIBE and names
    ]
    pods = [name.rpartition("/") for name in group.names.get("Pod", ())[:1]]
    named += [f"kubectl describe pod {printable(name)} -n {printable(space or 'default')}" for space, _, name in pods]
    first = named[0] if named else "kubectl get nodepools,ec2nodeclasses,nodeclaims -o yaml"
    return (
        f"{first} | nodelint triage reads conditions and events. "
        "Lines of the log with the same reconcileID are of the same attempt."
    )


def _times(group: LogGroup, read: Triage) -> str:
    often = "once" if group.times == 1 else f"{group.times:,} times"
    if group.first is None or group.last is None:
        return often
    if group.first == group.last or format_time(group.first) == format_time(group.last):
        shown = f"{often}, {_day(group.first)}"
    else:
        shown = f"{often}, {_day(group.first)} to {_until(group.last, group.first)}"
    if group.over and read.last is not None:
        shown += f"; it seems to be over: the log goes on to {_until(read.last, group.last)} without it"
    return shown


def _example(group: LogGroup) -> str:
    shown = ": ".join(part for part in (group.example.message, group.example.error) if part)
    # What EC2 has encoded is for a machine, and hides what comes before and after it.
    shown = _ENCODED.sub("…", printable(" ".join(shown.split())))
    return shown if len(shown) <= _EXAMPLE else shown[: _EXAMPLE - 1] + "…"


def _list_names(kind: str, names: Sequence[str]) -> str:
    return f"{kind} {list_first(list(map(printable, names)), _NAMES)}"


def _sum(read: Triage) -> str:
    if not read.groups:
        return f"{say_all_clear('triage', range(read.unread + read.shapes_dropped))}."
    stays, unclear, passes = (sum(g.verdict == v for g in read.groups) for v in _HEADS)
    shown = [
        f"{stays} that {'stays' if stays == 1 else 'stay'}" if stays else "",
        f"{unclear} that {'is' if unclear == 1 else 'are'} unclear" if unclear else "",
        f"{passes} that {'passes by itself' if passes == 1 else 'pass by themselves'}" if passes else "",
    ]
    return f"{counted(len(read.groups), 'cause')}: {', '.join(filter(None, shown))}."


def _say_disruptions(read: Triage) -> str:
    """Return how often Karpenter disrupted nodes voluntarily, and which commands show the cause."""
    reasons = ", ".join(f"{reason} {count:,}" for reason, count in sorted(read.disruptions.items()) if reason)
    times = counted(sum(read.disruptions.values()), "time")
    by_way: dict[str, list[str]] = {}
    for reason in sorted(read.disruptions):
        by_way.setdefault(_way_to_cause(reason), []).append(reason)
    ways = [f"If {' or '.join(of)}, {way}" if len(by_way) > 1 and all(of) else way for way, of in by_way.items()]
    shown = f"Karpenter disrupted nodes {times}{f' ({reasons})' if reasons else ''}"
    return f"{shown}. This is no failure{'.' if len(by_way) > 1 else ':'} {'; '.join(ways)}."


def _list_disrupted(read: Triage) -> Iterator[str]:
    """Yield a line for each of the first disrupted nodes, and the number of others.

    The NodePool is the one after which the NodeClaim is named.
    """
    for node in read.disrupted[:_MOST_NODES]:
        about = ", ".join(
            filter(
                None,
                [node.pool and f"NodePool {node.pool}", node.claim and f"NodeClaim {node.claim}", node.instance_type],
            )
        )
        name = f"node {node.node}{f' ({about})' if about else ''}" if node.node else about
        yield "  " + "  ".join(filter(None, [node.time.replace("T", " "), node.reason, name]))
    if len(read.disrupted) > _MOST_NODES:
        yield f"  and {counted(len(read.disrupted) - _MOST_NODES, 'more node')}; `--format json` lists them"


_MOST_NODES = 10
"""The most disrupted nodes that the text names."""


def _way_to_cause(reason: str) -> str:
    """Return which command or field shows why Karpenter disrupts nodes for this reason."""
    if "drift" in reason:
        return (
            "`nodelint plan` shows which change of the manifests makes nodes drift, and"
            " `nodelint hash --live kubectl` which object differs from the cluster"
        )
    if "expir" in reason:
        return "a node that expires has reached `expireAfter` of its NodePool, which `nodelint why` shows"
    return "`nodelint why` says of each node why it stays or goes"


def _day(time: float) -> str:
    return format_time(time).replace("T", " ").removesuffix("Z")


def _until(time: float, since: float) -> str:
    """Return a time, without its date if it is the date of `since`."""
    text = _day(time)
    return text[11:] if text[:10] == _day(since)[:10] else text


def _time(time: float | None) -> str | None:
    return None if time is None else format_time(time)


def _group_json(group: LogGroup) -> dict[str, Any]:
    from nodelint.report.json import check_json
    from nodelint.report.run_info import Run

    findings: list[Any] = []
    if group.findings:
        # A finding looks the same here as from `check`; the release is not part of it.
        report = Report(tuple(group.findings), (), (), Target(group.releases[-1] if group.releases else NEWEST))
        findings = check_json(report, Run(0))["findings"]
    return {
        "cause": group.cause.id if group.cause else None,
        "title": group.title,
        "verdict": group.verdict,
        "means": _meaning(group) if group.case else None,
        "do": _advice(group),
        "rules": list(group.rules),
        "times": group.times,
        "first": _time(group.first),
        "last": _time(group.last),
        "over": group.over,
        "lasting": bool(group.lasting),
        "releases": [str(release) for release in group.releases],
        "objects": [{"kind": kind, "names": list(names)} for kind, names in group.names.items()],
        "moreNames": group.more,
        "example": group.example._asdict(),
        "findings": findings,
        "notJudged": [{"rule": rule, "reason": reason} for rule, reason in group.not_judged],
    }
