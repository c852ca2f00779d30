"""Match the objects that are equal on both sides, so that a rule without findings for one does not run again."""

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
"""The inventory of a side, the sources read for context, and the folder to which its paths are relative."""


def match_unchanged(old: _Side, new: _Side) -> dict[int, Object] | None:
    """Return the equal objects of the old side, by the ids of those on the new side.

    None if rules may see other differences between the sides: if anything is rendered, a template or a partial
    object, if there are other objects than NodePools and EC2NodeClasses of v1, and if an object is added, removed or
    renamed. None as well if fewer than half are equal, because little time is saved then.
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
    """Return the files of a side with their objects and their paths below the root. None if the side has anything
    else.
    """
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
    """Return whether a file is parsed in full, without a template or other files."""
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
