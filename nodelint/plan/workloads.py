"""What a change of NodePools does to workloads: those that no pool takes any more, and those that a pool gives up."""

from __future__ import annotations

from nodelint.base.tuples import NamedTuple
from nodelint.model.finding import written_place

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nodelint.fit.tree import Tree, WorkloadFit
    from nodelint.fit.verdict import PoolVerdict
    from nodelint.model.cluster_objects import Workload
    from nodelint.model.finding import Span
    from nodelint.text import Node


class WorkloadChange(NamedTuple):
    """A workload whose pods some pools took before, and do not take any more.

    `lost` are those pools' verdicts now, the names of pools that are gone stand in `gone`; `left` are the names of
    those that take the pods now: nothing where none does.
    """

    workload: Workload
    lost: tuple[PoolVerdict, ...]
    gone: tuple[str, ...]
    left: tuple[str, ...]
    stranded: bool

    @property
    def place(self) -> Node | Span:
        """Where the workload is written."""
        return written_place(self.workload.name_node)

    @property
    def reasons(self) -> list[tuple[str, str]]:
        """Each pool that took the pods, and why it does not any more."""
        refused = [
            (verdict.pool.name, verdict.refusal.message) for verdict in self.lost if verdict.refusal is not None
        ]
        return [*refused, *((name, "is gone") for name in self.gone)]


def find_workload_changes(old: Tree, new: Tree) -> Iterator[WorkloadChange]:
    """The workloads of both sides that lose a pool; first those that are left without any.

    Nodes on which such pods run drift or go, and their pods find no place again. What is not certain on either side
    is left out.
    """
    before = {_identity(old_workload): old_workload for old_workload in old.workloads}
    changes = []
    for workload in new.workloads:
        was = before.get(_identity(workload))
        if was is not None and not workload.partial and not was.partial:
            change = _compare(old.fit(was), new.fit(workload))
            if change is not None:
                changes.append(change)
    yield from sorted(changes, key=lambda change: not change.stranded)


def _identity(workload: Workload) -> tuple[object, ...]:
    return workload.kind, workload.namespace, workload.name


def _compare(was: WorkloadFit, now: WorkloadFit) -> WorkloadChange | None:
    if was.unknown or (now.unknown and now.possible):
        return None
    taken = {verdict.pool.name for verdict in was.verdicts if verdict.fits}
    left = tuple(verdict.pool.name for verdict in now.verdicts if verdict.fits)
    lost = tuple(v for v in now.verdicts if v.pool.name in taken and v.refusal is not None and v.refusal.for_certain)
    there = {verdict.pool.name for verdict in now.verdicts}
    gone = tuple(sorted(taken - there))
    if not (lost or gone):
        return None
    return WorkloadChange(now.workload, lost, gone, left, not now.possible)
