"""Whether an empty NodePool takes one pod of a workload, and if not, why: in the order in which the scheduler asks.

`addToNewNodeClaim` of scheduler.go, `CanAdd`, `filterInstanceTypesByRequirements` and `InstanceTypeFilterError` of
nodeclaim.go, and `Relax` of preferences.go in pkg/controllers/provisioning/scheduling of Karpenter core, 1.0.0 to
1.14.1. Of `AddRequirements` of topology.go, what no other pod decides: nodes that lack a label are no domain to
spread over, or to be near to a pod in. Left out is the rest of it, and dynamic resources.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.ec2.type_set import NONE, TypeSet, union
from nodelint.fit.ignored import IgnoredPod, requirements_of
from nodelint.fit.pod_terms import SPREAD, HostPort, LabelExpression, Term, Toleration, TopologyKey
from nodelint.fit.pods import Daemon, Pod, add_requests
from nodelint.fit.pools import DAEMONS_BY_TYPE, DaemonGroup, EmptyPool
from nodelint.fit.topologies import find_no_domain
from nodelint.fit.volumes import VolumePlace
from nodelint.karpenter.spelling import distance
from nodelint.model import quantities
from nodelint.model.gvk import AUTO_MODE_GROUP, AWS_GROUP
from nodelint.model.manifest import Taint
from nodelint.model.messages import short
from nodelint.model.releases import Version
from nodelint.model.requirement import Requirement, Requirements, normalize
from nodelint.text import Node

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Literal

    from nodelint.fit.lacking import Explanation
    from nodelint.karpenter.resolve.node_size import Resources

    Reason = Literal["taint", "requirements", "resources", "limits", "offering", "minValues", "static", "not-ready"]

MORE_TYPES = Version(1, 7, 0)
"""The first release whose scheduler hands on 600 types, not 60."""

VOLUME_CLASH = "incompatible volume requirements"
_TOLERATES_SOFT = Toleration(None, "Exists", "", "PreferNoSchedule")


class PoolRefusal(NamedTuple):
    """Why a pool does not take a pod: one word, Karpenter's text, and where pool and workload say so, if they do.

    `daemons` are the DaemonSets without which some type of the pool would take it, `port` the port of the node that
    the pod needs and one of them has taken. `for_certain`: nodes that are there already change nothing about it.
    `explain` works out what exactly lacks or clashes: few refusals are shown.
    """

    reason: Reason
    message: str
    at_pool: Node | None = None
    at_workload: Node | None = None
    daemons: tuple[Daemon, ...] = ()
    port: HostPort | None = None
    for_certain: bool = True
    explain: Callable[[], Explanation | None] | None = None

    @property
    def brief(self) -> str:
        """Karpenter's text in at most 70 characters, the deciding word in it."""
        taint = self.message.partition("(taint=")[2].rstrip(")")
        if self.reason == "taint" and taint:
            return f"the taint {short(taint, 50)} is not tolerated"
        text = self.message.removeprefix("incompatible requirements, ").partition(", resources=")[0]
        return short(text, 70)

    @property
    def explanation(self) -> Explanation | None:
        """What exactly lacks or clashes, where Karpenter's text does not say it."""
        return self.explain() if self.explain is not None else None


class Surroundings(NamedTuple):
    """What a pod was judged with: the DaemonSets of a pool's types, and where the pod's volumes can be."""

    daemons: tuple[DaemonGroup, ...]
    volumes: tuple[VolumePlace, ...] = ()


class PoolVerdict(NamedTuple):
    """What a pool makes of a pod: the types that hold it, with an image, or why there is none.

    `surroundings` are what the pod was refused with. None if it was not refused.
    """

    pool: EmptyPool
    types: TypeSet
    refusal: PoolRefusal | None
    surroundings: Surroundings | None = None
    preferences_open: bool = False
    """Whether the types depend on `preferencePolicy`, which is not known."""
    takes_if_ignored: bool = False
    """Whether the pool takes the pod under one value of `preferencePolicy` alone, which is not known."""

    @property
    def fits(self) -> bool:
        """Whether the pool takes it."""
        return self.refusal is None

    def in_own_labels(self) -> PoolVerdict:
        """The same, with the labels of instance types as the pool's provider names them."""
        if self.refusal is None or not self.pool.is_of_auto_mode:
            return self
        message = self.refusal.message.replace(f"{AWS_GROUP}/instance-", f"{AUTO_MODE_GROUP}/instance-")
        return self._replace(refusal=self.refusal._replace(message=message))


