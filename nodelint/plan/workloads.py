"""The effect of changed NodePools on workloads: those that no pool accepts any more, and those that one pool does not
accept any more.
"""

from __future__ import annotations

from collections import Counter

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.model.cluster_objects import Workload
from nodelint.model.finding import label_of, span_of, written_place
from nodelint.plan.matching import match_objects, written_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Set

    from nodelint.fit.attempt import PoolVerdict
    from nodelint.fit.tree import Tree, WorkloadFit
    from nodelint.model.finding import Span
    from nodelint.model.manifest import NodePool, Object
    from nodelint.text import Node


class WorkloadChange(NamedTuple):
    """A workload whose pods some pools accepted before, and do not accept now.

    `lost` are the verdicts of these pools now, `gone` are deleted pools, `left` are the pools that accept the pods
    now; empty if none does. `stranded` is true if no pool accepts them. `shared_names` are names that several pools
    of a side have. `otherwise` says what may accept them if no pool certainly does.
    """

    workload: Workload
    lost: tuple[PoolVerdict, ...]
    gone: tuple[NodePool, ...]
    left: tuple[NodePool, ...]
    stranded: bool
    shared_names: frozenset[object] = frozenset()
    otherwise: str = ""

    @property
    def place(self) -> Node | Span:
        """Return the place of the workload in the files."""
        return written_place(self.workload.name_node)

    @property
    def reasons(self) -> list[tuple[str, str]]:
        """Return each pool that accepted the pods, and why it does not any more."""
        refused = [(v.pool.pool, v.refusal.message) for v in self.lost if v.refusal is not None]
        gone = [(pool, "is deleted") for pool in self.gone]
        return [(self._label(pool), why) for pool, why in (*refused, *gone)]

    @property
    def left_names(self) -> list[str]:
        """Return the pools that accept the pods now."""
        return list(map(self._label, self.left))

    def _label(self, pool: NodePool) -> str:
        """Return the name of a pool, with its file if another pool has that name."""
        name = str(written_name(pool))
        if pool.name not in self.shared_names:
            return name
        origin = span_of(written_place(pool.name_node)).source
        built = label_of(pool.source)
        return f"{name} ({origin.path}{f' with {built}' if built else ''})"


def find_workload_changes(
    old: Tree,
    new: Tree,
    place: Callable[[Object], str],
    stopped: Set[int] = frozenset(),
    held_ids: Set[int] = frozenset(),
) -> Iterator[WorkloadChange]:
    """Yield the workloads of both sides that lose a pool, first those without any pool now.

    Nodes with such pods drift or are deleted, and their pods cannot be scheduled again. Changes that are not certain
    are left out. `place` returns the path of an object's file below the root of its side: several pools, and several
    workloads, may have one name. `stopped` are the ids of new pools that can launch nothing, `held_ids` of those that
    stay as they were because an update is refused.
    """
    pools = [[pool.pool for pool in tree.pools] for tree in (old, new)]
    pairs = match_objects(pools[0], pools[1], place)
    became = {id(pair.old): id(pair.new) for pair in pairs if pair.old is not None and pair.new is not None}
    names = [Counter(pool.name for pool in side) for side in pools]
    shared = frozenset(name for side in names for name, number in side.items() if number > 1)
    changes = []
    for was, workload in _pair_workloads(old, new, place):
        if not workload.partial and not was.partial:
            change = _compare(old.fit(was), new.fit(workload), became, stopped, held_ids)
            if change is not None:
                changes.append(change._replace(shared_names=shared))
    yield from sorted(changes, key=lambda change: not change.stranded)


def _pair_workloads(old: Tree, new: Tree, place: Callable[[Object], str]) -> Iterator[tuple[Workload, Workload]]:
    """Yield the workloads that both sides have, in the order of the new one."""
    sides: list[dict[tuple[object, ...], list[Workload]]] = [{}, {}]
    for tree, by_kind in zip((old, new), sides, strict=True):
        for workload in tree.workloads:
            by_kind.setdefault((workload.kind, workload.namespace), []).append(workload)
    for kind, workloads in sides[1].items():
        for pair in match_objects(sides[0].get(kind, ()), workloads, place):
            if isinstance(pair.old, Workload) and isinstance(pair.new, Workload):
                yield pair.old, pair.new


def _compare(
    was: WorkloadFit, now: WorkloadFit, became: Mapping[int, int], stopped: Set[int], held_ids: Set[int]
) -> WorkloadChange | None:
    """Return the pools that a workload loses. None if it loses none. `became` maps the ids of pools before to those
    after.
    """
    if was.unknown or (now.unknown and now.possible):
        return None
    taking = [verdict.pool.pool for verdict in was.verdicts if verdict.fits]
    taken = {became.get(id(pool)) for pool in taking}
    accepting = taken & held_ids
    still = now._replace(verdicts=tuple(v for v in now.verdicts if id(v.pool.pool) not in stopped))
    left = tuple(v.pool.pool for v in still.verdicts if v.fits or id(v.pool.pool) in accepting)
    lost = tuple(
        v
        for v in now.verdicts
        if id(v.pool.pool) in taken - held_ids and v.refusal is not None and v.refusal.for_certain
    )
    gone = tuple(pool for pool in taking if id(pool) not in became)
    if not (lost or gone):
        return None
    stranded = not (still.possible or accepting)
    return WorkloadChange(now.workload, lost, gone, left, stranded, otherwise=_explain_others(still))


def _explain_others(fit: WorkloadFit) -> str:
    """Return what may accept pods that no pool certainly accepts, as `nodelint fit` says it."""
    if fit.static_pools:
        return "no node is launched for them, and nodes of static pools may have room"
    if fit.elsewhere:
        return "a node group may accept them"
    if fit.admission is not None:
        return "what the API server adds to them lets them in"
    if fit.newer_types is not None:
        return "an instance type newer than the known ones may hold them"
    return "a NodePool that is not read may accept them"
