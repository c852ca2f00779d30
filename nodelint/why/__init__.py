"""Why a node stays: what keeps Karpenter from disrupting each node of a cluster, from the output of `kubectl get`.

The checks are those of the disruption controller, in its order; `fit` decides where pods would be scheduled. An
unknown fact gives the status `unknown`: no node that may stay is reported as removed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

from nodelint.base.budget import RUN, BudgetSpent
from nodelint.base.tuples import NamedTuple
from nodelint.drift.plain_values import is_true, length, mapping, moment, text
from nodelint.fit.daemon_groups import group_by_daemons
from nodelint.fit.pods import Daemon
from nodelint.fit.pools import DEFAULT_POLICIES, EmptyPool, Policies
from nodelint.karpenter.resolve import Resolution
from nodelint.model.messages import counted
from nodelint.model.providers import Provider
from nodelint.model.releases import Version
from nodelint.why.answer import AnswerGap, Answers, NodeAnswer
from nodelint.why.auto_mode import provider_of, qualified
from nodelint.why.candidates import Rules
from nodelint.why.consolidation import Consolidation, Facts
from nodelint.why.dump import Dump
from nodelint.why.events import Events
from nodelint.why.examiner import Examiner
from nodelint.why.fleet import Fleet, LaunchPool
from nodelint.why.objects import DumpObjects, find_daemons
from nodelint.why.pdbs import DisruptionBudgets
from nodelint.why.places import Places
from nodelint.why.shape_reader import VolumeFacts, read_shapes
from nodelint.why.state import ClusterState, NodeState
from nodelint.why.times import later

_SYSTEM = "kube-system"

_UNSAID = (
    "A dump does not show: how busy pods are, which nodes are nominated for pods right now, what changes between two"
    " loops of the controller, spot prices, which capacity is short, and how many volumes a node can attach. If nodes"
    " are equal in the order of multi-node consolidation, that order changes from loop to loop: nodelint tries four."
)


class Known(NamedTuple):
    """The facts of a run that are not in the dump: time, releases, settings, and places of fields in manifests.

    `spot_to_spot` and `policies` come from the controller's settings. `complete_kinds` are kinds of which the dump
    certainly contains all objects.
    """

    now: datetime
    release: Version
    release_from: str
    spot_to_spot: bool | None = None
    policies: Policies = DEFAULT_POLICIES
    places: Places = Places({})
    unresolved: tuple[str, ...] = ()
    complete_kinds: frozenset[str] = frozenset()


def explain(
    dump: Dump,
    found: DumpObjects,
    resolutions: Sequence[Resolution],
    known: Known,
    wanted: Callable[[NodeState], bool] = lambda _: True,
) -> Answers:
    """Return for each wanted node of a dump why it stays, or how Karpenter removes it."""
    cluster = ClusterState(dump)
    volumes = VolumeFacts(
        dump.objects_of("PersistentVolumeClaim"),
        found.of_cluster,
        dump.has_kind("PersistentVolume"),
    )
    try:
        read_shapes(cluster.pods, volumes, known.release)
    except BudgetSpent:
        return _all_left_out(dump, cluster, resolutions, known, wanted)
    daemons = find_daemons(found, cluster.pods)
    cluster.count_free(daemons)
    examiners = _Examiners(dump, cluster, resolutions, [daemon.daemon for daemon in daemons], known)
    answers: list[NodeAnswer] = []
    left_out: list[str] = []
    for state in cluster.nodes:
        if not wanted(state):
            continue
        if RUN.is_over():
            left_out.append(state.name)
            continue
        answers.append(examiners.explain(state))
    gaps = (AnswerGap(RUN.late_reason, tuple(left_out)),) if left_out else ()
    return Answers(
        tuple(answers),
        known.now,
        str(known.release),
        known.release_from,
        (*_notes(dump, cluster), *_price_notes(cluster, resolutions)),
        (_UNSAID,),
        gaps,
        examiners.work,
    )


def _all_left_out(
    dump: Dump,
    cluster: ClusterState,
    resolutions: Sequence[Resolution],
    known: Known,
    wanted: Callable[[NodeState], bool],
) -> Answers:
    """Return an answer without any node, because the time budget ended before the pods were read."""
    names = tuple(state.name for state in cluster.nodes if wanted(state))
    notes = (*_notes(dump, cluster), *_price_notes(cluster, resolutions))
    gaps = (AnswerGap(RUN.late_reason, names),) if names else ()
    return Answers((), known.now, str(known.release), known.release_from, notes, (_UNSAID,), gaps)


class _Examiners:
    """One Examiner for each provider: a controller launches replacements only from NodePools of its own provider."""

    def __init__(
        self,
        dump: Dump,
        cluster: ClusterState,
        resolutions: Sequence[Resolution],
        daemons: Sequence[Daemon],
        known: Known,
    ) -> None:
        self._dump, self._cluster, self._known = dump, cluster, known
        self._resolutions = resolutions
        self._daemons = daemons
        self._by_provider: dict[str, Examiner] = {}
        self._events = Events(dump.events)
        self._rules = Rules(cluster, DisruptionBudgets(dump), known.now, known.release, known.complete_kinds)

    @property
    def work(self) -> int:
        """Return the number of nodes, pods and constraints that were examined (a measure for growth tests)."""
        return sum(examiner.consolidation.fleet.work for examiner in self._by_provider.values())

    def explain(self, state: NodeState) -> NodeAnswer:
        """Return the answer for a node."""
        pool = self._cluster.pools.get(state.pool)
        provider: Provider = provider_of(pool) if pool is not None else "aws"
        found = self._by_provider.get(provider)
        if found is None:
            found = self._by_provider[provider] = self._examiner(provider)
        return qualified(found.explain(state), provider)

    def _examiner(self, provider: Provider) -> Examiner:
        known, cluster = self._known, self._cluster
        own = {name for name, obj in cluster.pools.items() if provider_of(obj) == provider}
        resolutions = [r for r in self._resolutions if r.pool.name in own]
        empty = sorted((EmptyPool(r, known.policies) for r in resolutions), key=lambda pool: pool.order)
        for pool in empty:
            pool.beside = empty
        launch = [
            LaunchPool(p, group_by_daemons(p, self._daemons), cluster.pools.get(p.name, {}), cluster) for p in empty
        ]
        launch = [pool for pool in launch if mapping(pool.stored, "metadata").get("deletionTimestamp") is None]
        recent = (state for state in cluster.nodes if _is_under_consolidate_after(state, cluster, known.now))
        recent_ids = frozenset(id(state) for state in recent)
        fleet = Fleet(cluster, launch, known.release, recent_ids, known.policies.preferences_ignored is True)
        facts = Facts(known.spot_to_spot, known.unresolved, tuple(_missing(self._dump, known.complete_kinds)))
        consolidation = Consolidation(self._rules, fleet, facts)
        return Examiner(self._rules, consolidation, self._events, known.places, frozenset(own))


def _is_under_consolidate_after(state: NodeState, cluster: ClusterState, now: datetime) -> bool:
    """Return whether a pod came to or left the node within consolidateAfter (core's `IsUnderConsolidateAfter`)."""
    after = length(text(mapping(cluster.pools.get(state.pool, {}), "spec", "disruption").get("consolidateAfter")))
    if not after or not is_true(state.claim or {}, "Initialized"):
        return False
    started = moment(mapping(state.claim, "status").get("lastPodEventTime"))
    if started is None:
        started = moment((state.claim_condition("Initialized") or {}).get("lastTransitionTime"))
    end = later(started, after)
    return end is not None and now < end


def _missing(dump: Dump, complete_kinds: frozenset[str]) -> list[str]:
    """Return the kinds of objects that the dump lacks, without which no removal is certain."""
    found = []
    pods = dump.objects_of("Pod")
    if not pods:
        found.append("which pods run: the dump holds none (kubectl get pods -A)")
    elif not any(namespace == _SYSTEM for namespace, _ in pods):
        found.append(f"pods of other namespaces: the dump holds none of {_SYSTEM} (kubectl get pods -A)")
    if not dump.has_kind("PodDisruptionBudget") and "PodDisruptionBudget" not in complete_kinds:
        found.append("PodDisruptionBudgets: the dump holds none (kubectl get pdb -A)")
    return found


def _notes(dump: Dump, cluster: ClusterState) -> list[str]:
    """Return notes about the dump: duplicate or skipped objects, pods of missing nodes, pending pods."""
    notes = []
    if dump.repeated:
        notes.append(f"{counted(dump.repeated, 'object')} more than once in the dump: the last one counts")
    if dump.skipped:
        notes.append(f"{counted(dump.skipped, 'object')} without a kind or a name: not read")
    if cluster.lost:
        notes.append(f"{counted(len(cluster.lost), 'pod')} on nodes that the dump does not hold")
    if cluster.pending:
        what = f"{counted(len(cluster.pending), 'pod')} {'waits' if len(cluster.pending) == 1 else 'wait'} for a node"
        notes.append(f"{what} ({cluster.pending[0].label}): each simulation places them as well")
    return notes


def _price_notes(cluster: ClusterState, resolutions: Sequence[Resolution]) -> Iterator[str]:
    """Yield the region and date of the prices by which nodes are compared."""
    if not resolutions:
        return
    catalog = resolutions[0].catalog
    regions = sorted({state.region for state in cluster.nodes if state.claim is not None and state.region})
    for region in regions:
        used, day = catalog.prices.region_for(region), catalog.prices.date(region)
        of_day = f" of {day}" if day is not None else ""
        if used == region:
            yield f"prices: on demand in {region}{of_day}"
        else:
            yield (
                f"nodelint has no prices of {region} (`nodelint refresh` asks): those of {used}{of_day} stand in for"
                " them, and a comparison of instance families is not known"
            )
