"""Find vendored charts in archives (`charts/*.tgz`) that hold pools or classes and differ between two sides."""

from __future__ import annotations

import io
import os
import re

from nodelint.base.types import TYPE_CHECKING
from nodelint.files.gate import gate
from nodelint.model.finding import Span
from nodelint.model.folders import path_below
from nodelint.plan.uncompared import uncompared
from nodelint.text import Source

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from nodelint.model.gap import Gap
    from nodelint.plan.read_side import Read

_LARGEST = 8 << 20
_MOST_UNPACKED = 32 << 20
"""The most bytes of an archive that are unpacked."""
_KIND = re.compile(rb"(?m)^kind:[ \t]*[\"']?(?:NodePool|EC2NodeClass)\b")
_REASON = "the archive of a chart that makes pools or classes is not read, and {}: pools and classes may change"


def find_changed_archives(was: Read, new: Read) -> Iterator[Gap]:
    """Yield the archives of vendored charts that differ between the sides, if one of them holds pools or classes."""
    before, after = (_read_archives(side) for side in (was, new))
    for place in sorted(before.keys() | after.keys()):
        old, now = before.get(place), after.get(place)
        if old == now:
            continue
        files = [_unpack(data) if data is not None else {} for data in (old, now)]
        if files[0] == files[1] or not any(map(_holds_objects, files)):
            continue
        what = "changes" if old is not None and now is not None else "is gone" if now is None else "is new"
        shown = os.path.relpath(os.path.join(new.above or new.root, place)).replace(os.sep, "/")
        yield uncompared(Span(Source(shown, ""), 0, 0), place, _REASON.format(what), True)


def _read_archives(side: Read) -> dict[str, bytes]:
    """Return the archives in the folders `charts` of a side's charts, by their path below its root."""
    from nodelint.forms.lib.chart_places import CHART

    found = {}
    for path in side.found.seen:
        if os.path.basename(path) != CHART:
            continue
        folder = os.path.join(os.path.dirname(path), "charts")
        for name in gate.names(folder):
            if name.endswith(".tgz"):
                try:
                    found[path_below(os.path.join(folder, name), side.root)] = gate.read(
                        os.path.join(folder, name), _LARGEST, within=side.root
                    )
                except OSError:
                    continue
    return found


def _unpack(data: bytes) -> dict[str, bytes]:
    """Return the files in an archive by name. Those after a limit, or after damage, are left out."""
    import tarfile
    import zlib

    found: dict[str, bytes] = {}
    try:
        unpacked = zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(data, _MOST_UNPACKED)
        with tarfile.open(fileobj=io.BytesIO(unpacked), mode="r:") as archive:
            for member in archive:
                file = archive.extractfile(member) if member.isreg() else None
                if file is not None:
                    found[member.name] = file.read()
    except (tarfile.TarError, zlib.error, OSError, ValueError):
        return found
    return found


def _holds_objects(files: Mapping[str, bytes]) -> bool:
    """Return whether a file begins an object of Karpenter."""
    return any(b"karpenter" in text and _KIND.search(text) is not None for text in files.values())
