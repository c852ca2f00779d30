"""Reasons for which nodes drift, and what they come to for a pool."""

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
    """A reason for which nodes drift, with the place that brings it about and how many nodes it concerns.

    `change` is the value before and after, as far as the reason is about one field. `recorded` says whether Karpenter
    writes it on NodeClaims: it writes the first reason that it finds, and the others are there all the same.
    `of_cluster` says that the cause is another version of Kubernetes, and the place only what depends on it.
    `of_files` says that a value decides which the files do not tell.
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
    """How many of a pool's nodes drift, and why. `unknown` says what could not be read."""

    replaced: Covered
    reasons: tuple[Reason, ...] = ()
    unknown: str | None = None

    @property
    def of_no_nodes(self) -> Verdict:
        """Return the verdict where the pool has no node: what changes is told, and concerns none."""
        return Verdict("none", tuple(reason._replace(covered="none", recorded=True) for reason in self.reasons))


NOTHING = Verdict("none")


def mark_recorded(reasons: Sequence[Reason]) -> Iterator[Reason]:
    """The reasons; those behind one that covers all nodes, but for its own places, are not recorded."""
    first = next((reason.reason for reason in reasons if reason.covered == "all"), None)
    past = False
    for reason in reasons:
        past = past or reason.reason == first
        yield reason._replace(recorded=not past or reason.reason == first)


def absorbs(kind: str, upgraded: tuple[Version, Version] | None) -> bool:
    """Whether a change of an object may be lost in an upgrade of Karpenter, since the new release hashes it anew.

    The new controller writes its own hash of the changed object on NodeClaims that have not drifted yet.
    Source: provider pkg/controllers/nodeclass/hash/controller.go@v1.14.1:88-121.
    """
    return upgraded is not None and version(kind, upgraded[0]) != version(kind, upgraded[1])


def why_absorbed(upgraded: tuple[Version, Version]) -> str:
    """Why it is not known whether a change of a class reaches the nodes."""
    return (
        f"Karpenter {upgraded[1]} hashes classes in another way than {upgraded[0]} and writes its own hash on nodes"
        " that have not drifted yet: the change of the class may never reach the nodes that run. Change the class"
        " before or after the upgrade"
    )


def find_why_absorbed(
    covered: Covered, found: Sequence[Reason], upgraded: tuple[Version, Version] | None
) -> str | None:
    """Return why the upgrade makes a verdict unknown; None if it does not."""
    absorbed = any(reason.reason == "NodeClassDrift" and reason.covered == "unknown" for reason in found)
    return why_absorbed(upgraded) if upgraded is not None and absorbed and covered == "unknown" else None


def keep_static(found: Verdict) -> Verdict:
    """Return a verdict without what Karpenter compares with the status of a class, which is not ready."""
    static_reasons = tuple(reason for reason in found.reasons if reason.reason in _STATIC)
    if static_reasons == found.reasons:
        return found
    covered = "unknown" if found.unknown is not None else joined(reason.covered for reason in static_reasons)
    return Verdict(covered, static_reasons, found.unknown)


_STATIC = ("NodePoolDrifted", "RequirementsDrifted", "NodeClassDrift")
