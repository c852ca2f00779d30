"""Find the files without which a Terraform file that the user names creates no object."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from nodelint.files.gate import gate

_VARIABLES = (".tfvars", ".tfvars.json")
_MODULE = (".tf", ".tofu")
_TEXTS = (".yaml", ".yml", ".tpl", ".tftpl", ".tmpl", ".json")
_LARGEST = 4 << 20
_DEEPEST = 4
"""The most folders between a variable file and its root module, and the most nested modules."""
_MOST = 1000
_READS = re.compile(
    r"\b(?:file|templatefile|fileset)\(\s*(?:path\.\w+\s*,\s*)?\"([^\"\n]+)\"|\bpattern\s*=\s*\"([^\"\n]+)\""
)
_HOME = re.compile(r"\$\{path\.(?:module|root|cwd)\}/?")
_CALLED = re.compile(r"\bsource\"?\s{0,20}=\s{0,20}\"(\.{1,2}/[^\"$\n]+)\"")


def list_read_with(path: str) -> Iterator[str]:
    """Yield the files that are needed with a requested file.

    These are its templates; for a variable file the root module; for a template the modules that read it; for a
    Terragrunt unit the module that it calls.
    """
    if path.endswith(_VARIABLES):
        folder = _find_root(os.path.dirname(path))
        if folder is not None:
            yield from _list_of_module(folder, set())
    elif path.endswith(_MODULE):
        text = _read(path)
        if "karpenter" in text.lower():
            yield from list_texts(path)
        else:  # its variables and locals affect objects in the module's other files
            yield from _list_of_module(os.path.dirname(path), set())
    elif path.endswith(".hcl"):
        for called in _CALLED.findall(_read(path)):
            called = called.replace("//", "/")
            yield from _list_of_module(os.path.normpath(os.path.join(os.path.dirname(path), called)), set())
    else:
        yield from _list_readers(path)


def _list_readers(text: str) -> Iterator[str]:
    """Yield the files of the modules, in the folder of a text or above it, that read the text by its name."""
    folder = os.path.dirname(text)
    for _ in range(_DEEPEST):
        modules = [os.path.join(folder, name) for name in gate.names(folder or os.curdir) if name.endswith(_MODULE)]
        if any(text in list_texts(path) for path in modules):
            yield from _list_of_module(folder, set())
        folder = os.path.normpath(os.path.join(folder, os.pardir))
        if gate.refusal(folder) is not None:
            return


def _find_root(folder: str) -> str | None:
    """Return the folder of the root module of a variable file: its own, or the nearest above.

    None if there is none.
    """
    for _ in range(_DEEPEST):
        if any(name.endswith(_MODULE) for name in gate.names(folder or os.curdir)):
            return folder
        folder = os.path.normpath(os.path.join(folder, os.pardir))
        if gate.refusal(folder) is not None:
            return None
    return None


def _list_of_module(folder: str, seen: set[str], depth: int = 0) -> Iterator[str]:
    """Yield the files of a module and of the modules that it calls, with the texts that they read."""
    if folder in seen or depth > _DEEPEST:
        return
    seen.add(folder)
    for name in gate.names(folder or os.curdir):
        if name.endswith(_MODULE):
            path = os.path.join(folder, name)
            yield path
            yield from list_texts(path)
            for called in _CALLED.findall(_read(path)):
                yield from _list_of_module(os.path.normpath(os.path.join(folder, called)), seen, depth + 1)


def list_texts(path: str) -> Iterator[str]:
    """Yield the files that a Terraform file reads by name.

    For names with `${` or `*`, yield all texts in the folder.
    """
    for found in _READS.finditer(_read(path)):
        named = _HOME.sub("", found[1] or found[2])
        at = re.search(r"[$*?{]", named)
        place = os.path.normpath(os.path.join(os.path.dirname(path), named if at is None else named[: at.start()]))
        if at is None:
            if gate.is_file(place):
                yield place
            continue
        folder = place if named[: at.start()].endswith("/") or at.start() == 0 else os.path.dirname(place)
        for name in gate.names(folder or os.curdir)[:_MOST]:
            if name.endswith(_TEXTS) and gate.is_file(os.path.join(folder, name)):
                yield os.path.join(folder, name)


def _read(path: str) -> str:
    return gate.load_text(path, _LARGEST) or ""
