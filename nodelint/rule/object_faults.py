"""Find out whether an object has no effect: the API server refuses it, or Karpenter launches nothing with it."""

from __future__ import annotations

from nodelint.apiserver import find_faults
from nodelint.base.types import TYPE_CHECKING
from nodelint.karpenter.controller import find_launch_blocker

if TYPE_CHECKING:
    from nodelint.model.manifest import Object
    from nodelint.rule.context import Context
    from nodelint.text import Node


def find_object_fault(obj: Object, context: Context) -> tuple[Node, str] | None:
    """Return the reason why an object has no effect, with its node: the API server refuses the object, or the
    controller launches nothing with it. None if there is none.
    """
    fault = next(find_faults(obj, context.karpenter, context.schemas), None)
    if fault is not None:
        return fault.node, f"the API server refuses {obj.label}: {fault.message}"
    blocker = find_launch_blocker(obj, context.karpenter)
    return None if blocker is None else (blocker.node, f"nothing is launched with {obj.label}: {blocker.message}")
