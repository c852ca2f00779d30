"""Find paths in objects of a delivery tool that the repository does not have, so that the tool applies nothing."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import islice

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.files.gate import gate
from nodelint.files.safe_read import find_top
from nodelint.forms.lib.chart_values import MAKES_POOLS, folder_of
from nodelint.forms.registry import TABLE
from nodelint.model.messages import nearest_name
from nodelint.text.missing import text_of

if TYPE_CHECKING:
    from nodelint.text import Node, Source

PLAIN_PATH = re.compile(r"/?(?:[\w@.-]+/)*[\w@.-]+/?")
"""A path without a pattern or a placeholder."""
_OUTWARD = re.compile(rb"(?:\.\./)+[\w./-]+")
_ENDINGS = (".yaml", ".yml", ".json", ".tpl", ".tftpl")
_ALIKE = 0.75
"""How similar a missing name and an existing one are, as a ratio of difflib, if the name is spelled wrong."""
_MOST_FILES = 300
"""The most files of a folder that are searched for Karpenter's name."""
_LARGEST = 1 << 20


class MissingSource(NamedTuple):
    """A path at which the tool that reads it fails.

    - `node`: the place of the path.
    - `reason`: what is missing, as a sentence without its full stop.
    - `effect`: what the tool does, as a sentence without its full stop.
    - `is_certain`: the path counts in this repository. Otherwise, it may be a path of another one.
    - `by`: the absolute path of the file of the object that names it, and the object's name, as in `InstallChart`.
    - `name`: the kind and name of the object, as in `FolderUse`.
    - `is_values`: it is a values file, without which the release is judged.
    """

    node: Node
    reason: str
    effect: str
    is_certain: bool = True
    by: tuple[str, str] = ("", "")
    name: str = ""
    is_values: bool = False


