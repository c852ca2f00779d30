"""The releases for which an object is judged."""

from __future__ import annotations

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.model.evidence import Evidence
from nodelint.model.releases import OLDEST, KubernetesVersion

if TYPE_CHECKING:
    from nodelint.model.ranges import Releases


class Chosen(NamedTuple):
    """Karpenter releases between which nothing changes, a Kubernetes version, and the statements that give them.

    There is no statement if an option or the configuration names the release, or if it is `assumed`: the newest
    known. `passed_over` are nearer statements of another release that cannot apply.
    """

    karpenter: Releases
    kubernetes: KubernetesVersion | None = None
    karpenter_from: Evidence | None = None
    kubernetes_from: Evidence | None = None
    assumed: bool = False
    passed_over: tuple[Evidence, ...] = ()
    not_known: Evidence | None = None
    """The statement whose release cannot be evaluated. The object is then judged for the oldest and the newest
    release.
    """

    contested: bool = False
    """Whether statements for one cluster contradict each other: another release may run there instead."""

    @property
    def bare(self) -> Chosen:
        """Return the releases without their statements."""
        return Chosen(self.karpenter, self.kubernetes)

    @property
    def is_stated(self) -> bool:
        """Return whether a file, an option or the configuration states that this release runs."""
        return not self.assumed and not self.later and self.not_known is None

    @property
    def later(self) -> bool:
        """Return whether this is a later release than the stated one, which was before 1.0.0."""
        return self.karpenter_from is not None and self.karpenter_from.karpenter < OLDEST < self.karpenter.last

    @property
    def order(self) -> tuple[object, ...]:
        """Return a sort key: first Karpenter's release, then the Kubernetes version."""
        return (self.karpenter, self.kubernetes or ())
