"""NodePools whose nodes drift because a newer snapshot has other images."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nodelint.base.types import TYPE_CHECKING
from nodelint.commands import discovered, now, session_of, settings_of, unread, unreadable
from nodelint.model.documents import objects
from nodelint.report.snapshot import SnapshotDifference

if TYPE_CHECKING:
    from nodelint.commands._flags import DiffFlags
    from nodelint.ec2.snapshot import Snapshot
    from nodelint.model.manifest import Object
    from nodelint.rule.target import Target

WHAT = "NodePool with other images"


def moved(
    old: Snapshot, new: Snapshot, paths: Sequence[str], flags: DiffFlags
) -> tuple[list[SnapshotDifference], bool]:
    """Return a difference for each NodePool whose nodes drift to other images, and whether a path could not
    be read.
    """
    settings = settings_of(flags, paths)
    found = discovered(paths, settings)
    judged = [obj for source in found.sources for obj in objects(source)]
    session = session_of(settings, runs_rules=False)
    context_objects = [obj for source in session.beside(judged, found) for obj in objects(source)]
    target = session.target(choose=session.choose(found))
    found.unreadable += unread(found, "not compared")
    unreadable(found)
    regions = [region.name for region in old.regions if new.region(region.name) is not None]
    return [
        difference
        for name in regions
        for difference in _of_region(name, (old, new), judged, [*judged, *context_objects], target)
    ], bool(found.unreadable)


def _of_region(
    region: str,
    snapshots: tuple[Snapshot, Snapshot],
    objects: Sequence[Object],
    run_objects: Sequence[Object],
    target: Target,
) -> Iterator[SnapshotDifference]:
    from nodelint.ec2.cache import facts_of
    from nodelint.plan.image_moves import find_image_moves

    before, after = (facts_of(snapshot, "the snapshot", region, now(), {}) for snapshot in snapshots)
    for pool, node_class, moves in find_image_moves(objects, run_objects, (before, after), target):
        line = pool.source.position(pool.name_node.start).line
        name = f"{pool.name} ({pool.source.path}:{line}), EC2NodeClass {node_class}"
        if moves is None:
            yield SnapshotDifference(region, WHAT, "unknown", name, says="unknown: not every image is known")
            continue
        fields = tuple(
            (f"{count:,} instance type{'' if count == 1 else 's'}", was, now_ or "none")
            for (was, now_), count in sorted(moves.items())
        )
        yield SnapshotDifference(region, WHAT, "changed", name, fields)
