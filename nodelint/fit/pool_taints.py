"""The taints of a NodePool's nodes, as far as its file shows them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from nodelint.fit.pod_terms import Toleration
from nodelint.fit.pool_labels import holds_placeholder
from nodelint.model.manifest import NodePool
from nodelint.model.manifest_terms import Taint
from nodelint.text import UNKNOWN


class PoolTaints:
    """The taints of a pool. `known` are those whose key and effect are no placeholders."""

    def __init__(self, pool: NodePool) -> None:
        self._pool = pool
        self.known = tuple(t for t in pool.taints if isinstance(t.key, str) and isinstance(t.effect, str))

    def untolerated(self, tolerations: Sequence[Toleration], soft: bool) -> Taint | None:
        """Return the first untolerated taint of the pool; None if there is none.

        PreferNoSchedule counts if `soft` is true.
        """
        for taint in self.known:
            effect, value = str(taint.effect), taint.value if isinstance(taint.value, str) else ""
            if effect == "PreferNoSchedule" and not soft:
                continue
            if taint.value is not None and not isinstance(taint.value, str):
                continue
            if not any(toleration.tolerates(str(taint.key), value, effect) for toleration in tolerations):
                return taint
        return None

    @cached_property
    def may_have_more(self) -> bool:
        """Return whether the pool may have taints that the file does not show."""
        taints = self._pool.find_field("spec", "template", "spec", "taints")
        if self._pool.partial or (taints is not None and holds_placeholder(taints)):
            return True
        return any(UNKNOWN in (taint.key, taint.value, taint.effect) for taint in self._pool.taints)
