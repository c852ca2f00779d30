"""The nodes of a cluster, and the outcome of a plan for each."""

from __future__ import annotations

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.drift.hashes import version_annotation
from nodelint.model.gvk import CLASS_KIND
from nodelint.model.requirement import Requirement, Requirements

if TYPE_CHECKING:
    from typing import Any, Literal

    from nodelint.drift.cluster import Claim
    from nodelint.drift.hashes import Hash
    from nodelint.model.manifest import NodePool
    from nodelint.model.releases import Version

    Outcome = Literal["replaced", "kept", "unknown"]


class NodeOutcome(NamedTuple):
    """The outcome for one NodeClaim, the reason that Karpenter will record, and the one that it has recorded
    already.
    """

    name: str
    outcome: Outcome
    reason: str | None
    drifted: str | None


class Wanted(NamedTuple):
    """The hashes (None if one is not known) and requirements with which the NodeClaims of a pool are compared.

    `dynamic` is the first reason for drift of all nodes that follows from terms of the class alone. `maybe` is one
    that depends on the AWS account.
    """

    pool: Hash | None
    node_class: Hash | None
    requirements: Requirements
    dynamic: str | None = None
    maybe: str | None = None


def find_outcomes(claims: list[Claim], wanted: Wanted | None) -> tuple[NodeOutcome, ...]:
    """Return the outcome for each NodeClaim. If `wanted` is None, the pool is deleted with all its nodes."""
    return tuple(_find_outcome(claim, wanted) for claim in claims)


def _find_outcome(claim: Claim, wanted: Wanted | None) -> NodeOutcome:
    if wanted is None:
        return NodeOutcome(claim.name, "replaced", None, claim.drifted)
    reason = next(
        (
            reason
            for reason, differs in (
                ("NodePoolDrifted", _differs(claim, wanted.pool, "NodePool")),
                ("RequirementsDrifted", _unmet(claim, wanted.requirements)),
                ("NodeClassDrift", _differs(claim, wanted.node_class, CLASS_KIND)),
                (wanted.dynamic, wanted.dynamic is not None),
            )
            if differs
        ),
        None,
    )
    if reason is not None:
        return NodeOutcome(claim.name, "replaced", reason, claim.drifted)
    if wanted.maybe is not None or wanted.pool is None:
        return NodeOutcome(claim.name, "unknown", wanted.maybe, claim.drifted)
    return NodeOutcome(claim.name, "kept", None, claim.drifted)


def _differs(claim: Claim, hashed: Hash | None, kind: str) -> bool:
    """Return whether a claim has another hash of the same version. False if one of its annotations is missing."""
    if hashed is None or hashed.without_ca:
        return False
    noted = claim.annotations.get(hashed.annotation)
    same_version = claim.annotations.get(version_annotation(kind)) == hashed.version
    return noted is not None and same_version and noted != str(hashed.value)


def _unmet(claim: Claim, requirements: Requirements) -> bool:
    return Requirements.from_labels(claim.labels).compatible(requirements) is not None


def requirements_of(pool: NodePool, release: Version) -> Requirements:
    """Return the requirements of a pool on labels, without those that hold a placeholder."""
    found = Requirements()
    for line in pool.requirements:
        if line.known:
            try:
                found.add(Requirement.parse(str(line.key), str(line.operator), line.texts, None, release))
            except ValueError:
                continue
    return found


def counts(found: tuple[NodeOutcome, ...]) -> dict[str, Any]:
    """Return the numbers of nodes: all, replaced ones, unknown ones, and those that had drifted before."""
    return {
        "total": len(found),
        "replaced": sum(node.outcome == "replaced" for node in found),
        "unknown": sum(node.outcome == "unknown" for node in found),
        "drifted": sum(node.drifted is not None for node in found),
    }
