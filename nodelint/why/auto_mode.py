"""Nodes of EKS Auto Mode: AWS runs Karpenter for them and publishes neither its release nor its settings."""

from __future__ import annotations

from nodelint.drift.plain_values import Plain, mapping, text
from nodelint.model.providers import Provider, by_class
from nodelint.why.answer import NodeAnswer

_CERTAIN = frozenset(
    {
        *("not-managed", "no-node", "not-initialized", "draining", "deleting", "expired", "do-not-disrupt-node"),
        *("no-nodepool-label", "nodepool-not-found", "do-not-disrupt-pod", "pdb", "static-pool"),
        *("consolidation-disabled", "policy", "consolidate-after", "budget"),
    }
)
"""Reasons that every release since 1.0 has, with any settings."""

_OPEN: dict[Provider, str] = {
    "auto-mode": "which release of Karpenter EKS Auto Mode runs, and with which settings",
    "other": "what the provider of the NodePool launches",
}


def provider_of(pool: Plain) -> Provider:
    """Return the provider of a NodePool in a dump, by its `nodeClassRef`."""
    ref = mapping(pool, "spec", "template", "spec", "nodeClassRef")
    return by_class(text(ref.get("group")), text(ref.get("kind")))


def qualified(answer: NodeAnswer, provider: Provider) -> NodeAnswer:
    """Return the answer with status `unknown` if the cause depends on the release or settings of the provider's
    controller.
    """
    if provider == "aws" or answer.status in ("going", "unmanaged"):
        return answer
    is_duration = answer.cause.code == "do-not-disrupt-pod" and answer.cause.until is not None  # read since 1.12
    if answer.cause.code in _CERTAIN and not is_duration:
        return answer
    return answer._replace(status="unknown", unknown=(_OPEN[provider], *answer.unknown))