class RepositoryNames:
    """The repository around a file. `sources` were already read; in an editor, some may not exist on the disk.

    With `of_any`, everything counts as something that concerns Karpenter.
    """

    def __init__(self, source: Source, sources: Sequence[Source], of_any: bool = False) -> None:
        folder = folder_of(source)
        outside = folder if os.path.isabs(source.path) else os.path.abspath(os.curdir)
        self.top = str(find_top(folder) or outside)
        self._sources = sources
        self._of_any = of_any
        self._holding: dict[str, bool] = {}

    @cached_property
    def _read(self) -> set[str]:
        """Return the absolute paths of the sources. Only a path that is not on the disk is looked up in them."""
        return {os.path.abspath(other.path) for other in self._sources}

    def _whole(self, path: str) -> str:
        return os.path.normpath(os.path.join(self.top, path.lstrip("/")))

    def names(self, path: str) -> set[str]:
        """Return the names in a folder. Empty if there is no such folder."""
        folder = self._whole(path)
        if gate.is_folder(folder) and (found := set(gate.names(folder))):
            return found
        below = (other[len(folder) + 1 :] for other in self._read if other.startswith(folder + os.sep))
        return {name.partition(os.sep)[0] for name in below}

    def exists(self, path: str) -> bool:
        """Return whether a file or folder exists. A path that may not be read counts as one that does, and so does a
        link to nothing.
        """
        whole = self._whole(path)
        is_there = gate.exists(whole) or os.path.islink(whole) or gate.refusal(whole) is not None
        return is_there or whole in self._read or bool(self.names(path))

    def is_not_checked_out(self, path: str) -> bool:
        """Return whether a path leads into an empty folder. git has none, except for a submodule."""
        folder = self._whole(path)
        while folder != self.top and not gate.is_folder(folder) and folder != os.path.dirname(folder):
            folder = os.path.dirname(folder)
        return folder != self.top and gate.is_folder(folder) and not gate.names(folder)

    def suggest(self, path: str) -> str:
        """Return the existing path that differs from a missing one in one name. Empty if there is none."""
        steps = os.path.normpath(path.strip("/")).split("/")
        for number, step in enumerate(steps):
            before = "/".join(steps[:number])
            if self.exists("/".join([*steps[: number + 1]])):
                continue
            near = nearest_name(step, self.names(before or os.curdir), _ALIKE)
            found = os.path.join(before, near, *steps[number + 1 :]).replace(os.sep, "/") if near else ""
            return found if found and self.exists(found) else ""
        return ""

    def is_misspelled(self, path: str) -> bool:
        """Return whether a missing path has a letter too many or too few, in a folder that this repository has.

        Names of equal length, such as `eu-west-1` and `us-west-1`, may be those of other environments elsewhere. A
        name at the top, such as `charts`, may be one of another repository.
        """
        near, written = self.suggest(path), os.path.normpath(path.strip("/"))
        above = os.path.dirname(written)
        return near != "" and len(near) != len(written) and above != "" and bool(self.names(above))

    def concerns(self, text: str) -> bool:
        """Return whether an object names Karpenter, or something that makes its pools or classes."""
        return self._of_any or "karpenter" in text or MAKES_POOLS.search(text) is not None

    def holds_karpenter(self, path: str) -> bool:
        """Return whether a file in a folder names Karpenter, or one in the folders that its kustomization uses."""
        if self._of_any:
            return True
        if path not in self._holding:
            folder = self._whole(path)
            self._holding[path] = _names_karpenter(folder) or any(map(_names_karpenter, _list_used(folder)))
        return self._holding[path]

    def explain_folder(self, path: str, text: str, needs: Sequence[str] = ()) -> str:
        """Return why a tool cannot use a folder: it does not exist, or has none of the files in `needs`.

        Empty if it can. It is also empty if neither `text`, which is the object's, nor what is in the folder, or in
        the one that is probably meant, concerns Karpenter.
        """
        names = self.names(path)
        if (names and (not needs or not names.isdisjoint(needs))) or gate.refusal(self._whole(path)) is not None:
            return ""
        near = "" if names else self.suggest(path)
        if not (self.concerns(text) or self.holds_karpenter(near or path)):
            return ""
        if self.is_not_checked_out(path):
            return f"the folder `{path}` is not checked out"
        if names:
            return f"`{path}` has no {needs[0]}"
        return f"the repository has no folder `{path}`{f' (did you mean `{near}`?)' if near else ''}"

    def explain_file(self, path: str, written: str) -> str:
        """Return that a values file does not exist, with a suggestion. Empty if it exists."""
        if self.exists(path) or self.is_not_checked_out(path):
            return ""
        return self._explain("values file", path, written)

    def explain_path(self, path: str, written: str) -> str:
        """Return that a file or folder does not exist, with a suggestion."""
        return self._explain("file" if os.path.splitext(written)[1] else "folder", path, written)

    def _explain(self, what: str, path: str, written: str) -> str:
        near = self.suggest(path)
        return f"the repository has no {what} `{written}`{f' (did you mean `{near}`?)' if near else ''}"


def name_object(root: Node) -> tuple[str, str]:
    """Return the absolute path of an object's file, and its kind, namespace and name."""
    names = (text_of(root.find("metadata", key)) for key in ("namespace", "name"))
    return os.path.abspath(root.source.path), " ".join((text_of(root.get("kind")), *names))


def _names_karpenter(folder: str) -> bool:
    paths = (
        os.path.join(below, name)
        for below, _, names in (gate.walk(folder) if gate.is_folder(folder) else ())
        for name in sorted(names)
        if name.endswith(_ENDINGS)
    )
    return any(b"karpenter" in _read(path) for path in islice(paths, _MOST_FILES))


def _list_used(folder: str) -> Iterator[str]:
    """Yield the folders outside of a folder that its kustomization names."""
    for name in TABLE.names:
        for found in _OUTWARD.findall(_read(os.path.join(folder, name))):
            yield os.path.normpath(os.path.join(folder, os.fsdecode(found)))


def _read(path: str) -> bytes:
    try:
        return gate.read(path, _LARGEST)
    except (OSError, ValueError):
        return b""
