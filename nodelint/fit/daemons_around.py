"""Find the DaemonSets of the repository around the requested files: they run on the nodes of its pools as well."""

from __future__ import annotations

import os

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.model.cluster_objects import PATTERN, Workload
from nodelint.model.documents import objects
from nodelint.model.manifest import NodePool

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nodelint.files.folders import Discovery
    from nodelint.files.globs import Excluded, Globs
    from nodelint.model.manifest import Object
    from nodelint.text import SourceText


class DaemonsAround(NamedTuple):
    """The DaemonSets of files that were not requested, and the texts with the NodePools of these files.

    A DaemonSet that is nearer to another pool than to the requested ones runs in the cluster of that pool.
    """

    daemons: tuple[Workload, ...] = ()
    pool_texts: tuple[SourceText, ...] = ()


NO_DAEMONS_AROUND = DaemonsAround()


def find_daemons_around(found: Discovery, exclude: Excluded, include: Globs) -> DaemonsAround:
    """Return the DaemonSets of the repositories that a run reads only in part.

    Files that cannot be read are skipped: nobody requested them.
    """
    from nodelint.files.discover import discover
    from nodelint.files.release_files import list_roots_around
    from nodelint.inventory import read_inventory
    from nodelint.inventory.switched_off import list_switched_off

    roots = [os.path.relpath(root) for root in list_roots_around(found)]
    if not roots:
        return NO_DAEMONS_AROUND
    more = discover(roots, exclude, include=include, also=PATTERN)
    if not any("DaemonSet" in source.text or "kubernetes_daemon" in source.text for source in more.sources):
        return NO_DAEMONS_AROUND
    inventory = read_inventory(more)
    requested = {os.path.abspath(source.path) for source in found.sources}
    there = [obj for source in inventory.sources for obj in objects(source, foreign=True, more=True)]
    absent = {id(obj) for obj, _ in list_switched_off(there)}
    around = [obj for obj in there if id(obj) not in absent and not requested.issuperset(_list_inputs(obj))]
    daemons = (obj for obj in around if isinstance(obj, Workload) and obj.is_daemon)
    pool_texts = (obj.source for obj in there if isinstance(obj, NodePool))
    return DaemonsAround(tuple(daemons), tuple(pool_texts))


def _list_inputs(obj: Object) -> Iterator[str]:
    """Yield the paths of the files that an object comes from."""
    built = obj.source.built
    yield from (os.path.abspath(obj.source.path),) if built is None else built.parts
