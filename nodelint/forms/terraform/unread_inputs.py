"""Find files of modules that Terraform cannot read."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Sequence

from nodelint.files.gate import gate
from nodelint.forms.registry import TERRAFORM
from nodelint.forms.rendered import Built
from nodelint.text import Source
from nodelint.text.limits import note_limit

FILES = (*TERRAFORM.endings, *TERRAFORM.inputs)
UNIT = TERRAFORM.heads[0]
_LARGEST = 16 << 20
_MOST_FILES = 20_000
"""The most files of modules that are checked."""


def list_inputs(
    sources: Sequence[Source], builds: Sequence[Built], _: Sequence[str], paths: Iterable[str]
) -> Iterator[str]:
    """Yield the absolute paths of module files that hold objects or are inputs of rendered manifests.

    Terragrunt units that call such a module are yielded as well, with the files that they read. `paths` are all
    requested files.
    """
    modules: set[str] = set()
    read_by_units = [part for built in builds for part in built.parts if part.endswith(TERRAFORM.paths.above)]
    parts = [source.path for source in sources if source.path.endswith((*FILES, *TERRAFORM.templates))]
    for built in builds:
        parts += built.parts
        if built.source.path.endswith(FILES) or any(part.endswith(FILES) for part in built.parts):
            modules.add(built.cluster)
    for path in map(os.path.abspath, parts):
        if path.endswith(FILES):
            modules.add(os.path.dirname(path))
        elif path.endswith(TERRAFORM.templates):
            modules |= {os.path.dirname(path), os.path.dirname(os.path.dirname(path))}
    found = []
    for count, path in enumerate(_list_modules(modules)):
        if count >= _MOST_FILES:
            note_limit(path, _MOST_FILES, "files of modules, whose syntax is looked at", 0)
            break
        found.append(path)
    yield from dict.fromkeys((*found, *read_by_units))
    yield from _list_units(paths, {os.path.dirname(path) for path in found})


def _list_modules(modules: set[str]) -> Iterator[str]:
    for folder in sorted(filter(gate.is_folder, modules)):
        yield from (os.path.join(folder, name) for name in gate.names(folder) if name.endswith(FILES))


def _list_units(paths: Iterable[str], modules: Collection[str]) -> Iterator[str]:
    """Yield the Terragrunt units whose text names one of the modules. The text need not be valid."""
    for path in sorted(paths) if modules else ():
        if os.path.basename(path) != UNIT:
            continue
        text = gate.load_text(path, _LARGEST) or ""
        for start, written in re.findall(r'(?m)^[ \t]*source\s*=\s*"(\$\{[^}"]*\})?/*([^"$?]+)', text):
            folder = os.path.normpath(os.path.join("/" if start else os.path.dirname(path), written))
            if folder in modules or (start and any(module.endswith(folder) for module in modules)):
                yield path
