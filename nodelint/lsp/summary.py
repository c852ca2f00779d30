"""Short descriptions of whole objects: of a NodePool, the code lens above it, and the symbols of a text."""

from __future__ import annotations

from collections.abc import Iterator

from lsprotocol import types

from nodelint.karpenter.resolve import Resolution
from nodelint.karpenter.resolve.accelerators import cheapest
from nodelint.karpenter.resolve.readiness import launch_steps, launched
from nodelint.lsp.buffers import Buffer
from nodelint.lsp.markdown import message_markdown
from nodelint.lsp.view import View
from nodelint.model.manifest import NodePool, served
from nodelint.model.messages import counted, short
from nodelint.report.explain_verdict import explain_not_launched
from nodelint.rule import fixes

_MOST = 3
"""The most requirements of a pool that are named as those that exclude most instance types."""


def count_text(view: View, pool: NodePool) -> str | None:
    """Return `723 types, from $0.0513/h`, or that nothing is launched; None if this is not known."""
    view = view.for_object(pool)
    if pool.foreign or pool.partial or not served(pool, view.target.karpenter):
        return None
    resolution = view.context.resolution(pool)
    if fixes.doubts(resolution):
        return None
    if explain_not_launched(resolution) is not None:
        return "nothing is launched"
    left = launched(resolution)
    if not left:
        return "no instance type"
    price = cheapest(resolution.catalog, left)
    return counted(len(left), "type") + (f", from ${price[0]:.4f}/h" if price is not None else "")


def describe_pool(view: View, pool: NodePool) -> str | None:
    """Return a NodePool as Markdown: the number of types, the cheapest, and which requirements exclude most types.

    None if the number is not known.
    """
    count = count_text(view, pool)
    if count is None:
        return None
    resolution = view.for_object(pool).context.resolution(pool)
    why = explain_not_launched(resolution)
    if why is not None:
        return f"**{count}** with {message_markdown(why)}"
    lines = [f"**{count}** of {len(resolution.catalog.names):,}"]
    price = cheapest(resolution.catalog, launched(resolution))
    if price is not None:
        lines.append(f"The cheapest on demand is `{price[1]}`.")
    if removed := list(_describe_removals(resolution)):
        lines.append("What takes most of the others away:\n\n" + "\n".join(removed))
    return "\n\n".join(lines)


def _describe_removals(resolution: Resolution) -> Iterator[str]:
    """Yield the requirements that exclude the most types, each with their number."""
    steps = [
        (line.removed, f"{line.key} {line.operator} {short(', '.join(line.values), 40)}") for line in resolution.lines
    ]
    steps += [(len(step.removed), step.words) for step in launch_steps(resolution)]
    for count, words in sorted(steps, key=lambda step: -step[0])[:_MOST]:
        if count > 0:
            yield f"- {count:,}: `{words}`"


def lenses(view: View, buffer: Buffer) -> Iterator[types.CodeLens]:
    """Yield a code lens above each NodePool with the number of launchable types and the lowest price."""
    for obj in view.objects(buffer):
        count = count_text(view, obj) if isinstance(obj, NodePool) else None
        if count is not None:
            at = obj.node.key("kind") or obj.node
            yield types.CodeLens(buffer.lines.range(at.start, at.end), types.Command(count, ""))


def symbols(view: View, buffer: Buffer) -> Iterator[types.DocumentSymbol]:
    """Yield the objects of a text with kind and name."""
    for obj in view.objects(buffer):
        whole = buffer.lines.range(obj.node.start, obj.node.end)
        name = obj.name_node if obj.node.start <= obj.name_node.start <= obj.node.end else obj.node
        count = count_text(view, obj) if isinstance(obj, NodePool) else None
        yield types.DocumentSymbol(
            name=f"{obj.kind} {obj.name}" if isinstance(obj.name, str) else obj.kind,
            kind=types.SymbolKind.Object,
            range=whole,
            selection_range=buffer.lines.range(name.start, name.end),
            detail=count,
        )
