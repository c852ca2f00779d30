"""The NodeOverlays of a run with the controller's verdicts, by cluster as far as the paths of their files show."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence

from nodelint.base.tuples import NamedTuple
from nodelint.ec2.catalog import Catalog
from nodelint.karpenter.node_overlays import (
    POOL_KEY,
    NodeOverlayVerdict,
    OverlaidPool,
    apply_node_overlays,
    decide,
    named_values,
    view_pool,
    view_unseen_pools,
)
from nodelint.karpenter.resolve.resolution import Resolution
from nodelint.model.keys import ZONE
from nodelint.model.manifest import NodeOverlay, NodePool, Object, served


class OverlayGroup(NamedTuple):
    """The NodeOverlays of one cluster with their verdicts, and its NodePools. If no NodePool is known, `views` are
    placeholders for any.

    `is_whole` is true if each NodePool of the cluster is known in full.
    """

    verdicts: tuple[NodeOverlayVerdict, ...]
    pools: tuple[NodePool, ...]
    views: tuple[OverlaidPool, ...]
    is_whole: bool

    def verdict(self, overlay: NodeOverlay) -> NodeOverlayVerdict:
        """Return the verdict on an overlay of the group."""
        return next(verdict for verdict in self.verdicts if verdict.overlay is overlay)


class RunOverlays:
    """The NodeOverlays of a run, in groups by cluster, computed on first use.

    `is_refused` returns whether the API server or the controller refuses an overlay.
    """

    def __init__(
        self,
        objects: Sequence[Object],
        catalog: Catalog,
        resolve: Callable[[NodePool], Resolution],
        is_refused: Callable[[Object], bool],
    ) -> None:
        release = catalog.version
        self._catalog, self._resolve, self._is_refused = catalog, resolve, is_refused
        self._overlays = [o for o in objects if isinstance(o, NodeOverlay) and not o.partial and served(o, release)]
        self._pools = [o for o in objects if isinstance(o, NodePool) and served(o, release)]
        self._groups: dict[tuple[int, ...], OverlayGroup] = {}

    def group(self, overlay: NodeOverlay) -> OverlayGroup:
        """Return the group of an overlay's cluster, which includes the overlay."""
        members = self._fellows(overlay)
        return self._judged(members, self._pools_near(overlay))

    def groups_of(self, pool: NodePool) -> list[OverlayGroup]:
        """Return the groups of overlays that apply to a pool: at most one if the files are for one cluster."""
        found = {id(group): group for overlay in self._overlays if pool in (group := self.group(overlay)).pools}
        return list(found.values())

    def apply(self, pool: NodePool) -> Resolution:
        """Return the instance types that a pool can launch, with the accepted overlays of its cluster. Without
        overlays if several groups concern the pool.
        """
        resolution = self._resolve(pool)
        groups = self.groups_of(pool)
        if len(groups) != 1 or pool.foreign:
            return resolution
        (group,) = groups
        index = [pool for pool in group.pools if not pool.foreign].index(pool)
        return apply_node_overlays(resolution, group.views[index], index, group.verdicts)

    def _fellows(self, overlay: NodeOverlay) -> list[NodeOverlay]:
        """Return the overlays rendered for the same cluster. If the overlay is not rendered, those of its folder;
        those of its file if the folder has a name twice.
        """
        source = overlay.source
        if source.cluster:
            return [overlay for overlay in self._overlays if overlay.source.cluster == source.cluster]
        folder = os.path.dirname(source.path)
        near = [e for e in self._overlays if not e.source.cluster and os.path.dirname(e.source.path) == folder]
        if len({overlay.name for overlay in near}) < len(near):
            near = [overlay for overlay in near if overlay.source is source]
            names = Counter(overlay.name for overlay in near)
            near = [fellow for fellow in near if names[fellow.name] == 1 or fellow is overlay]
        return near

    def _pools_near(self, overlay: NodeOverlay) -> list[NodePool]:
        """Return the pools rendered for the overlay's cluster. If the overlay is not rendered, those of its file,
        else those below the nearest folder that has any.
        """
        source = overlay.source
        if source.cluster:
            return [pool for pool in self._pools if pool.source.cluster == source.cluster]
        pools = [pool for pool in self._pools if not pool.source.cluster]
        same = [pool for pool in pools if pool.source is source]
        if same:
            return same
        folder = os.path.dirname(source.path)
        while True:
            below = [pool for pool in pools if _is_below(pool.source.path, folder)]
            if below or not folder or folder == os.path.dirname(folder):
                return below
            folder = os.path.dirname(folder)

    def _judged(self, members: Sequence[NodeOverlay], pools: Sequence[NodePool]) -> OverlayGroup:
        key = (*map(id, members), 0, *map(id, pools))
        found = self._groups.get(key)
        if found is None:
            zones = named_values(members, ZONE)
            views = [view_pool(self._resolve(pool), zones) for pool in pools if not pool.foreign]
            is_whole = bool(views) and len(views) == len(pools) and all(map(_is_known, pools))
            views = views or view_unseen_pools(self._catalog, named_values(members, POOL_KEY), zones)
            verdicts = decide(members, views, self._catalog.version, self._is_refused)
            found = self._groups[key] = OverlayGroup(tuple(verdicts), tuple(pools), tuple(views), is_whole)
        return found


def _is_known(pool: NodePool) -> bool:
    """Return whether a pool is certainly one pool, and known in full: a template may make several pools of it."""
    return isinstance(pool.name, str) and not pool.partial and not pool.of_values


def _is_below(path: str, folder: str) -> bool:
    return not folder or path.startswith(f"{folder.rstrip('/')}/")
