"""What manifests are judged for: releases, schemas, and what is known of AWS."""

from __future__ import annotations

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.ec2.facts import NOTHING, AwsFacts
from nodelint.model.releases import KubernetesVersion, Version

if TYPE_CHECKING:
    from collections.abc import Callable

    from nodelint.apiserver import Schemas
    from nodelint.model.manifest import Object
    from nodelint.releases.release_choice import Chosen
    from nodelint.releases.settings import StatedSettings


class Target(NamedTuple):
    """What the manifests are judged for.

    `schemas` stand for the API server, None for the bundled ones; `facts` are what is known of AWS. `choose` gives
    the releases of an object, oldest first, in the place of these, or says why it is not judged. `stated` reads what
    files state of the controller's settings. `today` is the day of the run, in days since 1970, where files state the
    releases (`chosen`), and `day` in any case where there is a run.
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
    """Whether nothing names or states the release, so that the newest known is taken."""
    day: int | None = None

    @property
    def releases(self) -> tuple[Version, KubernetesVersion | None]:
        """Return the releases of Karpenter and of Kubernetes."""
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
        """Return all that an object is judged for; nothing if it is not judged."""
        if self.choose is None:
            return (self,)
        chosen = self.choose(obj)
        return () if isinstance(chosen, str) else tuple(map(self.for_choice, chosen))
