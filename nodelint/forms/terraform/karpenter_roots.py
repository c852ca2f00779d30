"""Find the Terraform root modules that install Karpenter or create its objects, with the local modules they call."""

from __future__ import annotations

import os
import re

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.forms.terraform.terraform_blocks import called_folder, find_blocks

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from nodelint.forms.terraform.modules import ModuleFiles
    from nodelint.text import Source

_INSTALLS = re.compile(
    r"\bkarpenter\.(?:sh|k8s\.aws)/v|aws//modules/karpenter\b|\benable_karpenter\b|"
    r'\bchart"?[ \t]*[=:][ \t]*"[^"\n]*karpenter|\b(?:template)?file\([^()\n]{0,200}karpenter[^()\n]{0,200}\.ya?ml'
)
"""Text of a file that installs Karpenter or creates its objects."""
_MOST_FOLDERS = 200


class TerraformRoot(NamedTuple):
    """A root module.

    - `folder`: its folder.
    - `folders`: its folder and those of the local modules that it calls, directly or through others.
    """

    folder: str
    folders: tuple[str, ...]


def find_karpenter_roots(files: Iterable[Source], modules: ModuleFiles) -> list[TerraformRoot]:
    """Return the root modules of the files that install Karpenter or create its objects."""
    starts = {
        os.path.dirname(os.path.abspath(file.path))
        for file in files
        if file.path.endswith((".tf", ".tofu", ".tf.json", ".tofu.json")) and _INSTALLS.search(file.text) is not None
    }
    callers = _Callers(modules)
    roots = dict.fromkeys(root for start in sorted(starts) for root in _list_roots(start, callers))
    return [TerraformRoot(root, tuple(_list_below(root, modules))) for root in list(roots)[:_MOST_FOLDERS]]


class _Callers:
    """Finds the folders that call a module, in the files near the module."""

    def __init__(self, modules: ModuleFiles) -> None:
        self._modules = modules
        self._read: set[str] = set()
        self._by_folder: dict[str, set[str]] = {}

    def find_calling(self, folder: str) -> set[str]:
        """Return the folders that call the module in a folder."""
        for path in self._modules.near(folder):
            if path not in self._read:
                self._read.add(path)
                source = self._modules.source(path)
                for called in _list_called(source) if source is not None else ():
                    self._by_folder.setdefault(called, set()).add(os.path.dirname(path))
        return self._by_folder.get(folder, set()) - {folder}


def _list_called(source: Source) -> list[str]:
    """Return the folders of the local modules that a file calls."""
    if "module" not in source.text:
        return []
    return [folder for block in find_blocks(source) if (folder := called_folder(block)) is not None]


def _list_roots(folder: str, callers: _Callers) -> Iterator[str]:
    """Yield the root modules that call a folder, directly or through other modules."""
    seen, waiting = {folder}, [folder]
    while waiting and len(seen) < _MOST_FOLDERS:
        at = waiting.pop()
        calling = callers.find_calling(at)
        if not calling:
            yield at
        waiting += calling - seen
        seen |= calling


def _list_below(root: str, modules: ModuleFiles) -> list[str]:
    """Return a folder and the folders of the local modules that it calls, directly or through others."""
    found, waiting = [root], [root]
    while waiting and len(found) < _MOST_FOLDERS:
        for source in modules.read_texts(waiting.pop()):
            new = [folder for folder in dict.fromkeys(_list_called(source)) if folder not in found]
            found += new
            waiting += new
    return found
