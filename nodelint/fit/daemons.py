"""Which DaemonSets of a run certainly take resources on the nodes of a NodePool."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Sequence

from nodelint.data import table
from nodelint.fit.daemons_around import NO_DAEMONS_AROUND, DaemonsAround
from nodelint.fit.pods import Daemon, pod_of
from nodelint.fit.pools import EmptyPool
from nodelint.model.cluster_objects import Workload
from nodelint.model.folders import list_environments, path_in_repository
from nodelint.text import SourceText

_STDIN = "-"
"""The path of standard input. Its DaemonSets belong to the pools of the same input."""


class Daemons:
    """The DaemonSets of a run, and for each pool the DaemonSets that certainly run in its cluster.

    A repository may hold DaemonSets of other clusters and of examples. A DaemonSet counts for the pools with the most
    folders in common, unless the other folders name examples, or differ in environment or region. It is not known
    whether a DaemonSet runs there if only one of the two names an environment, or if an object installs its chart. A
    DaemonSet that is rendered from a chart's defaults counts only for pools of that chart. A DaemonSet with a
    placeholder in its selectors or tolerations does not count. `around` has those of files that were not requested.
    """

    def __init__(
        self,
        workloads: Iterable[Workload],
        pools: Sequence[EmptyPool],
        around: DaemonsAround = NO_DAEMONS_AROUND,
    ) -> None:
        self._pools = pools
        self._pool_texts = [*(pool.pool.source for pool in pools), *around.pool_texts]
        self._around = set(map(id, around.daemons))
        self._by_name: dict[tuple[str | None, object], list[Daemon]] = {}
        for workload in (*workloads, *around.daemons):
            pod = pod_of(workload) if workload.is_daemon and not workload.partial else None
            if pod is not None and not pod.dynamic_resources and pod.placement_known:
                self._by_name.setdefault((workload.namespace, workload.name), []).append(Daemon(workload, pod))
        self._paths: dict[str, tuple[str, ...]] = {}
        self._nearest: dict[str, int] = {}
        self._of_pool: dict[int, dict[tuple[str | None, object], Daemon]] = {}
        self._possible: dict[int, dict[tuple[str | None, object], Daemon]] = {}

    def beside(self, workload: Workload | None, pool: EmptyPool) -> list[Daemon]:
        """Return the DaemonSets on the pool's nodes, without the workload itself."""
        found = self._of_pool.get(id(pool))
        if found is None:
            found = self._of_pool[id(pool)] = self._choose(pool)
        own = (workload.namespace, workload.name) if workload is not None and workload.is_daemon else None
        return [daemon for name, daemon in found.items() if name != own]

    def list_possible(self, workload: Workload, pool: EmptyPool) -> list[Daemon]:
        """Return the DaemonSets that may run in the pool's cluster: the files do not show whether they do.

        Of several with one name, the largest counts. A DaemonSet that certainly runs there, or is the workload
        itself, is left out.
        """
        found = self._possible.get(id(pool))
        if found is None:
            there = {daemon.workload.name for daemon in self.beside(None, pool)}
            found = self._possible[id(pool)] = {}
            source = pool.pool.source
            for name, same in self._by_name.items():
                if name[1] in there:
                    continue
                open_ones = [
                    daemon for daemon in same if self._share_a_cluster(daemon.workload.source, source) is None
                ]
                if open_ones:
                    found[name] = max(open_ones, key=lambda daemon: sorted(daemon.pod.requests.items(), reverse=True))
        return [daemon for name, daemon in found.items() if name != (workload.namespace, workload.name)]

    def left_out(self) -> list[Workload]:
        """Return the requested DaemonSets that count for no pool: they may be for another cluster or for other
        nodes.
        """
        return [
            daemon.workload
            for same in self._by_name.values()
            for daemon in same
            if id(daemon.workload) not in self._around
            and not any(self._share_a_cluster(daemon.workload.source, pool.pool.source) for pool in self._pools)
        ]

    def list_around(self) -> list[Workload]:
        """Return the DaemonSets that count for a pool, and are in files that were not requested."""
        counted = (daemon.workload for pool in self._pools for daemon in self.beside(None, pool))
        return list({id(daemon): daemon for daemon in counted if id(daemon) in self._around}.values())

    def _choose(self, pool: EmptyPool) -> dict[tuple[str | None, object], Daemon]:
        """Return the DaemonSets of the pool's cluster.

        Of several with one name, the nearest counts, then the smallest.
        """
        found = {}
        for name, same in self._by_name.items():
            near = [daemon for daemon in same if self._share_a_cluster(daemon.workload.source, pool.pool.source)]
            if near:
                found[name] = min(near, key=lambda daemon: self._rank(daemon, pool))
        return found

    def _rank(self, daemon: Daemon, pool: EmptyPool) -> tuple[int, int]:
        return -self._common(daemon.workload.source, pool.pool.source), daemon.pod.requests.get("cpu", 0)

    def _share_a_cluster(self, daemon: SourceText, pool: SourceText) -> bool | None:
        """Return whether objects of the two texts certainly go to one cluster. None if the files do not show it."""
        if daemon.path in (pool.path, _STDIN) or (daemon.cluster and daemon.cluster == pool.cluster):
            return True
        built = daemon.built
        is_of_chart = built is not None and built.by_default
        if is_of_chart and not (built.applied_by[1] or built.user):
            return False
        common = self._common(daemon, pool)
        nearest = self._nearest.get(daemon.path)
        if nearest is None:
            nearest = max(self._common(daemon, text) for text in self._pool_texts)
            self._nearest[daemon.path] = nearest
        if common < nearest and not is_of_chart:
            return False
        found = _are_of_one_cluster(self._parts(daemon), self._parts(pool), common)
        return None if found and is_of_chart else found

    def _parts(self, source: SourceText) -> tuple[str, ...]:
        """Return the folders of a text's path within its repository, and the file name, in lower case."""
        found = self._paths.get(source.path)
        if found is None:
            path = os.path.normpath(path_in_repository(source.path)).lower()
            found = self._paths[source.path] = tuple(path.split(os.sep))
        return found

    def _common(self, source: SourceText, other: SourceText) -> int:
        """Return the number of leading folders that the paths of two texts have in common."""
        folders = zip(self._parts(source)[:-1], self._parts(other)[:-1], strict=False)
        return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], folders))


def _are_of_one_cluster(path: Sequence[str], other: Sequence[str], common: int) -> bool | None:
    """Return whether two files with `common` leading folders are probably for one cluster.

    They are for two if the folders below the shared ones name different environments or regions. They are also if one
    of these folders, or the last shared folder, is a folder of examples. None if only one names an environment.
    """
    if path[:-1] == other[:-1]:
        return True
    examples = table("vocabulary")["example_folders"]
    for parts in (path[:-1], other[:-1]):
        if any(part in examples for part in parts[max(common - 1, 0) :]):
            return False
    first, second = list_environments(path[common:]), list_environments(other[common:])
    return True if first == second else False if first and second else None
