"""Releases that the files of both sides state differently: a separate change, which concerns every node."""

from __future__ import annotations

import os

from nodelint.base.types import TYPE_CHECKING
from nodelint.data import table
from nodelint.drift.hashes import version
from nodelint.files.gate import gate
from nodelint.model.folders import path_below
from nodelint.model.gvk import CLASS_KIND
from nodelint.model.releases import OLDEST, releases_match
from nodelint.plan.outcome import ReleaseMove

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from nodelint.model.evidence import Evidence
    from nodelint.model.releases import Version
    from nodelint.plan.read_side import Read
    from nodelint.releases.release_choice import Chosen

_LARGEST = 4 << 20


class StatedLines:
    """The lines that state releases, on both sides of a change."""

    def __init__(self, was: Read, new: Read) -> None:
        self._sides = was, new
        self._lines: dict[tuple[str, str], list[str]] = {}

    def is_reassigned(self, old: Evidence | None, new: Evidence | None) -> bool:
        """Return whether the lines that state a release for an object before and after are on both sides.

        Then no release changes: a different line applies to the object, because its files are read differently.
        """
        if old is None or new is None:
            return False
        (was, now), (then, later) = self._sides, (old, new)
        return all(
            line and line in self._read(other, path_below(stated.path, side.root))
            for stated, side, other in ((then, was, now), (later, now, was))
            for line in [self._find(side, stated)]
        )

    def _find(self, side: Read, stated: Evidence) -> str:
        lines = self._read(side, path_below(stated.path, side.root))
        return lines[stated.line - 1] if 0 < stated.line <= len(lines) else ""

    def _read(self, side: Read, place: str) -> list[str]:
        key = side.root, place
        if key not in self._lines:
            try:
                data = gate.read(os.path.join(side.root, place), _LARGEST, within=side.root)
            except OSError:
                data = b""
            self._lines[key] = [line.strip() for line in data.decode(errors="replace").splitlines()]
        return self._lines[key]


def kubernetes_move(old: Chosen, new: Chosen, lines: StatedLines) -> ReleaseMove | None:
    """Return the change to another Kubernetes version. None if a side does not state one, or if both state the
    same.
    """
    stated = new.kubernetes_from
    if old.kubernetes is None or new.kubernetes is None or stated is None or old.kubernetes == new.kubernetes:
        return None
    if lines.is_reassigned(old.kubernetes_from, stated):
        return None
    note = "every alias stands for images of the cluster's version, so that nodes with such an image drift"
    return ReleaseMove("Kubernetes", str(old.kubernetes), str(new.kubernetes), stated.path, stated.line, note)


def karpenter_moves(both: Iterable[tuple[Chosen, Chosen]], lines: StatedLines) -> Iterator[ReleaseMove]:
    """Yield the changes to other Karpenter releases, with a note whether they replace nodes by themselves."""
    for old, new in both:
        stated = new.karpenter_from
        before = old.karpenter_from or next(iter(old.passed_over), None)  # a release that does not serve the objects
        was, now = old.karpenter.last, new.karpenter.last
        if stated is None or before is None or was == now:
            continue
        if lines.is_reassigned(before, stated):
            continue
        # A release from before v1 is judged as the oldest one that is known; what it hashed is of another API.
        stated_before = before.karpenter
        start = stated_before if stated_before < OLDEST else was
        yield ReleaseMove("Karpenter", str(start), str(now), stated.path, stated.line, _note(start, now))


def _note(was: Version, now: Version) -> str:
    oldest = max(was, OLDEST)
    differ = [
        kind for kind in ("NodePool", CLASS_KIND) if was < OLDEST or version(kind, oldest) != version(kind, now)
    ]
    more = f"`nodelint upgrade --from {was} --to {now}` lists what else changes"
    others = [
        row["subject"]
        for row in table("upgrade")["changes"]
        if row.get("drift", "none") != "none"
        and row["releases"] != "main"
        and releases_match(row["releases"], now)
        and not releases_match(row["releases"], was)
    ]
    if not differ and others:
        return f"hashes stay as they are, and nodes may drift for another reason ({', '.join(others)}); {more}"
    if not differ:
        return f"hashes stay as they are, so the move by itself replaces no node; {more}"
    return (
        f"the hash of {' and '.join(differ)} has another version, and Karpenter writes it again without drift; {more}"
    )
