"""Why no node is launched with a pool as written: the API server, the reference to the class, or the controller."""

from __future__ import annotations

from nodelint.apiserver import Schemas, find_faults
from nodelint.base.types import TYPE_CHECKING
from nodelint.karpenter.controller import find_launch_blocker
from nodelint.karpenter.controller.problem import NO_LAUNCH, ControllerProblem
from nodelint.model.gvk import AWS_GROUP, CLASS_KIND
from nodelint.model.manifest import served

if TYPE_CHECKING:
    from nodelint.model.manifest import EC2NodeClass, NodePool, Object
    from nodelint.model.releases import Version


def find_launch_fault(
    pool: NodePool, node_class: EC2NodeClass | None, release: Version
) -> tuple[Object, ControllerProblem] | None:
    """Return the pool or class with which no node is launched as it is written, and its first problem: that the API
    server refuses it comes first. The pool is checked first.

    None if neither has such a problem.
    """
    for obj in (pool, node_class):
        if obj is not None:
            problem = _find_refusal(obj, release) or find_launch_blocker(obj, release)
            if obj is pool and problem is None:
                problem = find_reference_fault(pool)
            if problem is not None:
                return obj, problem
    return None


def find_reference_fault(pool: NodePool) -> ControllerProblem | None:
    """Return the problem of a nodeClassRef to a kind that no controller knows. None if the kind is known, or if the
    pool is one of another cloud.
    """
    ref = pool.class_ref
    if ref is None or pool.foreign or not (isinstance(ref.group, str) and isinstance(ref.kind, str)):
        return None
    if (ref.group, ref.kind) == (AWS_GROUP, CLASS_KIND):
        return None
    message = f"no controller knows kind `{ref.kind}` of `{ref.group}`, its nodeClassRef"
    at = pool.node.find("spec", "template", "spec", "nodeClassRef") or pool.name_node
    return ControllerProblem(at, message, "unknown-kind", "error", NO_LAUNCH)


def _find_refusal(obj: Object, release: Version) -> ControllerProblem | None:
    """Return the first fault for which the API server refuses an object.

    None for a fragment of an object, and for an object of another API version, which is judged after its conversion.
    """
    if obj.partial or obj.of_cluster or obj.version != "v1" or not served(obj, release):
        return None
    fault = next(find_faults(obj, release, Schemas.bundled()), None)
    if fault is None:
        return None
    return ControllerProblem(fault.node, f"the API server refuses it: {fault.message}", "refused", "error", NO_LAUNCH)
