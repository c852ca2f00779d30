"""Events in which Karpenter says why a node stays: `Unconsolidatable`, `DisruptionBlocked` and others."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime

from nodelint.drift.plain_values import Plain, mapping, moment, text

REASONS = (
    "Unconsolidatable",
    "DisruptionBlocked",
    "ConsolidationRejected",
    "ConsolidationApproved",
    "ConsolidationCandidate",
    "DisruptionTerminating",
    "DisruptionWaitingReadiness",
    "FailedDraining",
    "FailedConsistencyCheck",
    "TerminationGracePeriodExpiring",
    "AwaitingVolumeDetachment",
    "InvalidDoNotDisruptAnnotation",
)
_NEVER = datetime(1970, 1, 1, tzinfo=UTC)

_MEANINGS = (
    (r"karpenter\.sh/do-not-disrupt.{0,3} annotation|do-not-disrupt", ("do-not-disrupt-pod", "do-not-disrupt-node")),
    (r"multiple PDBs", ("several-pdbs",)),
    (r"\bpdb\b", ("pdb", "several-pdbs", "draining")),
    (r"blocking budget", ("budget",)),
    (r"does not have an associated node", ("no-node",)),
    (r"buffer pods", ("not-known",)),  # which nodes hold room for a CapacityBuffer no dump says
    (r"isn't initialized|not initialized", ("not-initialized",)),
    (r"uninitialized", ("uninitialized-node",)),
    (r"nominated for a pending pod", ("pending-pods",)),
    (r"deleting or marked for deletion|marked for deletion", ("deleting", "draining")),
    (r"NodePool.{0,60}not found", ("nodepool-not-found",)),
    (r"Instance Type .{0,80} not found", ("unknown-type",)),
    (r"does not have label|required label", ("missing-label", "no-nodepool-label")),
    (r"has consolidation disabled", ("consolidation-disabled",)),
    (r"non-empty consolidation disabled|policy WhenEmpty", ("policy",)),
    (r"not all pods would schedule", ("pods-do-not-fit", "limits", "min-values")),
    (r"can't remove without creating", ("several-nodes", "pending-pods")),
    (r"can't replace with a cheaper node", ("no-cheaper-type", "pending-pods")),
    (r"SpotToSpotConsolidation is disabled|spot node with a spot node", ("spot-to-spot",)),
    (r"SpotToSpotConsolidation requires", ("spot-flexibility",)),
    (r"Filtering by price", ("min-values",)),
    (r"waiting to be evicted", ("draining",)),
)
"""Patterns of event messages, each with the reasons of this command that it means."""


class Events:
    """The events of a dump by the object that they are about, the newest first."""

    def __init__(self, found: Iterable[Plain]) -> None:
        self._of: dict[tuple[str, str], list[tuple[datetime, str, str]]] = {}
        for event in found:
            about = mapping(event.get("involvedObject")) or mapping(event.get("regarding"))
            reason = text(event.get("reason"))
            message = text(event.get("message")) or text(event.get("note"))
            if reason not in REASONS or not message:
                continue
            series = mapping(event.get("series"))
            times = (event.get("lastTimestamp"), series.get("lastObservedTime"), event.get("eventTime"))
            at = next((time for value in times if (time := moment(value)) is not None), _NEVER)
            key = text(about.get("kind")), text(about.get("name"))
            self._of.setdefault(key, []).append((at, reason, " ".join(message.split())))
        for of_object in self._of.values():
            of_object.sort(key=lambda item: item[0], reverse=True)

    def about_objects(self, *objects: tuple[str, str | None]) -> tuple[tuple[str, str], ...]:
        """Return reason and message of the events about the objects, without duplicates, the newest first."""
        found = [item for kind, name in objects if name for item in self._of.get((kind, name), ())]
        found.sort(key=lambda item: item[0], reverse=True)
        return tuple(dict.fromkeys((reason, message) for _, reason, message in found))


def meanings(message: str) -> tuple[str, ...]:
    """Return the cause codes that correspond to an event's message. It is empty for other messages."""
    return next((codes for pattern, codes in _MEANINGS if re.search(pattern, message, re.IGNORECASE)), ())
