"""Files that differ between two sides and that one side cannot read: they are gaps, and no change of their objects is
reported.
"""

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
    """Return a gap for a file, overlay or chart that a side (0 is the old one) cannot read or render.

    `path` is below the side's root. The text of `at` is the content on the side; it is empty for a folder that cannot
    be read.
    """
    what: GapKind = "folder" if is_folder else "file"
    sentence = f"the {SIDES[side]} side cannot be read here: {reason}"
    return Gap(at, what, sentence, subject=path)


SIDES = ("old", "new")


def holds(gap: Gap, path: str) -> bool:
    """Return whether a gap concerns the file at a path, or a folder around it that cannot be read."""
    below = gap.subject == os.curdir or is_below(path, gap.subject)
    return path == gap.subject or (gap.what == "folder" and below)


class UnreadFiles(NamedTuple):
    """The files that were not read on the old and the new side, and the objects that this concerns.

    `of_builds` has the gap of a rendered manifest, by the id of its `Built`. `of_paths` has the gap of all objects in
    a file below the root, for each side. `lost` is true for a side of which nothing was read, so that it may have any
    object. `stopped` are the paths of roots of which a tool applies nothing on one side (see `StoppedRoots`).
    """

    of_sides: Sequence[Sequence[Gap]] = ((), ())
    of_builds: Mapping[int, Gap] = {}
    of_paths: Sequence[Mapping[str, Gap]] = ({}, {})
    lost: Sequence[bool] = (False, False)
    stopped: frozenset[str] = frozenset()

    @property
    def files(self) -> list[Gap]:
        """Return the gaps of both sides."""
        return [gap for side in self.of_sides for gap in side]

    def find(self, obj: Object, side: int, path: str, paired: bool) -> Gap | None:
        """Return why an object in file `path` of a side (0 is the old one) cannot be compared. None if it can.

        If the other side has the object (`paired`), only an unread file of the object itself counts. Otherwise the
        other side may have the object in an unread file: in the same file, in a file with its name, or in any file if
        nothing of that side was read.
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
        """Return the gap of an unread file that may have the class of a pool. None if there is none."""
        ref = pool.class_ref
        name = ref.name if ref is not None and self.files else None
        return self._naming(name, self.files) if isinstance(name, str) else None

    @staticmethod
    def _naming(name: str, files: Sequence[Gap]) -> Gap | None:
        written = re.compile(rf"name[\"']?\s*[:=]\s*[\"']?{re.escape(name)}(?![\w.-])")
        return next((gap for gap in files if written.search(gap.at.source.text)), None)
