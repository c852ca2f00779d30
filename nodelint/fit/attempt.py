"""One attempt of Karpenter's scheduler to put a pod on a new node of a NodePool."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.ec2.type_set import NONE, TypeSet, union
from nodelint.fit.daemon_groups import DaemonGroup
from nodelint.fit.ignored import requirements_of
from nodelint.fit.pod_terms import HostPort, LabelExpression, Term, Toleration, TopologyKey
from nodelint.fit.pods import Daemon, Pod, add_requests
from nodelint.fit.pools import DAEMONS_BY_TYPE, EmptyPool
from nodelint.fit.refusal import (
    VOLUME_CLASH,
    PoolRefusal,
    clash_refusal,
    shown_requests,
    taint_refusal,
    too_few_types,
)
from nodelint.fit.topologies import find_no_domain
from nodelint.fit.volumes import VolumePlace
from nodelint.model.gvk import AUTO_MODE_GROUP, AWS_GROUP
from nodelint.model.requirement import Requirements

if TYPE_CHECKING:
    from nodelint.fit.lacking import Explanation
    from nodelint.fit.refusal import Reason


class Surroundings(NamedTuple):
    """The DaemonSets of a pool's instance types and the possible places of a pod's volumes, as used for a verdict."""

    daemons: tuple[DaemonGroup, ...]
    volumes: tuple[VolumePlace, ...] = ()


class Attempt:
    """An attempt to put one pod on a new node of one pool."""

    def __init__(
        self, pod: Pod, pool: EmptyPool, daemons: Sequence[DaemonGroup], volumes: Sequence[VolumePlace]
    ) -> None:
        self.pod = pod
        self.pool = pool
        self.daemons = daemons
        self.volumes = volumes

    def judge(self, state: PodState) -> PoolVerdict:
        pool = self.pool
        taint = pool.taints.untolerated(state.tolerations, soft=True)
        if taint is not None:
            return PoolVerdict(pool, NONE, taint_refusal(taint, self.pod))
        expressions = [*self.pod.selector]
        expressions += state.preferred.expressions if state.preferred is not None else ()
        expressions += state.required.expressions if state.required is not None else ()
        requirements = requirements_of(expressions, pool.release)
        clash = pool.labels.clash(pool.requirements, requirements)
        if clash is not None:
            return PoolVerdict(pool, NONE, clash_refusal(clash, requirements, pool, expressions))
        total = pool.requirements
        if expressions:
            total = total.copy()
            total.add(*requirements)
        found = PoolVerdict(pool, NONE, None)
        for volume in self.volumes or (None,):
            found = self._on_types(total, volume, state, expressions)
            if found.fits:
                break
        return found

    def _on_types(
        self,
        requirements: Requirements,
        volume: VolumePlace | None,
        state: PodState,
        expressions: Sequence[LabelExpression],
    ) -> PoolVerdict:
        pool = self.pool
        if volume is not None:
            clash = pool.labels.clash(requirements, volume.requirements)
            if clash is not None:
                return PoolVerdict(pool, NONE, self._volume_refusal(clash, volume, expressions, requirements))
            requirements = requirements.copy()
            requirements.add(*volume.requirements)
        for topology in state.topologies:
            none = find_no_domain(topology, pool, requirements, self.pod.tolerations, state.tolerations)
            if none is not None:
                text = f"unsatisfiable topology constraint for {topology.what}, key={topology.key}"
                lacking = PoolRefusal("requirements", text, None, topology.node, for_certain=none.for_certain)
                return PoolVerdict(pool, NONE, lacking)
        types, refusal = self._filtered(requirements, expressions)
        if refusal is not None and volume is not None and volume.apart is not None:
            refusal = self._with_volume_conflict(refusal, *volume.apart)
        if refusal is None and types and not pool.pool.static:
            refusal = too_few_types(pool, types)
        return PoolVerdict(pool, NONE if refusal is not None else types, refusal)

    def _volume_refusal(
        self, clash: str, volume: VolumePlace, expressions: Sequence[LabelExpression], existing: Requirements
    ) -> PoolRefusal:
        def explain() -> Explanation | None:
            from nodelint.fit import lacking

            if volume.apart is not None:
                return lacking.explain_volume_conflict(*volume.apart)
            return lacking.explain_volume_clash(expressions, clash, volume.requirements, volume.node)

        found = clash_refusal(clash, volume.requirements, self.pool, (), existing)
        text = found.message.replace("incompatible requirements", VOLUME_CLASH)
        at = self.pod.node.get("volumes")
        return found._replace(message=text, at_workload=at, explain=explain)

    def _with_volume_conflict(self, refusal: PoolRefusal, first: VolumePlace, then: VolumePlace) -> PoolRefusal:
        def explain() -> Explanation | None:
            from nodelint.fit.lacking import explain_volume_conflict

            return explain_volume_conflict(first, then)

        return refusal._replace(at_workload=self.pod.node.get("volumes"), daemons=(), explain=explain)

    def _filtered(
        self, requirements: Requirements, expressions: Sequence[LabelExpression]
    ) -> tuple[TypeSet, PoolRefusal | None]:
        """Return the types that meet the requirements and have room and an offering; else the refusal in core's
        words.
        """
        pool = self.pool
        if requirements is pool.requirements:
            meeting, offered = pool.own_types
        else:
            meeting, offered = pool.meeting(requirements, pool.allowed), pool.offered(requirements, pool.allowed)
        rooms = []
        for group in self.daemons:
            if group.port_taken_from(self.pod) is None:
                types = group.types & pool.allowed
                requests = add_requests((self.pod.requests, group.requests))
                room = pool.sizes.holding(requests, types)
                rooms.append((types, room & offered if pool.release >= DAEMONS_BY_TYPE else room))
        launched = meeting & offered
        left = union(room & launched for _, room in rooms)
        if left:
            return left, None

        def explain() -> Explanation | None:
            return self._explain(meeting & offered, requirements, expressions)

        return NONE, self._refusal(meeting, offered, rooms)._replace(explain=explain)

    def _explain(
        self, types: TypeSet, requirements: Requirements, expressions: Sequence[LabelExpression]
    ) -> Explanation | None:
        """Return which resource the remaining types have too little of, or which conditions leave no type."""
        from nodelint.fit import lacking

        pool = self.pool
        if not types:
            return lacking.explain_clash(pool, expressions)
        found = lacking.explain_lack(self.pod, pool, self.daemons, types)
        beyond = lacking.explain_limits(self.pod, pool, self.daemons, pool.meeting(requirements, pool.candidates))
        return found._replace(text=f"{found.text}; {beyond}") if found is not None and beyond is not None else found

    def _refusal(self, meeting: TypeSet, offered: TypeSet, rooms: Sequence[tuple[TypeSet, TypeSet]]) -> PoolRefusal:
        """Return why no type remains.

        `rooms` has a pair for each group of DaemonSets: the group's types, and those of its types that have room.
        """
        pool, in_pairs = self.pool, set[str]()
        for types, room in rooms:
            in_pairs.update(_pairs(meeting & types, room, offered & types))
        met = any(meeting & types for types, _ in rooms)
        fitting = any(room for _, room in rooms)
        with_offer = any(offered & types for types, _ in rooms)
        reason, text = _explain(met, fitting, with_offer, in_pairs)
        asking = self.pod.node.get("containers") if reason == "resources" else None
        text = f"{text}, resources={shown_requests(self.pod.requests)}"
        alone = meeting & offered & pool.sizes.holding(self.pod.requests, pool.allowed)
        in_the_way = find_blocking_daemons(self.pod, [group for group in self.daemons if group.types & alone])
        return PoolRefusal(reason, text, None, asking, *in_the_way)


class PoolVerdict(NamedTuple):
    """Whether a pool accepts a pod: the instance types that can run the pod and have an image, or the refusal.

    `surroundings` are the DaemonSets and volumes with which the pod was refused. None if the pool accepts the pod.
    """

    pool: EmptyPool
    types: TypeSet
    refusal: PoolRefusal | None
    surroundings: Surroundings | None = None
    preferences_open: bool = False
    """Whether the instance types depend on the setting `preferencePolicy`, which is not known."""
    takes_if_ignored: bool = False
    """Whether the pool accepts the pod only with one value of the setting `preferencePolicy`, which is not known."""

    @property
    def fits(self) -> bool:
        """Return whether the pool accepts the pod."""
        return self.refusal is None

    def in_own_labels(self) -> PoolVerdict:
        """Return the verdict with the label keys of the pool's provider: `eks.amazonaws.com/` for EKS Auto Mode."""
        if self.refusal is None or not self.pool.is_of_auto_mode:
            return self
        message = self.refusal.message.replace(f"{AWS_GROUP}/instance-", f"{AUTO_MODE_GROUP}/instance-")
        return self._replace(refusal=self.refusal._replace(message=message))


