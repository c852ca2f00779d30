"""Objects that are the same on both sides of a change: a rule that has nothing to say of one is not asked again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from nodelint.base.types import TYPE_CHECKING
from nodelint.inventory import Inventory
from nodelint.model.documents import objects
from nodelint.model.folders import path_below
from nodelint.model.manifest import EC2NodeClass, NodePool, Object
from nodelint.text import Source
from nodelint.text.source import YAML_NAMES

if TYPE_CHECKING:
    from collections.abc import Iterator

_Side = tuple[Inventory, Sequence[Source], str]
"""What was read of a side, what was read for context, and the folder from which its files are named."""


def match_unchanged(old: _Side, new: _Side) -> dict[int, Object] | None:
    """Return the objects of the old side by the ids of those on the new side that are the same.

    None if rules may tell the sides apart by more than these objects: where anything is built, or is a template or a
    part, where there are other objects than NodePools and EC2NodeClasses of v1, and where one comes, goes or is
    renamed. None, too, where fewer than half are the same: little is gained then.
    """
    sides = [_list_objects(*side) for side in (old, new)]
    was, now = sides
    if was is None or now is None or _list_names(was) != _list_names(now):
        return None
    before = {place: (source, objs) for place, source, objs in was}
    unchanged: dict[int, Object] = {}
    for place, source, objs in now:
        other, others = before[place]
        if source.text == other.text and source.encoding == other.encoding:
            unchanged.update((id(obj), twin) for obj, twin in zip(objs, others, strict=True))
    return unchanged if 2 * len(unchanged) >= sum(len(objs) for _, _, objs in now) else None


_File = tuple[str, Source, list[Object]]


def _list_objects(inventory: Inventory, context_sources: Sequence[Source], root: str) -> list[_File] | None:
    """Return the files of a side by their places, with the objects in them; None if there is anything else."""
    if inventory.built or inventory.gaps or inventory.folder_files or context_sources:
        return None
    files = []
    for source in inventory.files:
        objs = [*objects(source, foreign=True, more=True)]
        if not (is_plain(source) and all(map(is_whole, objs))):
            return None
        files.append((path_below(source.path, root), source, objs))
    return files


def is_plain(source: Source) -> bool:
    """Whether a file is read by itself, and wholly."""
    return source.path.endswith(YAML_NAMES) and not (
        source.masked or source.part or source.problems or source.set_aside or source.also
    )


def is_whole(obj: Object) -> bool:
    if not isinstance(obj, NodePool | EC2NodeClass) or (isinstance(obj, NodePool) and obj.foreign):
        return False
    return obj.version == "v1" and isinstance(obj.name, str) and not (obj.partial or obj.of_values)


def _list_names(files: Sequence[_File]) -> Counter[tuple[str, str, object]]:
    def names() -> Iterator[tuple[str, str, object]]:
        for place, _, objs in files:
            yield place, "", len(objs)
            yield from ((place, obj.kind, obj.name) for obj in objs)

    return Counter(names())