class PodState(NamedTuple):
    """A pod as the scheduler tries it: one required term, one preferred, tolerations, and what it is spread over."""

    required: Term | None
    preferred: Term | None
    tolerations: tuple[Toleration, ...]
    topologies: tuple[TopologyKey, ...]


def relaxations(pod: Pod, pool: EmptyPool, ignored: bool) -> Iterator[PodState]:
    """The states that the scheduler tries, each with less than the one before.

    Required terms go first, then preferred affinity to pods, preferred terms, and spreads that are preferred. None of
    these is tried where preferences are `ignored`.
    """
    terms: Sequence[Term | None] = pod.terms or (None,)
    wanted = () if ignored else pod.preferred
    first = wanted[0] if wanted else None
    hard = tuple(topology for topology in pod.topologies if not topology.preferred)
    spread = () if ignored else tuple(t for t in pod.topologies if t.preferred and t.what == SPREAD)
    near = () if ignored else tuple(t for t in pod.topologies if t.preferred and t.what != SPREAD)
    for term in terms:
        yield PodState(term, first, pod.tolerations, (*hard, *spread, *near))
    if near:
        yield PodState(terms[-1], first, pod.tolerations, (*hard, *spread))
    for preferred in (*wanted[1:], None) if wanted else ():
        yield PodState(terms[-1], preferred, pod.tolerations, (*hard, *spread))
    if spread:
        yield PodState(terms[-1], None, pod.tolerations, hard)
    if any(taint.effect == "PreferNoSchedule" for taint in pool.taints):
        yield PodState(terms[-1], None, (*pod.tolerations, _TOLERATES_SOFT), hard)


def judge_pod(
    pod: Pod,
    pool: EmptyPool,
    daemons: Sequence[DaemonGroup],
    ignored: IgnoredPod | None = None,
    volumes: Sequence[VolumePlace] = (),
) -> PoolVerdict:
    """Whether the pool takes the pod. Never says no where that depends on what is not known."""
    refusal = _refuse_at_once(pool, ignored)
    if refusal is not None:
        return PoolVerdict(pool, NONE, refusal)
    attempt, preferences = _Attempt(pod, pool, daemons, volumes), pool.policies.preferences_ignored
    found = _with_image(_relax(attempt, preferences is True))
    if preferences is None and (pod.preferred or any(topology.preferred for topology in pod.topologies)):
        found = _either(found, _with_image(_relax(attempt, True)))
    if found.fits and pool.blocker is not None:
        obj, problem = pool.blocker
        text = f"{obj.label} never becomes ready: {problem.message}"
        return PoolVerdict(pool, NONE, PoolRefusal("not-ready", text, problem.node))
    return _left_to_nodes(found) if found.fits and pool.pool.static else found


def _relax(attempt: _Attempt, ignored: bool) -> PoolVerdict:
    """What comes of the first state with which the pool takes the pod, or of the last."""
    found = PoolVerdict(attempt.pool, NONE, None)
    for state in relaxations(attempt.pod, attempt.pool, ignored):
        found = attempt.judge(state)
        if found.fits:
            break
    return found


def _either(respected: PoolVerdict, ignored: PoolVerdict) -> PoolVerdict:
    """The verdict where it is not known whether the controller respects preferences or ignores them."""
    if respected.fits == ignored.fits and respected.types == ignored.types:
        return respected
    verdict = respected if respected.fits else ignored
    one_alone = respected.fits != ignored.fits
    return verdict._replace(types=respected.types | ignored.types, preferences_open=True, takes_if_ignored=one_alone)


def _left_to_nodes(found: PoolVerdict) -> PoolVerdict:
    """That a static pool launches nothing for a pod that its nodes may hold."""
    pool = found.pool
    at = pool.pool.node.find("spec", "replicas")
    count = f"`replicas: {at.value}`" if at is not None and isinstance(at.value, int) else "`replicas`"
    text = f"the pool is static: it keeps {count} and launches no node for pending pods"
    text += ", which only use what its nodes have"
    return PoolVerdict(pool, NONE, PoolRefusal("static", text, at, for_certain=False))


