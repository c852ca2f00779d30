"""Releases of Karpenter in which disruption changed, from the source of core at each tag."""

from __future__ import annotations

from nodelint.model.releases import Version

LABELS_ASKED_LATER = Version(1, 1, 0)
"""The first release that needs the zone, the capacity type and a known instance type only to compare prices."""

EMPTY_BEFORE_DRIFT = Version(1, 5, 0)
"""The first release that removes empty nodes before drifted nodes."""

STATIC = Version(1, 8, 0)
"""The first release with static NodePools, which Karpenter does not consolidate."""

EMPTY_BY_COST = Version(1, 14, 0)
"""The first release in which a node counts as empty if the eviction of its pods costs nothing, and in which the
policy Balanced also consolidates nodes with pods.
"""


def methods(release: Version) -> tuple[str, ...]:
    """Return the disruption methods in the order in which the controller tries them."""
    if release < EMPTY_BEFORE_DRIFT:
        return ("drift", "emptiness", "consolidation")
    if release < STATIC:
        return ("emptiness", "drift", "consolidation")
    return ("emptiness", "static-drift", "drift", "consolidation")
