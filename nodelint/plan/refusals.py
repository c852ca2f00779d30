"""Updates that the API server refuses, and objects that are not valid."""

from __future__ import annotations

from nodelint.apiserver import find_faults
from nodelint.apiserver.transitions import find_broken_transitions
from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.karpenter.controller import find_launch_blocker
from nodelint.karpenter.images import images_of
from nodelint.model.manifest import EC2NodeClass

if TYPE_CHECKING:
    from nodelint.apiserver import Schemas
    from nodelint.model.finding import Span
    from nodelint.model.manifest import Object
    from nodelint.model.releases import Version
    from nodelint.text import Node


class Refusal(NamedTuple):
    """A reason for which the API server does not store an object of a kind."""

    at: Node | Span
    field: str
    message: str
    kind: str


def refusals(old: Object | None, new: Object, release: Version, schemas: Schemas) -> list[Refusal]:
    """Return why the API server refuses an object, or its update from an older one. Empty if it accepts the object.

    A fault that the older object has as well is no reason: the cluster accepted it. An older object that is refused
    was never stored, so that there is no update.
    """
    known = (
        {(problem.path, problem.message) for problem in find_faults(old, release, schemas)}
        if old is not None
        else set()
    )
    found = [
        Refusal(problem.node, problem.path, problem.message, new.kind)
        for problem in find_faults(new, release, schemas)
        if (problem.path, problem.message) not in known
    ]
    if old is not None and not known and not schemas.foreign:
        found += [Refusal(*broken, new.kind) for broken in find_broken_transitions(old, new, release)]
    return found


def why_never_stored(obj: Object, release: Version, schemas: Schemas) -> str | None:
    """Return why no node of an object can run: the API server refuses the object, or Karpenter launches nothing with
    it.

    None if nodes can run.
    """
    name = obj.name if isinstance(obj.name, str) else obj.name_node.unquoted
    fault = find_refusal(obj, release, schemas)
    if fault is not None:
        reason = f"the API server refuses {obj.kind} {name} as it was: {fault}"
    elif not schemas.foreign and (blocker := find_launch_blocker(obj, release)) is not None:
        reason = f"{obj.kind} {name} launched nothing as it was: {blocker.message}"
    elif (problem := _find_impossible_alias(obj, release)) is not None:
        reason = f"{obj.kind} {name} launched nothing as it was: {problem}"
    else:
        return None
    return f"{reason}; no node of it runs. If the cluster holds an older one, compare with that: `--against REVISION`"


def _find_impossible_alias(obj: Object, release: Version) -> str | None:
    """Return why no release up to this one finds an image for the alias of a class, with any Kubernetes. None if one
    may find an image.
    """
    if not isinstance(obj, EC2NodeClass) or obj.version != "v1":
        return None
    images = images_of(obj, release)
    never = ("family", "version", "release")
    problem = next((problem for problem in images.problems if problem.active and problem.kind in never), None)
    return problem.message if problem is not None and not images.images and images.complete else None


def find_refusal(obj: Object, release: Version, schemas: Schemas) -> str | None:
    """Return the first fault for which the API server refuses an object. None if it accepts the object."""
    fault = next(find_faults(obj, release, schemas), None)
    return fault.message if fault is not None else None