def _with_image(found: PoolVerdict) -> PoolVerdict:
    """The same for the types that have an image: the scheduler does not ask for one, and relaxes nothing for it."""
    pool, types = found.pool, found.types & found.pool.resolution.launchable
    if not found.fits or types:
        return found._replace(types=types)
    node_class = pool.resolution.node_class
    at = node_class.name_node if node_class is not None else pool.pool.name_node
    text = "no instance type that holds the pod has an image of the class"
    return PoolVerdict(pool, NONE, PoolRefusal("requirements", text, at))


def _refuse_at_once(pool: EmptyPool, ignored: IgnoredPod | None) -> PoolRefusal | None:
    """What keeps the pod from each pool, and what keeps each pod from this one."""
    if ignored is not None:
        return PoolRefusal("requirements", ignored.message, None, ignored.at)
    at = pool.pool.requirements_node or pool.pool.name_node
    if not pool.candidates:

        def explain() -> Explanation | None:
            from nodelint.fit.lacking import explain_empty_pool

            return explain_empty_pool(pool)

        return PoolRefusal("requirements", _FILTERED, at, explain=explain)
    if pool.unmet is not None and not pool.pool.static:
        return PoolRefusal("requirements", f"{_FILTERED}: minValues of {pool.unmet} is not met", at)
    return _limits_refusal(pool)


_FILTERED = "nodepool requirements filtered out all available instance types"


def _limits_refusal(pool: EmptyPool) -> PoolRefusal | None:
    if pool.allowed and not pool.exhausted:
        return None
    at = pool.pool.find_field("spec", "limits") or pool.pool.name_node
    if pool.exhausted:
        return PoolRefusal("limits", "node limits have been exhausted for nodepool", at)
    return PoolRefusal("limits", "all available instance types exceed limits for nodepool", at)


def too_few_types(pool: EmptyPool, types: TypeSet) -> PoolRefusal | None:
    """Whether minValues are not met by the types left, or by the cheapest of them that are handed on."""
    resolution = pool.resolution
    if not resolution.min_values:
        return None
    key = pool.unmet_among(types)
    if key is None:
        most = 600 if pool.release >= MORE_TYPES else resolution.most_launched
        key = pool.unmet_among(resolution.cheapest_of(types, most)) if len(types) > most else None
    if key is None:
        return None
    text = f"minValues requirement is not met for label(s) (label(s)={key})"
    return PoolRefusal("minValues", text, pool.pool.requirements_node)


def _taint_refusal(taint: Taint, pod: Pod) -> PoolRefusal:
    value = f"={taint.value}" if isinstance(taint.value, str) and taint.value else ""
    shown = f"{taint.key}{value}:{taint.effect}"
    return PoolRefusal("taint", f"did not tolerate taint (taint={shown})", taint.node, pod.node.get("tolerations"))