class PodState(NamedTuple):
    """A variant of a pod that the scheduler tries: one required and one preferred term, tolerations and
    topologies.
    """

    required: Term | None
    preferred: Term | None
    tolerations: tuple[Toleration, ...]
    topologies: tuple[TopologyKey, ...]


def find_blocking_daemons(pod: Pod, groups: Sequence[DaemonGroup]) -> tuple[tuple[Daemon, ...], HostPort | None]:
    """Return the daemons whose requests leave too little for a pod on some types.

    If a daemon uses a host port of the pod, return only this daemon, and the port.
    """
    for group in groups:
        taken = group.port_taken_from(pod)
        if taken is not None:
            return (taken[1],), taken[0]
    asking = (daemon for group in groups for daemon in group.daemons if len(daemon.pod.requests) > 1)
    return tuple({id(daemon.workload): daemon for daemon in asking}.values()), None


def _pairs(meets: TypeSet, room: TypeSet, offers: TypeSet) -> Iterator[str]:
    if meets & room - offers:
        yield "requirements and resources"
    if meets & offers - room:
        yield "requirements and offering"
    if room & offers - meets:
        yield "resources and offering"


def _explain(met: bool, fitting: bool, with_offer: bool, pairs: set[str]) -> tuple[Reason, str]:
    """Return a text, and the first reason in it, in the words of core's `InstanceTypeFilterError`."""
    none = "no instance type"
    failed: list[tuple[bool, Reason, str]] = [
        (met, "requirements", "met the scheduling requirements"),
        (fitting, "resources", "had enough resources"),
        (with_offer, "offering", "had a required offering"),
    ]
    lacking = [(reason, text) for holds, reason, text in failed if not holds]
    if len(lacking) > 1:
        return lacking[0][0], f"{none} {' or '.join(text for _, text in lacking)}"
    if not met:
        return "requirements", f"{none} met all requirements"
    if not fitting:
        return "resources", f"{none} has enough resources"
    if not with_offer:
        return "offering", f"{none} has the required offering"
    if "requirements and resources" in pairs:
        text = "which met the scheduling requirements and had enough resources, had a required offering"
        return "requirements", f"{none} {text}"
    if "resources and offering" in pairs:
        text = "which had enough resources and the required offering met the scheduling requirements"
        return "resources", f"{none} {text}"
    if "requirements and offering" in pairs:
        text = "which met the scheduling requirements and the required offering had the required resources"
        return "requirements", f"{none} {text}"
    return "requirements", f"{none} met the requirements/resources/offering tuple"
