"""Releases that the files of both sides state differently: a change of its own, which concerns every node."""

from __future__ import annotations

from nodelint.drift.hashes import version
from nodelint.model.gvk import CLASS_KIND
from nodelint.model.releases import OLDEST
from nodelint.plan.outcome import ReleaseMove

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from nodelint.model.releases import Version
    from nodelint.releases.release_choice import Chosen


def kubernetes_move(old: Chosen, new: Chosen) -> ReleaseMove | None:
    """The move to another version of Kubernetes; None where a side does not state one, or both state the same."""
    stated = new.kubernetes_from
    if old.kubernetes is None or new.kubernetes is None or stated is None or old.kubernetes == new.kubernetes:
        return None
    note = "every alias stands for images of the cluster's version, so that nodes with such an image drift"
    return ReleaseMove("Kubernetes", str(old.kubernetes), str(new.kubernetes), stated.path, stated.line, note)


def karpenter_moves(both: Iterable[tuple[Chosen, Chosen]]) -> Iterator[ReleaseMove]:
    """The moves to other releases of Karpenter, and whether they replace nodes by themselves."""
    for old, new in both:
        stated = new.karpenter_from
        was, now = old.karpenter.last, new.karpenter.last
        if stated is None or old.karpenter_from is None or was == now:
            continue
        # A release from before v1 is judged as the oldest one that is known; what it hashed is of another API.
        stated_before = old.karpenter_from.karpenter
        start = stated_before if stated_before < OLDEST else was
        yield ReleaseMove("Karpenter", str(start), str(now), stated.path, stated.line, _note(start, now))


def _note(was: Version, now: Version) -> str:
    oldest = max(was, OLDEST)
    differ = [
        kind for kind in ("NodePool", CLASS_KIND) if was < OLDEST or version(kind, oldest) != version(kind, now)
    ]
    more = f"`nodelint upgrade --from {was} --to {now}` lists what else changes"
    if not differ:
        return f"hashes stay as they are, so the move by itself replaces no node; {more}"
    return (
        f"the hash of {' and '.join(differ)} has another version, and Karpenter writes it anew without drift; {more}"
    )