class _Attempt:
    """One try to put a pod on a new node of a pool."""

    def __init__(
        self, pod: Pod, pool: EmptyPool, daemons: Sequence[DaemonGroup], volumes: Sequence[VolumePlace]
    ) -> None:
        self.pod = pod
        self.pool = pool
        self.daemons = daemons
        self.volumes = volumes

    def judge(self, state: PodState) -> PoolVerdict:
        pool = self.pool
        taint = pool.untolerated(state.tolerations, soft=True)
        if taint is not None:
            return PoolVerdict(pool, NONE, _taint_refusal(taint, self.pod))
        expressions = [*self.pod.selector]
        expressions += state.preferred.expressions if state.preferred is not None else ()
        expressions += state.required.expressions if state.required is not None else ()
        requirements = requirements_of(expressions, pool.release)
        clash = pool.clash(pool.requirements, requirements)
        if clash is not None:
            return PoolVerdict(pool, NONE, _clash_refusal(clash, requirements, pool, expressions))
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
            clash = pool.clash(requirements, volume.requirements)
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
            refusal = self._with_volumes_apart(refusal, *volume.apart)
        if refusal is None and types and not pool.pool.static:
            refusal = too_few_types(pool, types)
        return PoolVerdict(pool, NONE if refusal is not None else types, refusal)

    def _volume_refusal(
        self, clash: str, volume: VolumePlace, expressions: Sequence[LabelExpression], existing: Requirements
    ) -> PoolRefusal:
        def explain() -> Explanation | None:
            from nodelint.fit import lacking

            if volume.apart is not None:
                return lacking.explain_volumes_apart(*volume.apart)
            return lacking.explain_volume_clash(expressions, clash, volume.requirements, volume.node)

        found = _clash_refusal(clash, volume.requirements, self.pool, (), existing)
        text = found.message.replace("incompatible requirements", VOLUME_CLASH)
        at = self.pod.node.get("volumes")
        return found._replace(message=text, at_workload=at, explain=explain)

    def _with_volumes_apart(self, refusal: PoolRefusal, first: VolumePlace, then: VolumePlace) -> PoolRefusal:
        def explain() -> Explanation | None:
            from nodelint.fit.lacking import explain_volumes_apart

            return explain_volumes_apart(first, then)

        return refusal._replace(at_workload=self.pod.node.get("volumes"), daemons=(), explain=explain)

    def _filtered(
        self, requirements: Requirements, expressions: Sequence[LabelExpression]
    ) -> tuple[TypeSet, PoolRefusal | None]:
        """The types that meet requirements, have room and an offer; else the refusal in the words of core."""
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
        """The resource of which the types left have too little, or what leaves no type."""
        from nodelint.fit import lacking

        pool = self.pool
        if not types:
            return lacking.explain_clash(pool, expressions)
        found = lacking.explain_lack(self.pod, pool, self.daemons, types)
        beyond = lacking.explain_limits(self.pod, pool, self.daemons, pool.meeting(requirements, pool.candidates))
        return found._replace(text=f"{found.text}; {beyond}") if found is not None and beyond is not None else found

    def _refusal(self, meeting: TypeSet, offered: TypeSet, rooms: Sequence[tuple[TypeSet, TypeSet]]) -> PoolRefusal:
        """Why no type is left; `rooms` are the types of each group of daemons, and those of them with room."""
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
        in_the_way = _daemons_in_the_way(self.pod, [group for group in self.daemons if group.types & alone])
        return PoolRefusal(reason, text, None, asking, *in_the_way)


def _daemons_in_the_way(pod: Pod, groups: Sequence[DaemonGroup]) -> tuple[tuple[Daemon, ...], HostPort | None]:
    """The daemons that keep a pod from types that would hold it alone, and the port that one of them has taken."""
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
    """The text of `InstanceTypeFilterError`, and the first of the reasons that it names."""
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


def judge_daemon(pod: Pod, pool: EmptyPool, others: Sequence[DaemonGroup]) -> PoolVerdict:
    """Whether a daemon runs on some type that the pool can launch, beside the other daemons of that type.

    Karpenter launches nothing for it: minValues, preferences and soft taints do not count.
    """
    if not pool.candidates:
        return PoolVerdict(pool, NONE, _refuse_at_once(pool, None))
    limited = _limits_refusal(pool)
    if limited is not None:
        return PoolVerdict(pool, NONE, limited)
    taint = pool.untolerated(pod.tolerations, soft=False)
    if taint is not None:
        return PoolVerdict(pool, NONE, _taint_refusal(taint, pod))
    types, refusal = _daemon_types(pod, pool)
    room = NONE
    for group in others:
        if group.port_taken_from(pod) is None:
            room |= pool.sizes.holding(add_requests((pod.requests, group.requests)), group.types & types)
    if not types and refusal is not None:
        return PoolVerdict(pool, NONE, refusal)
    if not room:
        text = f"no instance type has enough resources, resources={shown_requests(pod.requests)}"
        alone = pool.sizes.holding(pod.requests, types)
        daemons, port = _daemons_in_the_way(pod, [group for group in others if group.types & alone])

        def explain() -> Explanation | None:
            from nodelint.fit.lacking import explain_lack

            return explain_lack(pod, pool, others, types)

        at = pod.node.get("containers")
        return PoolVerdict(pool, NONE, PoolRefusal("resources", text, None, at, daemons, port, explain=explain))
    return _with_image(PoolVerdict(pool, room, None))


