"""Which NodePool accepts which workload, as JSON, text and Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set

from nodelint.base.printable import printable, printable_lines
from nodelint.base.types import TYPE_CHECKING
from nodelint.fit.attempt import PoolVerdict
from nodelint.fit.pods import add_requests
from nodelint.fit.pools import EmptyPool
from nodelint.fit.refusal import PoolRefusal, shown_requests
from nodelint.fit.tree import WorkloadFit
from nodelint.model.finding import Span, label_of, written_place
from nodelint.model.keys import CPU, MEMORY
from nodelint.model.messages import counted, list_first, short
from nodelint.model.quantities import format_quantity
from nodelint.report.all_clear import list_all_clears, say_all_clear
from nodelint.report.locations import object_place, place_line
from nodelint.report.style import WIDTH, Style, plain, wrap
from nodelint.text import Node

if TYPE_CHECKING:
    from typing import Any

    from nodelint.fit.lacking import Explanation, Lack
    from nodelint.fit.widening import WayOut


_NAMED = 3
"""The most NodePools that a line names. The line counts the others."""


def fit_json(fits: Sequence[WorkloadFit]) -> dict[str, Any]:
    """Return the verdicts as plain data. Workloads without a decision are in `skipped`, not in `workloads`."""
    made: dict[int, dict[str, Any]] = {}
    return {
        "workloads": [_workload_json(fit, made) for fit in fits if fit.decided and fit.verdicts],
        "skipped": [
            {**_identity(fit), "reasons": list(dict.fromkeys(fact.reason for fact in fit.unknown))}
            for fit in fits
            if not fit.decided or not fit.verdicts
        ],
    }


def _identity(fit: WorkloadFit) -> dict[str, Any]:
    workload = fit.workload
    at = written_place(workload.name_node)
    return {
        "kind": workload.kind,
        "name": workload.name if isinstance(workload.name, str) else None,
        "namespace": workload.namespace,
        "path": at.source.path,
        "line": _line(at),
        **({"with": label} if (label := label_of(workload.source)) else {}),
    }


def _workload_json(fit: WorkloadFit, made: dict[int, dict[str, Any]]) -> dict[str, Any]:
    """Return a workload as plain data; `made` caches verdicts that equal pods share."""
    from nodelint.report.json_text import SharedObject

    for verdict in fit.verdicts:
        if id(verdict) not in made:
            made[id(verdict)] = SharedObject(_pool_json(verdict)) if verdict.fits else _pool_json(verdict)
    return {
        **_identity(fit),
        "possible": fit.possible,
        "note": _note(fit),
        "pools": [made[id(verdict)] for verdict in fit.verdicts],
        "suggestions": [
            {"message": way_out.message, "path": at.source.path, "line": _line(at)}
            for way_out in _suggestions(fit)
            for at in [written_place(way_out.at)]
        ],
    }


def _note(fit: WorkloadFit) -> str | None:
    if fit.crowding is not None:
        return fit.crowding.text
    return None if fit.admission is None else fit.admission.reason


def _pool_json(verdict: PoolVerdict) -> dict[str, Any]:
    refusal = verdict.refusal
    explanation = refusal.explanation if refusal is not None else None
    at = written_place(verdict.pool.pool.name_node)
    return {
        "name": verdict.pool.name,
        "path": at.source.path,
        "line": _line(at),
        **({"with": label} if (label := label_of(verdict.pool.pool.source)) else {}),
        "fits": verdict.fits,
        "instanceTypes": len(verdict.types),
        "cheapest": cheapest(verdict),
        "reason": None if refusal is None else refusal.reason,
        "message": None if refusal is None else refusal.message,
        "explanation": None if explanation is None else explanation.text,
        "lacking": [] if explanation is None else [_lack_json(lack) for lack in explanation.lacking],
        "daemonSets": [] if refusal is None else [daemon.workload.name for daemon in refusal.daemons],
    }


def _lack_json(lack: Lack) -> dict[str, Any]:
    amounts = {"requested": lack.requested, "byDaemonSets": lack.by_daemons, "offered": lack.offered}
    return {
        "resource": lack.resource,
        **{name: format_quantity(lack.resource, amount) for name, amount in amounts.items()},
        "instanceType": lack.instance_type,
    }


def cheapest(verdict: PoolVerdict) -> dict[str, Any] | None:
    """Return the cheapest type for the pod, with its on-demand price in USD per hour and allocatable resources.

    None if no price is known.
    """
    resolution, sizes = verdict.pool.resolution, verdict.pool.sizes
    found = resolution.prices.cheapest_type(verdict.types)
    if found is None:
        return None
    price, name = found
    size = sizes.of_type(name)
    whole = sizes.exact
    return {
        "instanceType": name,
        "pricePerHour": price,
        "cpu": resolution.catalog.label(name, CPU),
        "memoryMiB": resolution.catalog.label(name, MEMORY),
        "allocatable": {
            r: None if amount is None else format_quantity(r, amount)
            for r, amount in sorted(size.allocatable.items())
        }
        if whole
        else None,
    }


def _suggestions(fit: WorkloadFit) -> Iterable[WayOut]:
    """Return the suggestions for a workload; empty if a pool accepts its pods."""
    if fit.possible:
        return ()
    from nodelint.fit.ways_out import suggestions

    return suggestions(fit)


def fit_text(fits: Sequence[WorkloadFit], *, width: int = WIDTH, style: Style = plain) -> str:
    """Return the verdicts as text. Workloads that no pool accepts come last, next to the prompt."""
    ordered = sorted(fits, key=lambda fit: (fit.decided and not fit.possible, fit.decided))
    made: dict[int, list[str]] = {}
    blocks = ["\n".join(_workload(fit, width, made)) for fit in ordered]
    text = printable_lines("\n\n".join(blocks))
    if style is not plain:
        text = "\n".join(_coloured(line, style) for line in text.split("\n"))
    several = next((sorted(same) for fit in fits if (same := _names_of_several(fit))), [])
    note = wrap(_say_several(several), width, "") if several else ()
    return "\n".join([f"{text}\n\n{summary(fits)}", *note])


def _say_several(names: Sequence[str]) -> str:
    """Return that workloads of one cluster may be compared with the pools of another."""
    quoted = list_first([f"`{short(name)}`" for name in names], _NAMED)
    return (
        f"note: several NodePools have the name {quoted}. nodelint compares each workload with all NodePools of the "
        "files. To compare those of one cluster, name its folders: `nodelint fit clusters/prod`"
    )


def summary(fits: Sequence[WorkloadFit]) -> str:
    """Return how many workloads have a pool, and how many do not."""
    decided = [fit for fit in fits if fit.decided]
    none = [fit for fit in decided if not fit.possible]
    static = [fit for fit in decided if fit.static_pools and not any(verdict.fits for verdict in fit.verdicts)]
    crowded = [fit for fit in decided if fit.crowding is not None]
    whole = len(decided) - len(none) - len(static) - len(crowded)
    parts = [f"{counted(whole, 'workload')} with a pool", f"{len(none):,} without"]
    parts += [f"{len(static):,} left to nodes of static pools"] if static else []
    parts += [f"{len(crowded):,} with a pool for some of its pods"] if crowded else []
    if len(fits) > len(decided):
        parts.append(f"{len(fits) - len(decided):,} not decided")
    return f"{', '.join(parts)}."


_REFUSED = tuple(f"=> {sentence}" for sentence in list_all_clears("fit"))


def _coloured(line: str, style: Style) -> str:
    if line.startswith("=>"):
        # Yellow if a node may accept the pod anyway: one of a node group, or after a change at admission.
        refused = "red" if line in _REFUSED else "yellow"
        doubtful = line.startswith("=> no ") or line.endswith(" pods")
        return style(line, bold=True, fg=refused if doubtful else "green")
    return style(line, bold=True) if line[:1].isalpha() else line


def _workload(fit: WorkloadFit, width: int, made: dict[int, list[str]]) -> Iterator[str]:
    workload = fit.workload
    namespace = f" in {workload.namespace}" if workload.namespace else ""
    yield from wrap(f"{_label(fit)}{namespace}  {object_place(workload)}", width, "")
    same = _names_of_several(fit)
    yield from wrap(f"=> {_headline(fit, same)}", width, "")
    for verdict in fit.verdicts:
        if id(verdict) not in made:
            made[id(verdict)] = list(_verdict(verdict, width, same))
        yield from made[id(verdict)]
    for fact in fit.unknown if fit.possible else ():
        yield from wrap(f"not known: {fact.reason} ({place_line(fact.at)})", width, "  ")
    if fit.crowding is not None:
        yield from wrap(f"note: {fit.crowding.text} ({place_line(fit.crowding.node)})", width, "  ")
    if fit.admission is not None:
        yield from wrap(f"note: {fit.admission.reason} ({place_line(fit.admission.at)})", width, "  ")
    for way_out in _suggestions(fit):
        yield from wrap(f"help: {way_out.message} ({place_line(way_out.at)})", width, "  ")


def _label(fit: WorkloadFit) -> str:
    """Return kind and name of a workload, or the text in place of an unknown name."""
    workload = fit.workload
    if isinstance(workload.name, str) or workload.node.find("metadata", "name") is None:
        return workload.label
    return f"{workload.kind}/{short(workload.name_node.unquoted)}"


def _headline(fit: WorkloadFit, same: Set[str]) -> str:
    if not fit.verdicts:
        return "not decided: no pod to look at" if fit.workload.pod_spec is None else "no pool to look at"
    if fit.ignored is not None:
        if fit.ignored.on_purpose:
            return f"no pool, on purpose: {fit.ignored.message}"
        return "no pool: Karpenter ignores the pod"
    taking = [verdict for verdict in fit.verdicts if verdict.fits]
    if not taking and fit.static_pools:
        return "no node is launched for it: static pools keep their nodes, and these may have room"
    if not taking and fit.elsewhere:
        return "no NodePool takes it; a node group may"
    if not taking and fit.admission is not None:
        return "no pool takes it as it is written; what the API server adds lets it in"
    if not taking and fit.newer_types is not None:
        return "not known: no known instance type holds it, and a newer one may"
    if not taking:
        return say_all_clear("fit", [fit.unread_pool] if fit.unread_pool is not None else ())
    shown = [_quoted_name(verdict.pool, same) for verdict in taking[:_NAMED]]
    names = list_first([*shown, *(verdict.pool.name for verdict in taking[_NAMED:])], _NAMED)
    sure = "" if fit.decided else "may be taken by "
    part = f", for {fit.crowding.most} of its {fit.crowding.pods} pods" if fit.crowding is not None else ""
    return f"{sure}{names}{part}"


def _names_of_several(fit: WorkloadFit) -> set[str]:
    """Return the names that several pools have."""
    counts = Counter([verdict.pool.name for verdict in fit.verdicts])
    return {name for name, count in counts.items() if count > 1}


def _quoted_name(pool: EmptyPool, same: Set[str]) -> str:
    return f"`{short(pool.name)}`" + (f" ({object_place(pool.pool)})" if pool.name in same else "")


def _verdict(verdict: PoolVerdict, width: int, same: Set[str]) -> Iterator[str]:
    pool = verdict.pool
    name = f"{pool.name} ({object_place(pool.pool)})" if pool.name in same else pool.name
    refusal = verdict.refusal
    if refusal is None:
        words = f"yes  {name}: {counted(len(verdict.types), 'type')}"
        small = pool.resolution.prices.cheapest_type(verdict.types)
        if small is not None:
            words += f", from {small[1]} at ${small[0]:,.4f}/h"
        if not pool.exact:
            words += " (as far as is known)"
        elif verdict.preferences_open:
            words += " (at most: `preferencePolicy` is not known)"
        yield from wrap(words, width, "  ", "       ")
        return
    yield from wrap(f"no   {name}: {refusal.message}", width, "  ", "       ")
    explanation = refusal.explanation
    if explanation is not None:
        yield from wrap(explanation.text, width, "       ")
    where = dict.fromkeys(map(place_line, refusal_places(refusal, explanation)))
    if where:
        yield from wrap(", ".join(where), width, "       ")
    if refusal.daemons:
        yield from wrap(_say_daemons(refusal), width, "       ")
    if verdict.pool.blocker is not None and refusal.reason != "not-ready":
        obj, problem = verdict.pool.blocker
        at = place_line(problem.node)
        yield from wrap(f"nothing is launched with {obj.label}: {problem.message} ({at})", width, "       ")


def refusal_places(refusal: PoolRefusal, explanation: Explanation | None) -> list[Node]:
    """Return the nodes of a refusal: in the pool, in the workload, and those of the explanation."""
    more = explanation.places if explanation is not None else ()
    return [node for node in (refusal.at_pool, refusal.at_workload, *more) if node is not None]


def _say_daemons(refusal: PoolRefusal) -> str:
    """Return which DaemonSets leave no room or no port for the pod."""
    first = [f"{d.workload.label} ({place_line(d.workload.name_node)})" for d in refusal.daemons[:3]]
    more = f" and {len(refusal.daemons) - 3:,} more" if len(refusal.daemons) > 3 else ""
    if refusal.port is not None:
        return f"port {refusal.port} of the node is taken by {first[0]}"
    requests = add_requests(daemon.pod.requests for daemon in refusal.daemons)
    amounts = shown_requests({resource: amount for resource, amount in requests.items() if resource != "pods"})
    verb = "takes" if len(refusal.daemons) == 1 else "take"
    return f"together with {', '.join(first)}{more}, which {verb} {amounts} of each node"


def fit_markdown(fits: Sequence[WorkloadFit]) -> str:
    """Return a Markdown table with a row for each workload; workloads that no pool accepts come first."""
    from nodelint.report.markdown import inline, table_head, table_row

    rows = table_head("", "workload", "pool", "where")
    for fit in sorted(fits, key=lambda fit: (fit.possible, not fit.decided)):
        sign = "🟢" if fit.possible and fit.decided else "🟡" if fit.possible or not fit.decided else "🔴"
        what = _headline(fit, _names_of_several(fit))
        if fit.decided and not fit.possible and fit.ignored is None:
            why = dict.fromkeys(_say_why(verdict) for verdict in fit.verdicts if verdict.refusal is not None)
            what = "; ".join([what, *(short(reason, 240) for reason in why)])
        cells = (sign, f"`{_label(fit)}`", what, f"`{object_place(fit.workload)}`")
        rows += table_row(*(inline(printable(cell)) for cell in cells))
    return f"### nodelint fit: {summary(fits)}\n\n{rows.rstrip()}"


def _say_why(verdict: PoolVerdict) -> str:
    refusal = verdict.refusal
    explanation = refusal.explanation if refusal is not None else None
    text = explanation.text if explanation is not None else refusal.message if refusal is not None else ""
    return f"{verdict.pool.name}: {text}"


def _line(at: Node | Span) -> int:
    return at.source.position(at.start).line
