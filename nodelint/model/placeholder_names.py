"""Compare names with placeholders: decide whether two of them are the same."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence

from nodelint.base.types import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TypeVar

    from nodelint.model.manifest import Object
    from nodelint.text import Node

    Named = TypeVar("Named", bound=Object)

_CODE = r"\{\{([^{}]*)\}\}"  # compiled at first use: few files have template code
_OF_LOOP = r"\b(?:each|count|self)\."
_OF_ROUND = r"(?<![\w.\"])\.[a-z]|\$[a-zA-Z]|\bitem\b"
"""Code whose value differs between the iterations of a loop: `each.key`; in a template a field or a variable."""


def canonical_code(text: str) -> str:
    """Return a text with each placeholder in a standard spelling.

    For example `{{- $.Release.Name | quote }}` becomes `{{ .Release.Name }}`.
    """
    code = re.sub(_CODE, lambda found: "{{ " + _spell(found[1]) + " }}", text.strip().strip("\"'"))
    whole = re.fullmatch(r"\$\{\s*((?:var|local|module)\.[^{}]+)\}", code)
    return whole[1].strip() if whole else code


def _spell(code: str) -> str:
    code = re.sub(r"\$(?=[.\s)]|\Z)\.?", ".", " ".join(code.strip("-").split()))
    while code.endswith(("| quote", "|quote", "| squote", "|squote")):
        code = code.rpartition("|")[0].rstrip()
    return code


def _folder_filled(path: str) -> str:
    """Return the folder that is rendered as a whole: the chart of a template, else the folder of the file."""
    folder = os.path.dirname(path)
    parts = folder.split("/")
    return "/".join(parts[: parts.index("templates")]) if "templates" in parts else folder


def by_code(objects: Iterable[Named]) -> dict[str, list[Named]]:
    """Return the objects whose names are placeholders, grouped by the code of the placeholder."""
    found: dict[str, list[Named]] = {}
    for obj in objects:
        if not isinstance(obj.name, str):
            found.setdefault(canonical_code(obj.name_node.unquoted), []).append(obj)
    return found


def namesakes_of(name: Node, by_their_code: Mapping[str, Sequence[Named]]) -> list[Named]:
    """Return the objects whose names certainly have the same value as a name that is a placeholder.

    The code must be the same, in one file, chart, Terraform module or folder of manifests. Outside of one file, it
    must not depend on a loop.
    """
    code = canonical_code(name.unquoted)
    cluster = name.source.cluster
    same = by_their_code.get(code, ())
    if cluster:  # a file that is not rendered may be used together with any environment
        same = [obj for obj in same if obj.source.cluster in ("", cluster)]
    folder = _folder_filled(name.source.path)
    differs = re.search(_OF_LOOP, code) is not None or ("{{" in code and re.search(_OF_ROUND, code) is not None)
    return [
        obj
        for obj in same
        if obj.source is name.source or (not differs and _folder_filled(obj.source.path) == folder)
    ]
