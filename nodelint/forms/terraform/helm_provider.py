"""Find the version of a provider in a Terraform root module. Since version 3 of the Helm one, blocks are lists."""

from __future__ import annotations

import os
import re

from nodelint.base.types import TYPE_CHECKING
from nodelint.files.gate import gate
from nodelint.forms.terraform.public_modules import ModuleVersion, read_constraint
from nodelint.forms.terraform.references import local_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nodelint.forms.terraform.file_blocks import TerraformFile
    from nodelint.forms.terraform.modules import ModuleFiles

_LOCK = ".terraform.lock.hcl"
_LOCKED = (
    r'provider "registry\.\w{{1,40}}\.\w{{1,20}}/hashicorp/{}"[ \t]*+\{{'
    r'[^{{}}]*?\bversion[ \t]*+=[ \t]*+"([^"]+)"'
)
_REQUIRED = r'\b{}[ \t]*=[ \t]*(?:\{{(?P<body>[^{{}}]*)\}}|"(?P<short>[^"]*)")'
_VERSION = re.compile(r'\bversion[ \t]*=[ \t]*"([^"]*)"')
_WITHOUT_HELM = ("terraform-aws-modules/", "registry.terraform.io/terraform-aws-modules/")
"""The beginning of the source of public modules that do not require the Helm provider."""
_COMMENT = re.compile(r"(?m)^[ \t]*(?:#|//)[^\n]*$")
_MOST_FOLDERS = 200


def newest_helm_provider(folder: str, modules: ModuleFiles) -> ModuleVersion | None:
    """Return the newest Helm provider that the root modules of a folder allow.

    None if it is not known, or not the same for all.

    A root module decides for all folders that it calls, and its lock file decides first. If the root is not in the
    repository, the version is not known.
    """
    found: set[ModuleVersion] = set()
    for root in _find_roots(folder, modules):
        folders = _folders_of_root(root, modules)
        version = _version_of_root(root, folders, modules) if folders is not None else None
        if version is None:
            return None
        found.add(version)
    return found.pop() if len(found) == 1 else None


def _find_roots(folder: str, modules: ModuleFiles) -> Iterator[str]:
    """Yield the root modules that call a folder, directly or through other modules."""
    seen, waiting = {folder}, [folder]
    while waiting and len(seen) < _MOST_FOLDERS:
        at = waiting.pop()
        callers = {
            os.path.dirname(path)
            for path in modules.callers(at)
            if os.path.dirname(path) != at and any(called == at for called, _, _ in modules.local_calls(path))
        }
        if not callers:
            yield at
        waiting += callers - seen
        seen |= callers


def _folders_of_root(root: str, modules: ModuleFiles) -> list[str] | None:
    """Return the folders of a root module and of the local modules that it calls.

    None if it calls another module, which may require a provider.
    """
    found, waiting = [root], [root]
    while waiting:
        for file in modules.files(waiting.pop()):
            for block in file.blocks:
                if block.kind != "module":
                    continue
                source = file.attributes(block).get("source")
                name = source.value if source is not None else None
                called = local_folder(modules, file, block)
                if called is None and not (isinstance(name, str) and name.startswith(_WITHOUT_HELM)):
                    return None
                if called is not None and called not in found:
                    found.append(called)
                    waiting.append(called)
    return found


def _version_of_root(root: str, folders: list[str], modules: ModuleFiles) -> ModuleVersion | None:
    """Return the version in the lock file of a root, else the newest version that its folders allow.

    None if it is not known.
    """
    if _LOCK in gate.names(root):
        return _read_lock(root, "helm")
    files = [file for folder in folders for file in modules.files(folder)]
    has_provider = any(
        block.kind == "provider" and block.names == ("helm",) for file in files for block in file.blocks
    )
    written = _list_constraints(files, "helm")
    return read_constraint(", ".join(written)) if has_provider and all(written) else None


def newest_provider(root: str, name: str, modules: ModuleFiles) -> ModuleVersion | None:
    """Return the newest version of a provider that the lock file or the files of a root module allow.

    None if they do not limit it.
    """
    if _LOCK in gate.names(root):
        return _read_lock(root, name)
    written = _list_constraints(modules.files(root), name)
    return read_constraint(", ".join(written)) if written and all(written) else None


def _read_lock(root: str, name: str) -> ModuleVersion | None:
    """Return the version of a provider in the lock file of a root module. None if it is not in there."""
    text = gate.load_text(os.path.join(root, _LOCK), 1 << 20) or ""
    locked = re.search(_LOCKED.format(re.escape(name)), text)
    return read_constraint(locked[1]) if locked is not None else None


def _list_constraints(files: Sequence[TerraformFile], name: str) -> list[str]:
    """Return the version constraints of a provider in `required_providers`."""
    required, written = re.compile(_REQUIRED.format(re.escape(name))), []
    for file in files:
        for block in file.blocks:
            if block.kind == "terraform":
                text = _COMMENT.sub("", file.source.text[block.start : block.end])
                for found in required.finditer(text):
                    version = _VERSION.search(found["body"] or "")
                    written += [found["short"]] if found["short"] else [version[1]] if version is not None else []
    return written
