"""Reasons for drift, and the verdict that follows from them for a pool."""

from __future__ import annotations

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.drift.hashes import version
from nodelint.plan.coverage import joined

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nodelint.model.finding import Span
    from nodelint.model.releases import Version
    from nodelint.plan.coverage import Covered
    from nodelint.plan.values import ValueChange
    from nodelint.text import Node


class Reason(NamedTuple):
    """A reason for drift, with the place that causes it and how many nodes it concerns.

    `change` is the value before and after, if the reason concerns one field. `recorded` is true if Karpenter writes
    the reason on NodeClaims: it writes the first reason that it finds, although further reasons apply. `of_cluster`
    is true if the cause is another Kubernetes version, on which the place only depends. `of_files` is true if an
    unknown value in the files decides.
    """

    reason: str
    at: Node | Span
    field: str
    covered: Covered
    change: ValueChange | None = None
    recorded: bool = True
    of_cluster: bool = False
    of_files: bool = False


class Verdict(NamedTuple):
    """The part of a pool's nodes that drifts (`replaced`), with the reasons. `unknown` explains why a part is
    unknown, if it is.
    """

    replaced: Covered
    reasons: tuple[Reason, ...] = ()
    unknown: str | None = None

    @property
    def of_no_nodes(self) -> Verdict:
        """Return the verdict for a pool without nodes: the changes are reported, and concern no node."""
        return Verdict("none", tuple(reason._replace(covered="none", recorded=True) for reason in self.reasons))


NOTHING = Verdict("none")


def is_of_class(reason: Reason) -> bool:
    """Return whether a reason is about the class, not the pool."""
    return reason.reason not in ("NodePoolDrifted", "RequirementsDrifted")


def mark_recorded(reasons: Sequence[Reason]) -> Iterator[Reason]:
    """Yield the reasons, with `recorded` false for those after a reason that covers all nodes."""
    first = next((reason.reason for reason in reasons if reason.covered == "all"), None)
    past = False
    for reason in reasons:
        past = past or reason.reason == first
        yield reason._replace(recorded=not past or reason.reason == first)


def absorbs(kind: str, upgraded: tuple[Version, Version] | None) -> bool:
    """Return whether nodes may miss a change of an object because the same commit upgrades Karpenter.

    The new release hashes the object differently: its controller writes the hash of the changed object on NodeClaims
    that have not drifted yet. Source: provider pkg/controllers/nodeclass/hash/controller.go@v1.14.1:88-121.
    """
    return upgraded is not None and version(kind, upgraded[0]) != version(kind, upgraded[1])


def why_absorbed(upgraded: tuple[Version, Version]) -> str:
    """Return why it is not known whether a change of a class reaches the nodes."""
    return (
        f"Karpenter {upgraded[1]} hashes classes in another way than {upgraded[0]} and writes its own hash on nodes"
        " that have not drifted yet: the change of the class may never reach the nodes that run. Change the class"
        " before or after the upgrade"
    )


def find_why_absorbed(
    covered: Covered, found: Sequence[Reason], upgraded: tuple[Version, Version] | None
) -> str | None:
    """Return why the upgrade makes a verdict unknown. None if it does not."""
    absorbed = any(reason.reason == "NodeClassDrift" and reason.covered == "unknown" for reason in found)
    return why_absorbed(upgraded) if upgraded is not None and absorbed and covered == "unknown" else None


def keep_static(found: Verdict) -> Verdict:
    """Return a verdict without reasons that depend on the status of a class, because the class is not ready."""
    static_reasons = tuple(reason for reason in found.reasons if reason.reason in _STATIC)
    if static_reasons == found.reasons:
        return found
    covered = "unknown" if found.unknown is not None else joined(reason.covered for reason in static_reasons)
    return Verdict(covered, static_reasons, found.unknown)


_STATIC = ("NodePoolDrifted", "RequirementsDrifted", "NodeClassDrift")
