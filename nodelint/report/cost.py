"""The cost of a tree's workloads, as text, JSON and Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nodelint.base.printable import printable
from nodelint.base.types import TYPE_CHECKING
from nodelint.fit.cost import Bill, FleetCost, NodeCost, WorkloadCost
from nodelint.model.messages import counted, short
from nodelint.model.money import HOURS_A_MONTH, dollars, dollars_range
from nodelint.model.quantities import ONE
from nodelint.report.all_clear import say_all_clear
from nodelint.report.locations import place_line
from nodelint.report.style import wrap

if TYPE_CHECKING:
    from typing import Any

_MOST_WORKLOADS = 10


def cost_text(cost: FleetCost, width: int) -> str:
    """Return the cost as text."""
    return printable_block("\n".join(_lines(cost, width)))


def printable_block(text: str) -> str:
    """Return a text of several lines with unprintable characters escaped in each line."""
    return "\n".join(printable(line) for line in text.split("\n"))


def headline(cost: FleetCost) -> str:
    """Return the nodes and the cost of all workloads in one sentence."""
    least, most = cost.least, cost.most
    if least is None or most is None:
        return "not known"
    if not most.nodes:
        is_unknown = bool(cost.left_out) and not cost.workloads
        return "not known" if is_unknown else say_all_clear("cost", cost.not_counted)
    at_least = "at least " if cost.not_counted else ""
    nodes = _range(least.node_count, most.node_count)
    words = f"{at_least}{nodes} node{'' if nodes == '1' else 's'}"
    words += (
        f", {_range(least.cpus, most.cpus)} vCPU, {_range(least.memory_mib // 1024, most.memory_mib // 1024)} GiB"
    )
    if most.unpriced == most.node_count:
        return f"{words}; what they cost is not known"
    hourly = dollars_range(least.hourly, most.hourly)
    monthly = dollars_range(least.hourly * HOURS_A_MONTH, most.hourly * HOURS_A_MONTH)
    return f"{words}: {at_least}{hourly} an hour, {monthly} a month on demand"


def _range(least: int, most: int) -> str:
    """Return two amounts in words, the smaller first: `3 to 5`.

    More pods may need fewer nodes, if limits or other pods leave some pods without a node.
    """
    low, high = sorted((least, most))
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _lines(cost: FleetCost, width: int) -> Iterator[str]:
    yield from wrap(f"Cost of all pods in one batch, on empty pools: {headline(cost)}", width, "", "  ")
    most = cost.most
    if most is not None and most.nodes:
        for node in most.nodes:
            yield from wrap(node_words(node), width, "  ", "    ")
        idle = most.idle
        if idle is not None:
            yield f"  Not requested: {idle[0]:.0%} of the CPU and {idle[1]:.0%} of the memory that pods can use"
        shares = workload_shares(cost)
        for label, count, share, _ in shares[:_MOST_WORKLOADS]:
            yield from wrap(f"{label}  {count}  {share}", width, "  ", "    ")
        if len(shares) > _MOST_WORKLOADS:
            yield f"  and {counted(len(shares) - _MOST_WORKLOADS, 'more workload')} (--format json has all)"
    for reason in cost.not_counted:
        yield from wrap(f"Not counted: {reason}", width, "  ", "    ")
    yield from wrap(prices_text(cost), width, "  ", "    ")
    for note in cost.notes:
        yield from wrap(f"{note[:1].upper()}{note[1:]}", width, "  ", "    ")


def node_words(node: NodeCost) -> str:
    """Return the nodes of one type in words."""
    price = "price not known" if node.price is None else f"{dollars(node.price)} an hour each"
    by_whom = ", kept by the static pool" if node.static else ""
    what = node.type or "nodes of a type whose price is not known"
    return f"{node.number:,} {what} ({node.pool.name}{by_whom}): {price}"


def workload_shares(cost: FleetCost) -> list[tuple[str, str, str, float]]:
    """Return label, pods, cost per month in words, and cost in USD per hour of each workload, the highest
    cost first.
    """
    least, most = cost.least, cost.most
    if least is None or most is None:
        return []
    ordered = sorted(cost.workloads, key=lambda w: -most.shares.get(id(w.fit.workload), 0.0))
    return [
        (w.fit.workload.label, _pods(w), _share_text(w, least, most), most.shares.get(id(w.fit.workload), 0.0))
        for w in ordered
    ]


def _pods(workload: WorkloadCost) -> str:
    text = _range(workload.replicas.least or 0, workload.replicas.most or 0)
    return f"{text} pod{'' if text == '1' else 's'}"


def _share_text(workload: WorkloadCost, least: Bill, most: Bill) -> str:
    low, high = share_bounds(workload, least, most)
    return f"{dollars_range(low * HOURS_A_MONTH, high * HOURS_A_MONTH)} a month"


def share_bounds(workload: WorkloadCost, least: Bill, most: Bill) -> tuple[float, float]:
    """Return the lower and the upper cost of a workload's pods in USD per hour."""
    low, high = (bill.shares.get(id(workload.fit.workload), 0.0) for bill in (least, most))
    return min(low, high), max(low, high)


