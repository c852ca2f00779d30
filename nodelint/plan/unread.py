"""Files that differ between two sides and that one of them cannot read: gaps, and no change of what was in them."""

from __future__ import annotations

import os
import re

from nodelint.base.tuples import NamedTuple

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from nodelint.model.finding import Span
    from nodelint.model.manifest import NodePool, Object


class UnreadFile(NamedTuple):
    """A file, overlay or chart that a side (0 is the old one) cannot read or build; `path` is below the side's root.

    `text` is what the side has of it, as far as it has characters; of a folder that is closed there is none.
    """

    side: int
    path: str
    at: Span
    reason: str
    text: str = ""
    is_folder: bool = False

    @property
    def sentence(self) -> str:
        """The reason, with the side that it is about."""
        return f"the {('old', 'new')[self.side]} side cannot be read here: {self.reason}"

    def holds(self, path: str) -> bool:
        """Whether it is that file, or the folder around it that is closed."""
        below = self.path == os.curdir or path.startswith(os.path.join(self.path, ""))
        return path == self.path or (self.is_folder and below)


class UnreadFiles(NamedTuple):
    """What was not read, and which objects of either side that concerns.

    `of_builds` is about what is built of such a file, by the identity of `Built`; `of_paths` about all that stands in
    a file below the root, for each side.
    """

    files: Sequence[UnreadFile] = ()
    of_builds: Mapping[int, UnreadFile] = {}
    of_paths: Sequence[Mapping[str, UnreadFile]] = ({}, {})

    def find(self, obj: Object, side: int, path: str, paired: bool) -> UnreadFile | None:
        """What keeps an object of a side, written in a file below the root, from being compared; None for nothing.

        An object that has a partner is compared although another document of its file is broken. One without may be
        in what the other side cannot read: in the same file, or where its name stands.
        """
        if obj.source.built is not None:
            return self.of_builds.get(id(obj.source.built))
        if path in self.of_paths[side]:
            return self.of_paths[side][path]
        if paired:
            return None
        others = [gap for gap in self.files if gap.side != side]
        same = next((gap for gap in others if gap.holds(path)), None)
        return same or self._naming(obj.name_node.unquoted, others)

    def find_class(self, pool: NodePool) -> UnreadFile | None:
        """What may hold the class of a pool that neither side has."""
        ref = pool.class_ref
        name = ref.name if ref is not None and self.files else None
        return self._naming(name, self.files) if isinstance(name, str) else None

    @staticmethod
    def _naming(name: str, files: Sequence[UnreadFile]) -> UnreadFile | None:
        written = re.compile(rf"name[\"']?\s*[:=]\s*[\"']?{re.escape(name)}(?![\w.-])")
        return next((gap for gap in files if written.search(gap.text)), None)
