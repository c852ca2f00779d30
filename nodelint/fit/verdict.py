"""Whether a NodePool without nodes accepts one pod, and if not, why: in the scheduler's order of checks.

Sources: `addToNewNodeClaim` of scheduler.go, `CanAdd`, `filterInstanceTypesByRequirements` and
`InstanceTypeFilterError` of nodeclaim.go, and `Relax` of preferences.go in pkg/controllers/provisioning/scheduling of
Karpenter core, 1.0.0 to 1.14.1. Of `AddRequirements` of topology.go, only the part that no other pod affects is
included. Dynamic resources are not included.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nodelint.base.types import TYPE_CHECKING
from nodelint.ec2.type_set import NONE, TypeSet
from nodelint.fit.attempt import Attempt, PodState, PoolVerdict, find_blocking_daemons
from nodelint.fit.daemon_groups import DaemonGroup
from nodelint.fit.ignored import IgnoredPod, requirements_of
from nodelint.fit.pod_terms import SPREAD, LabelExpression, Term, Toleration
from nodelint.fit.pods import Pod, add_requests
from nodelint.fit.pools import REGISTERED, EmptyPool
from nodelint.fit.refusal import (
    FILTERED_OUT,
    PoolRefusal,
    clash_refusal,
    limits_refusal,
    shown_requests,
    taint_refusal,
)
from nodelint.fit.volumes import VolumePlace
from nodelint.model.requirement import Requirements

if TYPE_CHECKING:
    from collections.abc import Callable

    from nodelint.fit.lacking import Explanation


_TOLERATES_SOFT = Toleration(None, "Exists", "", "PreferNoSchedule")


def relaxations(pod: Pod, pool: EmptyPool, ignored: bool) -> Iterator[PodState]:
    """Yield the states of a pod that the scheduler tries, each with fewer preferences than the one before.

    Required terms are dropped first, then preferred affinity to pods, preferred terms and preferred spreads. With
    `ignored`, the preferences are never tried.
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
    if any(taint.effect == "PreferNoSchedule" for taint in pool.taints.known):
        yield PodState(terms[-1], None, (*pod.tolerations, _TOLERATES_SOFT), hard)


def judge_pod(
    pod: Pod,
    pool: EmptyPool,
    daemons: Sequence[DaemonGroup],
    ignored: IgnoredPod | None = None,
    volumes: Sequence[VolumePlace] = (),
) -> PoolVerdict:
    """Return whether the pool accepts the pod. An unknown fact never causes a refusal."""
    found = judge_mended(pod, pool, daemons, ignored, volumes)
    is_static = found.refusal is not None and found.refusal.reason == "static"
    if (found.fits or is_static) and pool.blocker is not None:
        obj, problem = pool.blocker
        text = f"nothing is launched with {obj.label}: {problem.message}"
        return PoolVerdict(pool, NONE, PoolRefusal("not-ready", text, problem.node))
    return found


def judge_mended(
    pod: Pod,
    pool: EmptyPool,
    daemons: Sequence[DaemonGroup],
    ignored: IgnoredPod | None = None,
    volumes: Sequence[VolumePlace] = (),
) -> PoolVerdict:
    """Return whether the pool would accept the pod if nothing in the pool or its class blocked launches."""
    refusal = _refuse_at_once(pool, ignored)
    if refusal is not None:
        return PoolVerdict(pool, NONE, refusal)
    attempt, preferences = Attempt(pod, pool, daemons, volumes), pool.policies.preferences_ignored
    found = _with_image(_relax(attempt, preferences is True))
    if preferences is None and (pod.preferred or any(topology.preferred for topology in pod.topologies)):
        found = _either(found, _with_image(_relax(attempt, True)))
    return _left_to_nodes(found) if found.fits and pool.pool.static else found


def _relax(attempt: Attempt, ignored: bool) -> PoolVerdict:
    """Return the verdict of the first state with which the pool accepts the pod, or else of the last state."""
    found = PoolVerdict(attempt.pool, NONE, None)
    for state in relaxations(attempt.pod, attempt.pool, ignored):
        found = attempt.judge(state)
        if found.fits:
            break
    return found


