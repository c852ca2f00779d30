"""What an object is judged for."""

from __future__ import annotations

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.model.evidence import Evidence
from nodelint.model.releases import OLDEST, KubernetesVersion

if TYPE_CHECKING:
    from nodelint.model.ranges import Releases


class Chosen(NamedTuple):
    """Releases of Karpenter between which nothing changes, a version of Kubernetes, and the lines that state them.

    Where a flag or the configuration names a release nothing states it, nor where it is `assumed`: the newest known.
    `passed_over` is what states another one for the object, nearer, and cannot be its release.
    """

    karpenter: Releases
    kubernetes: KubernetesVersion | None = None
    karpenter_from: Evidence | None = None
    kubernetes_from: Evidence | None = None
    assumed: bool = False
    passed_over: tuple[Evidence, ...] = ()
    not_known: Evidence | None = None
    """What states a release for the object that cannot be worked out: it is judged for the oldest and the newest."""

    @property
    def bare(self) -> Chosen:
        """Return the releases without the lines that state them."""
        return Chosen(self.karpenter, self.kubernetes)

    @property
    def is_stated(self) -> bool:
        """Whether a file, a flag or the configuration states that this release runs."""
        return not self.assumed and not self.later and self.not_known is None

    @property
    def later(self) -> bool:
        """Whether this is a later release than the one that a file states, which served kinds that are gone."""
        return self.karpenter_from is not None and self.karpenter_from.karpenter < OLDEST < self.karpenter.last

    @property
    def order(self) -> tuple[object, ...]:
        """Return a key that sorts by Karpenter's release first."""
        return (self.karpenter, self.kubernetes or ())
