"""The scheduling constraints of cluster pods, computed once for all pods with equal constraints.

The constraints are those of `fit`, read from a dump, in which each pod has its own copy of the spec.
"""

from __future__ import annotations

from collections.abc import Iterator

from nodelint.base.tuples import NamedTuple
from nodelint.fit.ignored import requirements_of
from nodelint.fit.pod_terms import AFFINITY, ANTI_AFFINITY, LabelExpression, Toleration
from nodelint.fit.pods import Pod
from nodelint.fit.volumes import VolumePlace
from nodelint.karpenter.resolve.node_size import Resources
from nodelint.model.cluster_objects import Workload
from nodelint.model.releases import Version
from nodelint.model.requirement import Requirements
from nodelint.why.constraints import Constraint

SOFT = Toleration(None, "Exists", "", "PreferNoSchedule")


class Profile(NamedTuple):
    """The requirements of pods on a node's labels and taints. `key` is equal for equal profiles."""

    key: tuple[object, ...]
    requirements: Requirements
    tolerations: tuple[Toleration, ...]
    expressions: tuple[LabelExpression, ...]


class NodeDemand:
    """The constraints of pods besides resources and other pods: selectors, tolerations, ports. Shapes share it."""

    def __init__(self, number: int, workload: Workload, pod: Pod) -> None:
        self.number = number
        self.workload = workload
        self.pod = pod
        self._profiles: dict[tuple[int, int, bool], Profile] = {}

    def profile(self, term: int, preferred: int, soft: bool, release: Version) -> Profile:
        """Return the profile with the required term and the preferred term of these indexes.

        `soft`: PreferNoSchedule taints are tolerated. An index past the end means no preferred term.
        """
        key = term, preferred, soft
        found = self._profiles.get(key)
        if found is None:
            pod = self.pod
            required = pod.terms[term].expressions if pod.terms else ()
            wanted = pod.preferred[preferred].expressions if preferred < len(pod.preferred) else ()
            expressions = (*pod.selector, *required, *wanted)
            tolerations = (*pod.tolerations, SOFT) if soft else pod.tolerations
            expression_keys = frozenset((e.key, e.operator, e.values) for e in expressions)
            found = Profile(
                (expression_keys, tolerations), requirements_of(expressions, release), tolerations, tuple(expressions)
            )
            self._profiles[key] = found
        return found


class RelaxedPod(NamedTuple):
    """A pod in one state that the scheduler tries: its profile, and the constraints that are not dropped yet."""

    profile: Profile
    constraints: tuple[Constraint, ...]


class Shape:
    """The scheduling constraints that several pods share.

    `unknown` are the unknown facts, each read as no restriction.
    """

    def __init__(
        self, number: int, demand: NodeDemand, requests: Resources, constraints: tuple[Constraint, ...]
    ) -> None:
        self.number = number
        self.demand = demand
        self.pod = demand.pod._replace(requests=requests)
        self.requests: Resources = requests
        self.needed = {resource: amount for resource, amount in requests.items() if amount}
        self.constraints = constraints
        self.unknown = [*(fact.reason for fact in self.pod.unknown), *(c.unknown for c in constraints if c.unknown)]
        if self.pod.dynamic_resources:
            self.unknown.append("which devices its resource claims need")
        self.volumes: list[VolumePlace] = []
        self._states: dict[tuple[bool, bool], list[RelaxedPod]] = {}

    def states(self, release: Version, ignore_preferences: bool, soft_taints: bool) -> list[RelaxedPod]:
        """Return the states that the scheduler tries, each with fewer preferences (`Relax` of preferences.go)."""
        key = (ignore_preferences, soft_taints)
        found = self._states.get(key)
        if found is None:
            found = self._states[key] = list(self._relax(release, *key))
        return found

    def _relax(self, release: Version, ignore_preferences: bool, soft_taints: bool) -> Iterator[RelaxedPod]:
        pod = self.pod
        constraints = [c for c in self.constraints if not (c.preferred and ignore_preferences)]
        last_term = max(len(pod.terms) - 1, 0)
        no_preference = len(pod.preferred)
        first_preference = no_preference if ignore_preferences else 0

        def state(term: int, preferred: int, soft: bool = False) -> RelaxedPod:
            return RelaxedPod(self.demand.profile(term, preferred, soft, release), tuple(constraints))

        for term in range(last_term + 1):
            yield state(term, first_preference)
        for what in (AFFINITY, ANTI_AFFINITY):
            for constraint in [c for c in constraints if c.preferred and c.what == what]:
                constraints.remove(constraint)
                yield state(last_term, first_preference)
        for preferred in range(first_preference + 1, no_preference + 1):
            yield state(last_term, preferred)
        for constraint in [c for c in constraints if c.preferred]:
            constraints.remove(constraint)
            yield state(last_term, no_preference)
        if soft_taints:
            yield state(last_term, no_preference, soft=True)

    @property
    def prefers(self) -> str:
        """Return the preferences of the pods in words; empty if there are none."""
        kinds = dict.fromkeys(c.what for c in self.constraints if c.preferred)
        found = [f"{kind} that is only preferred" for kind in kinds]
        return " and ".join([*found, *(["preferred node affinity"] if self.pod.preferred else [])])
