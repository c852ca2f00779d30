"""The target for which manifests are judged: releases, schemas, and AWS facts."""

from __future__ import annotations

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.ec2.facts import NOTHING, AwsFacts
from nodelint.model.releases import KubernetesVersion, Version

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from nodelint.apiserver import Schemas
    from nodelint.model.manifest import Object
    from nodelint.releases.release_choice import Chosen
    from nodelint.releases.settings import StatedSettings


class Target(NamedTuple):
    """The target for which the manifests are judged.

    `schemas` are those of the API server, None for the bundled ones; `facts` are the AWS facts. `choose` returns the
    releases of an object, oldest first, which replace those of the target, or the reason why the object is not
    judged. `stated` returns the controller settings that files state. `today` is the date of the run, in days since
    1970, if files state the releases (`chosen`), and `day` is the date in any case.
    """

    karpenter: Version
    kubernetes: KubernetesVersion | None = None
    schemas: Schemas | None = None
    facts: AwsFacts = NOTHING
    choose: Callable[[Object], tuple[Chosen, ...] | str] | None = None
    stated: Callable[[], StatedSettings] | None = None
    today: int | None = None
    chosen: Chosen | None = None
    assumed: bool = False
    """True if no option and no file states the release, so that the newest known release is used."""
    day: int | None = None
    list_alone: Callable[[], Sequence[Chosen]] | None = None
    """Returns the releases that the requested files state, each with its statement."""

    @property
    def releases(self) -> tuple[Version, KubernetesVersion | None]:
        """Return the Karpenter release and the Kubernetes version."""
        return self.karpenter, self.kubernetes

    def for_choice(self, chosen: Chosen) -> Target:
        """Return the target with the releases that were chosen for an object."""
        return self._replace(
            karpenter=chosen.karpenter.last,
            kubernetes=chosen.kubernetes,
            choose=None,
            chosen=chosen,
            assumed=chosen.assumed,
        )

    def for_object(self, obj: Object) -> tuple[Target, ...]:
        """Return the targets for which an object is judged, one for each release. Empty if it is not judged."""
        if self.choose is None:
            return (self,)
        chosen = self.choose(obj)
        return () if isinstance(chosen, str) else tuple(map(self.for_choice, chosen))
