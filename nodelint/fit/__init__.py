"""Which NodePools accept a workload's pods, judged as Karpenter's scheduler judges one pod and pools
without nodes.
"""

from __future__ import annotations

from nodelint.base.types import TYPE_CHECKING

if TYPE_CHECKING:
    from nodelint.fit.admission import may_tolerate, names_taint
    from nodelint.fit.attempt import PoolVerdict
    from nodelint.fit.intended import find_nearest, is_intended_for, may_select_other_nodes
    from nodelint.fit.pods import requests_of
    from nodelint.fit.refusal import PoolRefusal
    from nodelint.fit.tree import Tree, WorkloadFit
    from nodelint.fit.ways_out import suggestions
    from nodelint.fit.widening import WayOut

__all__ = [
    "PoolRefusal",
    "PoolVerdict",
    "Tree",
    "WayOut",
    "WorkloadFit",
    "find_nearest",
    "is_intended_for",
    "may_select_other_nodes",
    "may_tolerate",
    "names_taint",
    "requests_of",
    "suggestions",
]

_HOMES = {
    "admission": ("may_tolerate", "names_taint"),
    "attempt": ("PoolVerdict",),
    "intended": ("find_nearest", "is_intended_for", "may_select_other_nodes"),
    "pods": ("requests_of",),
    "refusal": ("PoolRefusal",),
    "tree": ("Tree", "WorkloadFit"),
    "ways_out": ("suggestions",),
    "widening": ("WayOut",),
}
"""The modules that define the names and are imported at first use. Type checkers read the imports above."""

if not TYPE_CHECKING:  # for a checker every name would be one of this package

    def __getattr__(name: str) -> object:
        for module, names in _HOMES.items():
            if name in names:
                from importlib import import_module

                return globals().setdefault(name, getattr(import_module(f"{__name__}.{module}"), name))
        raise AttributeError(f"{__name__} has no `{name}`; it has {', '.join(__all__)}")
