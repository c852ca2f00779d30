"""Why a node stays: what keeps Karpenter from disrupting each node of a cluster, from what kubectl prints of it.

The checks are those of the disruption controller, in its order; where pods would go is worked out with the readers of
`fit`. What is not known is a third answer: no node is said to go that may stay.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from nodelint.base.budget import RUN
from nodelint.base.tuples import NamedTuple
from nodelint.fit.pools import DEFAULT_POLICIES, EmptyPool, Policies
from nodelint.karpenter.resolve import Resolution
from nodelint.model.messages import counted
from nodelint.model.releases import Version
from nodelint.why.answer import Answers, NodeAnswer
from nodelint.why.candidates import Rules
from nodelint.why.consolidation import Consolidation, Facts
from nodelint.why.dump import Dump
from nodelint.why.events import Events
from nodelint.why.examiner import Examiner, Places
from nodelint.why.fleet import Fleet, LaunchPool
from nodelint.why.objects import DumpObjects, find_daemons
from nodelint.why.pdbs import DisruptionBudgets
from nodelint.why.shape_reader import VolumeFacts, read_shapes
from nodelint.why.state import ClusterState, NodeState
from nodelint.why.values import is_true, later, length, mapping, moment, text

_SYSTEM = "kube-system"

_UNSAID = (
    "What no file tells: how busy pods are, nodes that are nominated for pods right now, what changes between two"
    " loops of the controller, spot prices, capacity that is short, and limits of volumes on a node. Multi-node"
    " consolidation takes nodes that are equal in its order one way or another in each loop: four orders are tried."
)


class Known(NamedTuple):
    """What a run knows beside the dump: releases, settings, facts, and what was asked of the cluster."""

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
    """Return why each wanted node of a dump stays, or that it goes."""
    cluster = ClusterState(dump)
    volumes = VolumeFacts(
        dump.objects_of("PersistentVolumeClaim"),
        found.of_cluster,
        dump.has_kind("PersistentVolume"),
    )
    read_shapes(cluster.pods, volumes, known.release)
    daemons = find_daemons(found, cluster.pods)
    cluster.count_free(daemons)
    empty = sorted((EmptyPool(r, known.policies) for r in resolutions), key=lambda pool: pool.order)
    for pool in empty:
        pool.beside = empty
    pods_of_daemons = [daemon.daemon for daemon in daemons]
    launch = [LaunchPool(p, p.groups(pods_of_daemons), cluster.pools.get(p.name, {}), cluster) for p in empty]
    launch = [pool for pool in launch if mapping(pool.stored, "metadata").get("deletionTimestamp") is None]
    recent = frozenset(id(state) for state in cluster.nodes if _is_under_consolidate_after(state, cluster, known.now))
    fleet = Fleet(cluster, launch, known.release, recent, known.policies.preferences_ignored)
    rules = Rules(cluster, DisruptionBudgets(dump), known.now, known.release, known.complete_kinds)
    facts = Facts(known.spot_to_spot, known.unresolved, tuple(_missing(dump, known.complete_kinds)))
    examiner = Examiner(rules, Consolidation(rules, fleet, facts), Events(dump.events), known.places)
    answers: list[NodeAnswer] = []
    for state in cluster.nodes:
        if RUN.is_over():
            break
        if wanted(state):
            answers.append(examiner.explain(state))
    return Answers(
        tuple(answers),
        known.now,
        str(known.release),
        known.release_from,
        tuple(_notes(dump, cluster)),
        (_UNSAID,),
        fleet.work,
    )


def _is_under_consolidate_after(state: NodeState, cluster: ClusterState, now: datetime) -> bool:
    """Whether a node's last pod came or went less than consolidateAfter ago (`IsUnderConsolidateAfter` of core)."""
    after = length(text(mapping(cluster.pools.get(state.pool, {}), "spec", "disruption").get("consolidateAfter")))
    if not after or not is_true(state.claim or {}, "Initialized"):
        return False
    started = moment(mapping(state.claim, "status").get("lastPodEventTime"))
    if started is None:
        started = moment((state.claim_condition("Initialized") or {}).get("lastTransitionTime"))
    end = later(started, after)
    return end is not None and now < end


def _missing(dump: Dump, complete_kinds: frozenset[str]) -> list[str]:
    """Return what a dump lacks so that no node is certain to go."""
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
    """Return what a reader has to know about the dump."""
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
