"""What EKS Auto Mode requires of a NodePool beyond Karpenter: its own labels, and a node lifetime of at most 21
days.
"""

from __future__ import annotations

from nodelint.base.tuples import NamedTuple
from nodelint.data import table
from nodelint.karpenter.controller.syntax import seconds
from nodelint.model.gvk import AUTO_MODE_GROUP, AWS_GROUP
from nodelint.model.manifest import NodePool
from nodelint.model.manifest_terms import text
from nodelint.text import Node

_HOUR = 3600


def every_type_has(key: str) -> bool:
    """Return whether a key is a label of Auto Mode that every instance type of Auto Mode has."""
    start, _, name = key.partition("/")
    return start == AUTO_MODE_GROUP and name in table("auto_mode")["labels_of_every_type"]


def auto_mode_label(key: str) -> str | None:
    """Return the Auto Mode label that was probably meant by a label key of self-managed Karpenter, or by a misspelled
    key.

    None if the key is a correct Auto Mode label, or resembles none.
    """
    start, _, name = key.partition("/")
    if start not in (AUTO_MODE_GROUP, AWS_GROUP):
        return None
    facts = table("auto_mode")
    known = (*facts["labels_of_every_type"], *facts["labels_of_some_types"])
    if name in known:
        return f"{AUTO_MODE_GROUP}/{name}" if start == AWS_GROUP else None
    from difflib import get_close_matches

    near = get_close_matches(name, known, 1, 0.9)
    return f"{AUTO_MODE_GROUP}/{near[0]}" if near else None


class Lifetime(NamedTuple):
    """The longest life of a node by its NodePool, in hours. `expire` is None if nodes never expire.

    `node` is the value of expireAfter, `grace` the termination grace period. `longest` is the limit of Auto Mode for
    `expire` plus `grace`. `offer` is an expireAfter within the limit for this `grace`; None if there is none.
    """

    node: Node
    expire: float | None
    grace: float
    longest: int
    offer: int | None

    @property
    def too_long(self) -> bool:
        """Return whether Auto Mode refuses the NodePool because its nodes may live longer than `longest`."""
        return self.expire is None or self.expire + self.grace > self.longest


def lifetime(pool: NodePool) -> Lifetime | None:
    """Return the longest life of a node of an Auto Mode NodePool.

    None if expireAfter is missing, or if expireAfter or terminationGracePeriod is no duration that can be read.
    """
    facts = table("auto_mode")
    spec = pool.node.find("spec", "template", "spec")
    node = spec.get("expireAfter") if spec is not None else None
    written = text(node)
    if spec is None or node is None or not isinstance(written, str):
        return None
    expire = seconds(written)
    given = spec.get("terminationGracePeriod")
    drain = text(given)
    grace = seconds(drain) if isinstance(drain, str) else None
    if (expire is None and written != "Never") or (given is not None and grace is None):
        return None
    hours = grace / _HOUR if grace is not None else float(facts["default_grace_hours"])
    longest = int(facts["longest_hours"])
    offer = min(int(facts["default_expire_hours"]), int(longest - hours))
    return Lifetime(node, None if expire is None else expire / _HOUR, hours, longest, offer if offer > 0 else None)
