"""The local files that a program imports, and those whose data it may read: an object that a program makes may change
with them.
"""

from __future__ import annotations

import os
import re

from nodelint.base.types import TYPE_CHECKING
from nodelint.files.gate import gate
from nodelint.model.folders import path_below

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nodelint.plan.read_side import Read

_NAMES = re.compile(
    r"[\"'`]([\w@./-]{1,200})[\"'`]"
    r"|^[ \t]{0,9}from[ \t]{1,9}\.{0,3}(\w[\w.]{0,100})[ \t]{1,9}import\b"
    r"|^[ \t]{0,9}import[ \t]{1,9}(\w[\w.]{0,100})[ \t]{0,9}$",
    re.M,
)
"""A path in quotes, or the name of a module in Python or KCL."""
_OF_FOLDER = (".cue", ".go", ".k", ".java", ".kt", ".cs")
"""Endings of languages whose files of one folder are one package."""
_QUOTED = re.compile(r"[\"'`]([^\"'`\n]{1,200})[\"'`]")
_DATA = (
    *(".yaml", ".yml", ".json", ".jsonc", ".json5", ".toml", ".ini", ".env", ".properties", ".cfg", ".xml"),
    *(".tpl", ".tmpl", ".j2", ".jinja", ".jinja2"),
)
"""Endings of files whose data a program may read, also by a pattern."""
_MOST_DATA = 5000
_MOST_FILES = 200
_LARGEST = 1 << 20


def has_changed_import(was: Read, new: Read, place: str) -> bool:
    """Return whether a file that a program imports, directly or not, differs between the sides.

    `place` is the path of the program below the folder of a side. A file that only the new side has does not count:
    a revision is read without unchanged programs.
    """
    pending, known = [place], {place}
    while pending and len(known) < _MOST_FILES:
        here = pending.pop()
        texts = [_read(side, here) for side in (was, new)]
        if here != place and texts[0] is not None and texts[0] != texts[1]:
            return True
        sides = zip((was, new), texts, strict=True)
        named = {path for side, text in sides for path in _list_named(side, here, text or "")}
        pending += sorted(named - known)
        known |= named
    return False


def find_changed_data(was: Read, new: Read, place: str) -> str | None:
    """Return the path of a file with data that a program may read and that differs between the sides. None if there
    is none.

    A program may read a file if it has the name of the file, or the name of the folder with the file, in quotes. Only
    files in the program's folder, in the two folders above it, and below them count.
    """
    texts = " ".join(_read(side, place) or "" for side in (was, new))
    names = {name for quoted in _QUOTED.findall(texts) for name in quoted.replace("\\", "/").split("/")}
    folder = os.path.dirname(place)
    top = os.path.dirname(os.path.dirname(folder))
    found = dict.fromkeys(path for side in (new, was) for path in _list_data(side, top, names))
    return next((path for path in found if _read(was, path) != _read(new, path)), None)


def _list_data(side: Read, top: str, names: set[str]) -> Iterator[str]:
    left = _MOST_DATA
    for folder, folders, files in gate.walk(os.path.join(side.root, top)):
        folders[:] = sorted(folders)
        is_named = os.path.basename(folder) in names and os.path.abspath(folder) != os.path.abspath(side.root)
        for file in sorted(files):
            if file.endswith(_DATA) and (is_named or file in names):
                left -= 1
                if left < 0:
                    return
                yield path_below(os.path.join(folder, file), side.root)


def _read(side: Read, place: str) -> str | None:
    try:
        return gate.read(os.path.join(side.root, place), _LARGEST, within=side.root).decode(errors="replace")
    except OSError:
        return None


def _list_named(side: Read, place: str, text: str) -> Iterator[str]:
    """Yield the paths of the files that a program may import."""
    folder, end = os.path.dirname(os.path.join(side.root, place)), os.path.splitext(place)[1]
    names = [quoted or (module or plain).replace(".", "/") for quoted, module, plain in _NAMES.findall(text)]
    if end in _OF_FOLDER:
        names += [name for name in gate.names(folder) if name.endswith(end)]
    for name in dict.fromkeys(names):
        for ending in ("", end, f"/index{end}", f"/__init__{end}"):
            path = os.path.normpath(os.path.join(folder, name + ending))
            if gate.is_file(path):
                yield path_below(path, side.root)
                break
