"""Overlays that cannot be rendered on either side: a changed file of such an overlay may change pools and classes."""

from __future__ import annotations

import os
import re

from nodelint.base.types import TYPE_CHECKING
from nodelint.files.gate import gate
from nodelint.forms.registry import TABLE
from nodelint.model.finding import Span
from nodelint.model.folders import path_below
from nodelint.plan.uncompared import uncompared
from nodelint.text import Source

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nodelint.model.gap import Gap
    from nodelint.plan.read_side import Read

_PATH = re.compile(r"[\w.@+-]+(?:/[\w.@+-]+)*")
_MOST_FILES, _LARGEST = 2000, 4 << 20


def find_changed_overlays(was: Read, new: Read) -> Iterator[Gap]:
    """Yield the overlays that are rendered on neither side, if one of their files differs."""
    before, after = (
        {path_below(gap.subject, side.root): gap for gap in side.inventory.unbuilt} for side in (was, new)
    )
    if not before.keys() & after.keys():
        return
    from nodelint.plan.overlay_files import list_parts

    for folder in sorted(before.keys() & after.keys()):
        files = [_read_files(side, gap) for side, gap in ((was, before[folder]), (new, after[folder]))]
        changed = (
            path
            for path in sorted(files[0].keys() | files[1].keys())
            if files[0].get(path) != files[1].get(path)
            and list_parts(files[0].get(path, "")) != list_parts(files[1].get(path, ""))
        )
        path = next(changed, None)
        if path is not None:
            shown = os.path.relpath(os.path.join(new.root, path)).replace(os.sep, "/")
            source = Source(shown, files[1].get(path, ""))
            reason = f"{path} of it changes, and the overlay is not built: {after[folder].reason}"
            yield uncompared(Span(source, 0, 0), os.path.basename(folder) or folder, reason, True)


def _read_files(side: Read, overlay: Gap) -> dict[str, str]:
    """Return the text of each file of an overlay and its bases, by its path below the side's root."""
    found: dict[str, str] = {}
    folder = os.path.abspath(overlay.subject)
    pending = [os.path.join(folder, name) for name in TABLE.names]
    while pending and len(found) < _MOST_FILES:
        path = pending.pop()
        place = path_below(path, side.root)
        if place in found:
            continue
        try:
            text = gate.read(path, _LARGEST, within=side.root).decode(errors="replace")
        except OSError:
            continue
        found[place] = text
        if os.path.basename(path) not in TABLE.names:
            continue
        for name in set(_PATH.findall(text)):
            named = os.path.normpath(os.path.join(os.path.dirname(path), name))
            if gate.is_file(named):
                pending.append(named)
            elif gate.is_folder(named) and name.strip("."):
                pending += [inner for own in TABLE.names if gate.is_file(inner := os.path.join(named, own))]
    return found
