"""Releases of Karpenter in which disruption changed, from the source of core at each tag."""

from __future__ import annotations

from nodelint.model.releases import Version

LABELS_ASKED_LATER = Version(1, 1, 0)
"""The first release that asks for zone, capacity type and a known instance type only where prices are compared."""

EMPTY_BEFORE_DRIFT = Version(1, 5, 0)
"""The first release that looks for empty nodes before drifted ones."""

STATIC = Version(1, 8, 0)
"""The first release with static NodePools, which are not consolidated."""

EMPTY_BY_COST = Version(1, 14, 0)
"""The first release for which a node is empty if the eviction of its pods costs nothing, and with Balanced."""


def methods(release: Version) -> tuple[str, ...]:
    """Return the disruption methods in the order in which the controller tries them."""
    if release < EMPTY_BEFORE_DRIFT:
        return ("drift", "emptiness", "consolidation")
    if release < STATIC:
        return ("emptiness", "drift", "consolidation")
    return ("emptiness", "static-drift", "drift", "consolidation")
