"""Find out which files are patches of a kustomization, so that their objects are incomplete.

Kustomize includes no file from outside the folder of a kustomization. So only kustomizations next to a file or above
it can name it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from itertools import islice

from nodelint.files.gate import gate
from nodelint.files.safe_read import repository

KUSTOMIZATIONS = ("kustomization.yaml", "kustomization.yml", "Kustomization")
_PATCHES = ("patches", "patchesStrategicMerge")
_ALTERING = ("patch", "transformers", "components")
_WHOLES = ("resources", "bases", "components")

# Folders. A limit for files outside of a repository.
_HIGHEST = 64

_MOST_FOLDERS = 2000
_MOST_WALKED = 5000
"""The most folders of a repository in which overlays are searched."""

_DEEPEST = 6
"""The most folders between a file and the kustomization that names it."""

_Named = tuple[frozenset[str], frozenset[str], bool, str]
"""What the kustomization of a folder names: patch files, included files, whether it has patches, and the folder."""


def is_patch(path: str) -> bool | None:
    """Return whether a kustomization names the file as a patch, so that its objects are parts.

    None if that cannot be determined: a kustomization next to the file does not name it, or one above has patches and
    does not name it, or the file or its folder is called a patch. Then the object itself decides.
    """
    file = os.path.abspath(path)
    folder, name = os.path.split(file)
    near = False
    for patches, wholes, alters, home in _above(folder):
        if file in patches:
            return True
        if file in wholes:
            return False
        near = near or alters or home == folder
    return None if near or _called_patch(folder, name) else False


def patched_in(path: str) -> str | None:
    """Return the folder of the kustomization that names a file as a patch.

    The kustomization is next to the file or above it. None if no kustomization names the file.
    """
    folder = os.path.dirname(os.path.abspath(path))
    file = os.path.join(folder, os.path.basename(path))
    for _ in range(_HIGHEST):
        named = _read_kustomization(folder)
        if named is not None and file in named[0]:
            return folder
        folder = os.path.dirname(folder)
    return None


def builds_on(patch: str, base: str) -> bool:
    """Return whether an overlay that names or contains a patch includes the file of another object.

    It may include it directly or through other kustomizations.
    """
    file = os.path.abspath(base)
    pending = [os.path.dirname(os.path.abspath(patch))]
    seen: set[str] = set()
    while pending and len(seen) < _MOST_FOLDERS:
        folder = pending.pop()
        if folder not in seen:
            seen.add(folder)
            files, folders = _takes(folder)
            if file in files:
                return True
            pending += folders
    return False


def list_read_with(path: str) -> Iterator[str]:
    """Yield the kustomizations that use a file, directly or through others, and all files that they include.

    The first of them are next to the file or above it.
    """
    file = os.path.abspath(path)
    folder = os.path.dirname(file)
    for _ in range(_DEEPEST):
        named = _read_kustomization(folder)
        if named is not None and (file in named[0] or file in named[1] or _names(folder, file)):
            for user in (folder, *_list_users(folder)):
                yield from _list_taken(user)
        folder = os.path.dirname(folder)
        if gate.refusal(folder) is not None:
            return


def _list_users(base: str) -> list[str]:
    """Return the folders whose kustomizations include a folder, directly or through others."""
    top = repository(base)
    users = _map_users(top) if top is not None else {}
    found, pending = {base: None}, [base]
    while pending:
        more = [user for user in users.get(pending.pop(), ()) if user not in found]
        found.update(dict.fromkeys(more))
        pending += more
    return [folder for folder in found if folder != base]


@cache
def _map_users(top: str) -> dict[str, list[str]]:
    """Return, for each folder below `top` that a kustomization includes, the folders of these kustomizations."""
    users: dict[str, list[str]] = {}
    for folder, folders, names in islice(gate.walk(top), _MOST_WALKED):
        folders[:] = [name for name in folders if not name.startswith(".") and name != "node_modules"]
        for taken in _takes(folder)[1] if any(name in KUSTOMIZATIONS for name in names) else ():
            users.setdefault(taken, []).append(folder)
    return users


def _names(folder: str, file: str) -> bool:
    """Return whether the kustomization of a folder mentions the path of a file, or is the file."""
    import re

    named = os.path.relpath(file, folder)
    pattern = rf"(?<![\w/-])(?:\./)?{re.escape(named)}(?![\w/-])"
    return named in KUSTOMIZATIONS or re.search(pattern, _text(folder) or "") is not None


def _list_taken(top: str) -> Iterator[str]:
    """Yield the kustomization of a folder, and the files that it includes directly or through others."""
    pending, seen = [top], {top}
    while pending and len(seen) < _MOST_FOLDERS:
        folder = pending.pop()
        files, folders = _takes(folder)
        names = (os.path.join(folder, name) for name in KUSTOMIZATIONS) if folder == top else ()
        yield from (os.path.relpath(path) for path in (*names, *sorted(files)) if gate.is_file(path))
        more = [below for below in folders if below not in seen]
        seen.update(more)
        pending += more


def forget() -> None:
    """Clear the cache of kustomizations. A server calls it when one changes."""
    _above.cache_clear()
    _takes.cache_clear()
    _map_users.cache_clear()


def _called_patch(folder: str, name: str) -> bool:
    if "patch" not in name.lower() and "patch" not in os.path.basename(folder).lower():
        return False
    from re import search

    return any(
        search(r"(?:^|[-_.])patch(?:es)?(?:[-_.]|$)", part.lower()) for part in (name, os.path.basename(folder))
    )


@cache
def _above(folder: str, highest: int = _HIGHEST) -> tuple[_Named, ...]:
    """Return what the kustomizations of a folder and of the folders above it name."""
    named = _read_kustomization(folder)
    here = () if named is None else (named,)
    parent = os.path.dirname(folder)
    if not highest or parent == folder or os.path.exists(os.path.join(folder, ".git")):
        return here
    return (*here, *_above(parent, highest - 1))


def _read_kustomization(folder: str) -> _Named | None:
    """Return the contents of a folder's kustomization. None if the folder has none."""
    text = _text(folder)
    if text is None:
        return None
    alters = any(word in text for word in _ALTERING)
    return _files(text, folder, _PATCHES), _files(text, folder, _WHOLES), alters, folder


