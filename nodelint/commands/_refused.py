"""Messages about objects that the API server refuses, so that no cluster can have them."""

from __future__ import annotations

from nodelint.base.printable import printable
from nodelint.base.types import TYPE_CHECKING
from nodelint.commands._console import echo
from nodelint.commands._terminal import look

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from nodelint.model.manifest import NodePool
    from nodelint.rule.context import Context

_MOST = 5
"""The most objects that are named. `check` names all."""


def say_refused(pools: Iterable[NodePool], context_of: Callable[[NodePool], Context]) -> None:
    """Print why the API server refuses a pool or its class, or why Karpenter launches nothing for it."""
    from nodelint.report.locations import place_line
    from nodelint.report.style import fitted
    from nodelint.rule.object_faults import find_object_fault

    notes: dict[int, str] = {}
    for pool in pools:
        context = context_of(pool)
        for obj in (pool, context.node_class(pool)):
            fault = find_object_fault(obj, context) if obj is not None else None
            if fault is not None:
                notes[id(obj)] = f"{place_line(fault[0])}: {fault[1]}; `nodelint check` says what to do"
    shown = list(dict.fromkeys(notes.values()))
    if len(shown) > _MOST:
        more = f"the API server refuses {len(shown) - _MOST:,} more objects; `nodelint check` names them"
        shown = [*shown[:_MOST], more]
    for note in shown:
        echo("\n".join(fitted(printable(f"nodelint: {note}"), look())), err=True)