def _daemon_types(pod: Pod, pool: EmptyPool) -> tuple[TypeSet, PoolRefusal | None]:
    """The types within the limits that some required term goes with, and why the last term goes with none."""
    found, refusal = NONE, None
    for term in pod.terms or (None,):
        expressions = (*pod.selector, *(term.expressions if term is not None else ()))
        requirements = requirements_of(expressions, pool.release)
        clash = pool.clash(pool.node_requirements, requirements)
        if clash is not None:
            refusal = _clash_refusal(clash, requirements, pool, expressions)
            continue
        types = pool.meeting(requirements, pool.allowed)
        found |= types
        if not types:
            refusal = PoolRefusal(
                "requirements",
                "no instance type met all requirements",
                None,
                pod.node,
                explain=_explainer(pool, expressions),
            )
    return found, refusal


def _explainer(pool: EmptyPool, expressions: Sequence[LabelExpression]) -> Callable[[], Explanation | None]:
    def explain() -> Explanation | None:
        from nodelint.fit.lacking import explain_clash

        return explain_clash(pool, expressions)

    return explain


def _clash_refusal(
    key: str,
    requirements: Requirements,
    pool: EmptyPool,
    expressions: Sequence[LabelExpression],
    existing: Requirements | None = None,
) -> PoolRefusal:
    """Why requirements do not go with existing ones: those of the pool, or of the pool and the pod."""
    at = next((expression.node for expression in expressions if normalize(expression.key) == key), None)
    existing = existing if existing is not None else pool.requirements
    if key not in existing:
        near = label_hint(key, pool)
        hint = f' (typo of "{near}"?)' if near is not None else ""
        text = f'incompatible requirements, label "{key}" does not have known values{hint}'
        return PoolRefusal("requirements", text, None, at)

    def explain() -> Explanation | None:
        from nodelint.fit.lacking import explain_label_clash

        return explain_label_clash(expressions, key, pool)

    line = next((effect for effect in pool.resolution.lines if normalize(effect.key) == key), None)
    text = f"key {key}, {_requirement_text(requirements[key])} not in {_requirement_text(existing[key])}"
    return PoolRefusal(
        "requirements", f"incompatible requirements, {text}", line.node if line else None, at, explain=explain
    )


def label_hint(key: str, pool: EmptyPool) -> str | None:
    """The label that is taken for the one meant where a pool has none of a key: `labelHint` of core.

    The first of Karpenter's own labels, then of the pool's, that holds the key, ends alike, or differs little. Core
    goes through them in no order; of several the shortest is named.
    """
    end = key.rpartition("/")[2]
    for known in (pool.known, pool.requirements.keys()):
        found = [
            label
            for label in known
            if key in label or _differs_little(key, label) or (known is pool.known and label.endswith(end))
        ]
        if found:
            return min(found, key=lambda label: (label.rpartition("/")[2] != end, len(label), label))
    return None


def _differs_little(key: str, label: str) -> bool:
    most = len(label) // 5
    return most > 0 and abs(len(key) - len(label)) < most and distance(key, label, most) < most


def _requirement_text(requirement: Requirement) -> str:
    """A requirement as core prints it: the key, the operator and at most five values."""
    words = [requirement.key, requirement.operator]
    values = sorted(requirement.values)
    if values:
        more = f" and {len(values) - 5:,} others" if len(values) > 5 else ""
        words.append(f"[{' '.join(values[:5])}{more}]")
    if requirement.greater_equal is not None:
        words.append(f">={requirement.greater_equal}")
    if requirement.less_equal is not None:
        words.append(f"<={requirement.less_equal}")
    return " ".join(words)


def shown_requests(requests: Resources) -> str:
    """Amounts of resources in the form of a log: `{cpu: 500m, memory: 1Gi, pods: 1}`."""
    return (
        "{"
        + ", ".join(f"{name}: {quantities.format_quantity(name, requests[name])}" for name in sorted(requests))
        + "}"
    )