def prices_text(cost: FleetCost) -> str:
    """Return the region and the date of the prices."""
    day = f", of {cost.price_date}" if cost.price_date is not None else ""
    return f"Prices: on demand in {cost.price_region}{day}, the cheapest type that holds the pods of each node"


def cost_json(cost: FleetCost) -> dict[str, Any]:
    """Return the cost as plain data for JSON."""
    least, most = cost.least, cost.most
    return {
        "complete": cost.complete,
        "notCounted": list(cost.not_counted),
        "notes": list(cost.notes),
        "prices": {"region": cost.price_region, "date": cost.price_date, "hoursAMonth": HOURS_A_MONTH},
        "least": None if least is None else _bill_json(least),
        "most": None if most is None else _bill_json(most),
        "workloads": []
        if least is None or most is None
        else [_workload_json(w, least, most) for w in cost.workloads],
    }


def _workload_json(workload: WorkloadCost, least: Bill, most: Bill) -> dict[str, Any]:
    low, high = share_bounds(workload, least, most)
    subject = workload.fit.workload
    return {
        "kind": subject.kind,
        "name": subject.name if isinstance(subject.name, str) else None,
        "namespace": subject.namespace,
        "place": place_line(subject.name_node),
        "pods": {
            "least": workload.replicas.least,
            "most": workload.replicas.most,
            "why": workload.replicas.why or None,
        },
        "pricePerHour": {"least": round(low, 6), "most": round(high, 6)},
        "podsWithoutNode": most.left.get(id(subject), 0),
    }


def _bill_json(bill: Bill) -> dict[str, Any]:
    idle = bill.idle
    known = bill.unpriced == 0
    return {
        "nodes": bill.node_count,
        "pods": bill.pods,
        "cpu": bill.cpus,
        "memoryMiB": bill.memory_mib,
        "pricePerHour": round(bill.hourly, 6) if known else None,
        "leastPricePerHourWithSpot": None if bill.least_hourly is None else round(bill.least_hourly, 6),
        "pricePerMonth": round(bill.hourly * HOURS_A_MONTH, 2) if known else None,
        "nodesWithoutPrice": bill.unpriced,
        "requested": {
            "cpuMilli": bill.requested_cpu * 1000 // ONE,
            "memoryMiB": bill.requested_memory // (ONE << 20),
        },
        "idle": None if idle is None else {"cpu": round(idle[0], 4), "memory": round(idle[1], 4)},
        "byPoolAndType": [
            {
                "nodePool": node.pool.name if isinstance(node.pool.name, str) else None,
                "instanceType": node.type,
                "nodes": node.number,
                "pricePerHour": None if node.price is None else round(node.price, 6),
                "static": node.static,
            }
            for node in bill.nodes
        ],
    }


def cost_markdown(cost: FleetCost) -> str:
    """Return the cost as a Markdown table of nodes and a table of workloads."""
    from nodelint.report.markdown import inline, table_head, table_row

    lines = ["#### Cost", "", inline(printable(headline(cost))), ""]
    if cost.most is not None and cost.most.nodes:
        rows = "".join(table_row(*map(inline, map(printable, _node_cells(node)))) for node in cost.most.nodes)
        lines += [table_head("nodes:", "type", "pool", "each an hour:") + rows]
        shares = workload_shares(cost)
        rows = "".join(
            table_row(inline(printable(f"`{label}`")), pods, inline(share)) for label, pods, share, _ in shares[:50]
        )
        rows += f"and {counted(len(shares) - 50, 'more workload')}\n" if len(shares) > 50 else ""
        lines += [table_head("workload", "pods:", "a month:") + rows]
    notes = [f"Not counted: {short(reason, 300)}" for reason in cost.not_counted]
    return "\n".join([*lines, *(f"- {inline(printable(note))}" for note in (*notes, prices_text(cost), *cost.notes))])


def _node_cells(node: NodeCost) -> Sequence[str]:
    price = "not known" if node.price is None else dollars(node.price)
    return f"{node.number:,}", f"`{node.type or 'not known'}`", f"`{node.pool.name}`", price
