"""Find the Terragrunt units that read a file that Terragrunt cannot parse."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence

from nodelint.forms.registry import TERRAFORM
from nodelint.forms.rendered import Built
from nodelint.forms.terraform.terragrunt import NAME, find_unit_problem
from nodelint.model.gap import FilePlace, Gap
from nodelint.text import Source

_STOPS = "Terragrunt stops there, and applies nothing of the unit"


def find_broken_units(builds: Sequence[Built], read: Callable[[str], Source | None]) -> Iterator[Gap]:
    """Yield a gap for each unit with rendered manifests that reads a file which cannot be parsed.

    `read` returns a file by its absolute path.
    """
    units: dict[str, dict[str, None]] = {}
    for built in builds:
        read_files = [part for part in built.parts if part.endswith(TERRAFORM.paths.above)]
        if os.path.join(built.cluster, NAME) in read_files:
            units.setdefault(built.cluster, {}).update(dict.fromkeys(read_files))
    for folder, files in units.items():
        sources = {path: source for path in files if (source := read(path)) is not None}
        problem = find_unit_problem(sources.values())
        unit = sources.get(os.path.join(folder, NAME))
        if problem is None or unit is None:
            continue
        source, offset, message = problem
        at = source.position(offset)
        shown, broken = (os.path.relpath(file.path).replace(os.sep, "/") for file in (unit, source))
        place = FilePlace(shown)
        reason = f"it reads {broken}:{at.line}:{at.column}, which cannot be read: {_STOPS}"
        if source is unit:
            place, reason = FilePlace(shown, at.line, at.column), f"{message}: {_STOPS}"
        yield Gap(place, "module", reason, subject=folder, fails=True)
