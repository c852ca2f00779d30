"""List the folders and files that commands in scripts and workflows apply: `kubectl apply`, `kustomize build`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from nodelint.files.gate import gate
from nodelint.forms.lib.unread_inputs import UnreadInputs
from nodelint.forms.lib.variable_inputs import VariableInputs
from nodelint.forms.requests import FolderUse
from nodelint.model.finding import Span

_APPLY = re.compile(r"\bkubectl\b[^\n;&|]{0,200}?[ \t](?:apply|replace|kustomize)\b([^\n;&|]{0,2000})")
_BUILD = re.compile(r"\bkustomize[ \t]+build\b([^\n;&|]{0,2000})")
_PATHS = re.compile(
    r"(?:^|[ \t])(?:(?:-f|-k|--filename|--kustomize)[ =]*|(?=[\w./]))[\"']?([\w./@+,-]+)[\"']?(?=[ \t]|$)"
)


def list_applied_folders(files: UnreadInputs) -> Iterator[FolderUse]:
    """Yield the folders and files that commands apply by a literal path. A removed command deletes nothing."""
    for source in VariableInputs(files.top).list_scripts():
        if "kubectl" not in source.text and "kustomize" not in source.text:
            continue
        home = os.path.dirname(os.path.abspath(source.path))
        place = os.path.relpath(os.path.abspath(source.path), files.top).replace(os.sep, "/")
        for command in (found for pattern in (_APPLY, _BUILD) for found in pattern.finditer(source.text)):
            for path in _list_paths(command[1], (files.top, home)):
                yield FolderUse(place, path, Span(source, *command.span()), keeps=True)


def _list_paths(options: str, folders: tuple[str, ...]) -> Iterator[str]:
    for match in _PATHS.finditer(options):
        for name in match[1].split(","):
            paths = (os.path.normpath(os.path.join(folder, name)) for folder in folders)
            found = next((path for path in paths if gate.is_file(path) or gate.is_folder(path)), None)
            if found is not None and name.strip("./"):
                yield found
