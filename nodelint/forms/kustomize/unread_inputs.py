"""Find kustomizations that kustomize cannot read, or that name missing files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from nodelint.files.gate import gate
from nodelint.forms.kustomize.kustomizations import KUSTOMIZATIONS
from nodelint.forms.lib.values import own_roots
from nodelint.forms.rendered import Built
from nodelint.text import Node, Source
from nodelint.text.missing import items_of
from nodelint.text.syntax_errors import SyntaxProblem

_LARGEST = 16 << 20


def list_inputs(
    sources: Sequence[Source], builds: Sequence[Built], folder_files: Sequence[str], _: object
) -> Iterator[str]:
    """Yield the absolute paths of the kustomizations that were rendered, or that may include an object."""
    objects = {os.path.abspath(source.path) for source in sources}
    built = {part for built in builds for part in built.parts}
    for path in map(os.path.abspath, folder_files) if sources else ():
        if path in built or _may_take(path, objects):
            yield path


def find_root_fault(roots: Sequence[Node | None]) -> SyntaxProblem | None:
    """Return the reason why kustomize refuses a kustomization that is valid YAML. None if it accepts it."""
    return None if any(map(_has_own_fields, roots)) else SyntaxProblem(0, "the kustomization is empty")


def _has_own_fields(root: Node | None) -> bool:
    """Return whether a kustomization has fields other than its kind. kustomize refuses one without."""
    if root is None or root.kind != "mapping":
        return root is not None and root.value is not None
    values = (entry.value for entry in root.entries if entry.name not in ("apiVersion", "kind"))
    return any(value.kind != "scalar" or value.value is not None for value in values)


def find_missing_path(source: Source) -> SyntaxProblem | None:
    """Return the first path of the repository in a kustomization that does not exist. kustomize stops there."""
    folder = os.path.dirname(os.path.abspath(source.path))
    for root in own_roots(source):
        for field in ("resources", "bases", "components"):
            named = root.get(field)
            if named is not None and isinstance(named.value, str):
                return SyntaxProblem(named.start, f"`{field}` must be a list")
            for item in items_of(named):
                path = item.value if isinstance(item.value, str) else ""
                whole = os.path.join(folder, path)
                if re.fullmatch(_LOCAL, path) and not gate.exists(whole):
                    return SyntaxProblem(item.start, f"`{path}` is not there")
                if path and gate.is_folder(whole) and not _has_kustomization(whole):
                    return SyntaxProblem(item.start, f"the folder `{path}` has no kustomization.yaml")
    return None


def _has_kustomization(folder: str) -> bool:
    return any(gate.exists(os.path.join(folder, name)) for name in KUSTOMIZATIONS)


_PART = r"[^:?*\[\]{}$/]+"
_LOCAL = rf"(?:\.\.?/)+{_PART}(?:/{_PART})*/?|[\w-]+(?:/{_PART})*/?|[\w.-]+\.(?:ya?ml|json)"
"""A path in the same repository: not an address, a pattern or a placeholder."""


def _may_take(path: str, objects: set[str]) -> bool:
    """Return whether an unreadable kustomization may include an object.

    It is next to the object's file, names the file, or names a folder above it.
    """
    text = gate.load_text(path, _LARGEST)
    if text is None:
        return False
    folder = os.path.dirname(path)
    if any(os.path.dirname(obj) == folder for obj in objects):
        return True
    words = (word for word in re.findall(r"[\w./-]+", text) if "/" in word or "." in word)
    named = {os.path.normpath(os.path.join(folder, word)) for word in words}
    return any(place in objects or any(obj.startswith(os.path.join(place, "")) for obj in objects) for place in named)