@cache
def _takes(folder: str) -> tuple[frozenset[str], tuple[str, ...]]:
    """Return the files and the folders that the kustomization of a folder includes.

    Both are empty if there is no kustomization.
    """
    text = _text(folder)
    if text is None:
        return frozenset(), ()
    named = _listed(text, _WHOLES, r"""[^\s"'\[\]{},:]+""")
    folders = (os.path.normpath(os.path.join(folder, name)) for name in named if name != "-")
    return _files(text, folder, _WHOLES), tuple(folder for folder in folders if gate.is_folder(folder))


def _text(folder: str) -> str | None:
    for name in KUSTOMIZATIONS:
        path = os.path.join(folder, name)
        if gate.is_file(path):
            return gate.load_text(path, 1 << 20)
    return None


def _files(text: str, folder: str, fields: tuple[str, ...]) -> frozenset[str]:
    """Return the absolute paths that some top-level fields of a kustomization list, if they look like files."""
    named = _listed(text, fields, r"""[^\s"'\[\]{},]+\.(?:ya?ml|json)(?![\w.])""")
    return frozenset(os.path.normpath(os.path.join(folder, name)) for name in named)


def _listed(text: str, fields: tuple[str, ...], word: str) -> list[str]:
    """Return the words that match a pattern under some top-level fields, in block or flow style, without comments."""
    import re

    found: list[str] = []
    field = ""
    for line in text.split("\n"):
        top = re.match(r"""["']?(\w+)["']?\s*:""", line)
        field = top[1] if top else field
        if field in fields:
            bare = re.sub(r"(?:^|\s)#.*", "", line)
            found += re.findall(word, bare[top.end() :] if top else bare)
    return found