def _either(respected: PoolVerdict, ignored: PoolVerdict) -> PoolVerdict:
    """Return the combined verdict if it is not known whether the controller ignores preferences."""
    if respected.fits == ignored.fits and respected.types == ignored.types:
        return respected
    verdict = respected if respected.fits else ignored
    one_alone = respected.fits != ignored.fits
    return verdict._replace(types=respected.types | ignored.types, preferences_open=True, takes_if_ignored=one_alone)


def _left_to_nodes(found: PoolVerdict) -> PoolVerdict:
    """Return the refusal of a static pool: it launches no node for a pod that its existing nodes may accept."""
    pool = found.pool
    at = pool.pool.node.find("spec", "replicas")
    count = f"`replicas: {at.value}`" if at is not None and isinstance(at.value, int) else "`replicas`"
    text = f"the pool is static: it keeps {count} and launches no node for pending pods"
    text += ", which only use what its nodes have"
    return PoolVerdict(pool, NONE, PoolRefusal("static", text, at, for_certain=False))


def _with_image(found: PoolVerdict) -> PoolVerdict:
    """Return the verdict restricted to types with an image.

    The scheduler does not check images, so no preference is relaxed for them.
    """
    pool, types = found.pool, found.types & found.pool.resolution.launchable
    if not found.fits or types:
        return found._replace(types=types)
    node_class = pool.resolution.node_class
    at = node_class.name_node if node_class is not None else pool.pool.name_node
    text = "no instance type that holds the pod has an image of the class"
    return PoolVerdict(pool, NONE, PoolRefusal("requirements", text, at))


def _refuse_at_once(pool: EmptyPool, ignored: IgnoredPod | None) -> PoolRefusal | None:
    """Return a refusal that applies to each pool (`ignored`) or to each pod of this pool. None if there is none."""
    if ignored is not None:
        return PoolRefusal("requirements", ignored.message, None, ignored.at)
    at = pool.pool.requirements_node or pool.pool.name_node
    if not pool.candidates:

        def explain() -> Explanation | None:
            from nodelint.fit.lacking import explain_empty_pool

            return explain_empty_pool(pool)

        return PoolRefusal("requirements", FILTERED_OUT, pool.at_cause, explain=explain)
    if pool.unmet is not None and not pool.pool.static:
        return PoolRefusal("requirements", f"{FILTERED_OUT}: minValues of {pool.unmet} is not met", at)
    return limits_refusal(pool)


def judge_daemon(pod: Pod, pool: EmptyPool, others: Sequence[DaemonGroup]) -> PoolVerdict:
    """Return whether a DaemonSet's pod fits on some type of the pool, with the other DaemonSets of that type.

    Karpenter launches no node for a DaemonSet: minValues, preferences and soft taints do not count.
    """
    if not pool.candidates:
        return PoolVerdict(pool, NONE, _refuse_at_once(pool, None))
    limited = limits_refusal(pool)
    if limited is not None:
        return PoolVerdict(pool, NONE, limited)
    taint = pool.taints.untolerated(pod.tolerations, soft=False)
    if taint is not None:
        return PoolVerdict(pool, NONE, taint_refusal(taint, pod))
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
        daemons, port = find_blocking_daemons(pod, [group for group in others if group.types & alone])

        def explain() -> Explanation | None:
            from nodelint.fit.lacking import explain_lack

            return explain_lack(pod, pool, others, types)

        at = pod.node.get("containers")
        return PoolVerdict(pool, NONE, PoolRefusal("resources", text, None, at, daemons, port, explain=explain))
    return _with_image(PoolVerdict(pool, room, None))


def _daemon_types(pod: Pod, pool: EmptyPool) -> tuple[TypeSet, PoolRefusal | None]:
    """Return the types within the limits that meet a required term, and why the last failing term meets none."""
    found, refusal = NONE, None
    labels = pool.requirements.copy()  # after registration and initialization, whatever the release
    labels.add(*Requirements.from_labels(REGISTERED))
    for term in pod.terms or (None,):
        expressions = (*pod.selector, *(term.expressions if term is not None else ()))
        requirements = requirements_of(expressions, pool.release)
        clash = pool.labels.clash(labels, requirements)
        if clash is not None:
            refusal = clash_refusal(clash, requirements, pool, expressions)
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
