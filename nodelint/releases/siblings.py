"""Find out whether a file states the release of another cluster: of one whose folder has an object of the same kind
and name.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable

from nodelint.files.gate import gate
from nodelint.forms.registry import TABLE

_LARGEST = 1 << 20
_MOST_FILES = 200
"""The most files of a folder that are read."""
_MANIFESTS = (".yaml", ".yml", *TABLE.endings)


def is_about_sibling(
    stating: str, path: str, names: tuple[str, str], read: Callable[[str], frozenset[tuple[str, str]]]
) -> bool:
    """Return whether a file states a release for another cluster than that of an object at `path`. `names` are the
    kind and name of the object.

    The file is below a folder next to the object's folder, at least as deep, and that folder has an object of this
    kind and name: one cluster cannot have both. `read` is `objects_in`.
    """
    if not all(names) or path == "-":
        return False
    theirs, ours = (os.path.dirname(os.path.abspath(place)).split(os.sep) for place in (stating, path))
    depth = len(ours)
    if len(theirs) < depth or theirs[:depth] == ours:
        return False
    return names in read(os.sep.join(theirs[:depth]))


def objects_in(folder: str) -> frozenset[tuple[str, str]]:
    """Return the kinds and names of the NodePools and EC2NodeClasses in the files of a folder."""
    found: set[tuple[str, str]] = set()
    try:
        listed = sorted(name for name in gate.names(folder) if name.endswith(_MANIFESTS))[:_MOST_FILES]
    except OSError:
        return frozenset()
    for name in listed:
        text = gate.load_text(os.path.join(folder, name), _LARGEST) or ""
        for match in re.finditer(_OBJECT, text):
            found.add((match[1], match[2]))
    return frozenset(found)


_OBJECT = (
    r"\bkind[\"']?\s*[:=]\s*[\"']?(NodePool|EC2NodeClass)\b(?:(?!\bkind\b)[\s\S]){0,400}?\bmetadata\b"
    r"(?:(?!\bkind\b)[\s\S]){0,200}?"
    r"\bname[\"']?\s*[:=]\s*[\"']?([\w.-]+)"
)
