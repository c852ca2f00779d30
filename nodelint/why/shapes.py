"""What pods ask of a node, read once for all pods that ask alike.

The reading is that of `fit`; here it comes from what a cluster holds, where each pod has its own copy of the spec.
"""

from __future__ import annotations

from collections.abc import Iterator

from nodelint.base.tuples import NamedTuple
from nodelint.fit.ignored import ignored_because, requirements_of
from nodelint.fit.pods import LabelExpression, Pod, Term, Toleration
from nodelint.fit.volumes import VolumePlace
from nodelint.model.cluster_objects import Workload
from nodelint.model.releases import Version
from nodelint.model.requirement import Requirements
from nodelint.why.constraints import Constraint

TYPE_CHECKING = False

if TYPE_CHECKING:
    from nodelint.karpenter.resolve.node_size import Resources

SOFT = Toleration(None, "Exists", "", "PreferNoSchedule")


class RelaxedPod(NamedTuple):
    """A pod as the scheduler tries it: what it requires of labels, and what it has not given up."""

    requirements: Requirements
    tolerations: tuple[Toleration, ...]
    constraints: tuple[Constraint, ...]
    expressions: tuple[LabelExpression, ...]
    given_up: str


class Shape:
    """What some pods ask alike. `unknown` says what of it is not known: it is read as whatever asks least."""

    def __init__(self, number: int, workload: Workload, pod: Pod, constraints: tuple[Constraint, ...]) -> None:
        self.number = number
        self.workload = workload
        self.pod = pod
        self.requests: Resources = pod.requests
        self.tolerations = pod.tolerations
        self.constraints = constraints
        self.unknown = [*(fact.reason for fact in pod.unknown), *(c.unknown for c in self.constraints if c.unknown)]
        if pod.dynamic_resources:
            self.unknown.append("which devices its resource claims need")
        self.volumes: list[VolumePlace] = []
        self._states: dict[tuple[bool, bool], list[RelaxedPod]] = {}

    def states(self, release: Version, ignore_preferences: bool, soft_taints: bool) -> list[RelaxedPod]:
        """Return what the scheduler tries, each with less than the one before (`Relax` of preferences.go)."""
        key = (ignore_preferences, soft_taints)
        found = self._states.get(key)
        if found is None:
            found = self._states[key] = list(self._relax(release, *key))
        return found

    def _relax(self, release: Version, ignore_preferences: bool, soft_taints: bool) -> Iterator[RelaxedPod]:
        pod = self.pod
        constraints = [c for c in self.constraints if not (c.preferred and ignore_preferences)]
        terms: list[Term | None] = [*pod.terms] or [None]
        preferred = [] if ignore_preferences else list(pod.preferred)
        tolerations, given_up = self.tolerations, ""

        def state() -> RelaxedPod:
            term = terms[0].expressions if terms[0] is not None else ()
            wanted = preferred[0].expressions if preferred else ()
            expressions = (*pod.selector, *term, *wanted)
            return RelaxedPod(
                requirements_of(expressions, release), tolerations, tuple(constraints), expressions, given_up
            )

        yield state()
        while len(terms) > 1:
            terms.pop(0)
            yield state()
        for what in ("pod affinity", "pod anti-affinity"):
            for constraint in [c for c in constraints if c.preferred and c.what == what]:
                constraints.remove(constraint)
                given_up = f"preferred {what}"
                yield state()
        while preferred:
            preferred.pop(0)
            given_up = "preferred node affinity"
            yield state()
        for constraint in [c for c in constraints if c.preferred]:
            constraints.remove(constraint)
            given_up = "ScheduleAnyway"
            yield state()
        if soft_taints:
            tolerations = (*tolerations, SOFT)
            yield state()

    @property
    def prefers(self) -> str:
        """Return the preferences that a pod has, in words; empty for none."""
        kinds = dict.fromkeys(c.what for c in self.constraints if c.preferred)
        found = [f"{kind} that is only preferred" for kind in kinds]
        return " and ".join([*found, *(["preferred node affinity"] if self.pod.preferred else [])])

    def ignored(self, release: Version, claims_ignored: bool) -> str | None:
        """Return why Karpenter places no such pod, as `fit` says it. None where it does."""
        found = ignored_because(self.pod._replace(node_name=None), release, claims_ignored)
        return found.message if found is not None else None
