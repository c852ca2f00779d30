"""Files that differ between two sides and that one of them cannot read: gaps, and no change of what was in them."""

from __future__ import annotations

import os
import re

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.files.safe_read import is_below
from nodelint.model.gap import Gap

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from nodelint.model.finding import Span
    from nodelint.model.gap import GapKind
    from nodelint.model.manifest import NodePool, Object


def unread_file(side: int, path: str, at: Span, reason: str, is_folder: bool = False) -> Gap:
    """Return what is said of a file, overlay or chart that a side (0 is the old one) cannot read or build.

    `path` is below the side's root. The text of `at` is what the side has of it; of a closed folder that is nothing.
    """
    what: GapKind = "folder" if is_folder else "file"
    sentence = f"the {SIDES[side]} side cannot be read here: {reason}"
    return Gap(at, what, sentence, subject=path)


SIDES = ("old", "new")


def holds(gap: Gap, path: str) -> bool:
    """Return whether a file that is not read is that of a path, or the closed folder around it."""
    below = gap.subject == os.curdir or is_below(path, gap.subject)
    return path == gap.subject or (gap.what == "folder" and below)


class UnreadFiles(NamedTuple):
    """What was not read of the old and of the new side, and which objects of either side that concerns.

    `of_builds` is about what is built of such a file, by the identity of `Built`; `of_paths` about all that stands in
    a file below the root, for each side. `lost` says of each side that nothing of it was read, so that anything may
    have been there.
    """

    of_sides: Sequence[Sequence[Gap]] = ((), ())
    of_builds: Mapping[int, Gap] = {}
    of_paths: Sequence[Mapping[str, Gap]] = ({}, {})
    lost: Sequence[bool] = (False, False)

    @property
    def files(self) -> list[Gap]:
        """Return what was not read of either side."""
        return [gap for side in self.of_sides for gap in side]

    def find(self, obj: Object, side: int, path: str, paired: bool) -> Gap | None:
        """Return why an object in file `path` of a side (0 is the old one) cannot be compared; None if nothing
        prevents it.

        `paired`: the other side has the object, so that only an unread file of its own counts. Otherwise the other
        side may hold it unread: in the same file, in a file that holds its name, or anywhere if nothing of that side
        was read.
        """
        if obj.source.built is not None:
            return self.of_builds.get(id(obj.source.built))
        if path in self.of_paths[side]:
            return self.of_paths[side][path]
        if paired:
            return None
        others = self.of_sides[1 - side]
        same = next((gap for gap in others if holds(gap, path)), None)
        anywhere = others[0] if self.lost[1 - side] else None
        return same or self._naming(obj.name_node.unquoted, others) or anywhere

    def find_class(self, pool: NodePool) -> Gap | None:
        """Return what may hold the class of a pool that neither side has."""
        ref = pool.class_ref
        name = ref.name if ref is not None and self.files else None
        return self._naming(name, self.files) if isinstance(name, str) else None

    @staticmethod
    def _naming(name: str, files: Sequence[Gap]) -> Gap | None:
        written = re.compile(rf"name[\"']?\s*[:=]\s*[\"']?{re.escape(name)}(?![\w.-])")
        return next((gap for gap in files if written.search(gap.at.source.text)), None)
