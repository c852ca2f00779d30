"""Find the rendered charts whose installation helm refuses on a side: nothing of them is applied there."""

from __future__ import annotations

from nodelint.base.types import TYPE_CHECKING
from nodelint.model.finding import Span
from nodelint.plan.gone_appliers import show_place
from nodelint.plan.unread import SIDES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nodelint.forms.rendered import Built
    from nodelint.model.gap import Gap
    from nodelint.plan.read_side import Read


def match_refused_releases(sides: Sequence[Read]) -> Iterator[tuple[Built, Gap]]:
    """Yield the rendered templates of releases that helm refuses, each with the reason.

    If helm refuses a chart for one reason on both sides, the gap decides nothing about objects that stay as they are.
    """
    reasons = [{gap.reason for built in side.inventory.built for gap in built.refused} for side in sides]
    for number, side in enumerate(sides):
        refusing = {_key(built): built.refused[0] for built in side.inventory.built if built.refused}
        places: dict[Gap, Span] = {}
        for built in side.inventory.built if refusing else ():
            gap = refusing.get(_key(built))
            if gap is not None:
                at = places.setdefault(gap._replace(subject=""), show_place(side, _span(gap)))
                is_new = gap.reason not in reasons[1 - number]
                where = f"on the {SIDES[number]} side" if is_new else "on either side"
                reason = f"nothing of the chart is installed {where}: {gap.reason}"
                yield built, gap._replace(place=at, reason=reason, decides=is_new, subject="")


def _span(gap: Gap) -> Span:
    return Span(gap.at.source, gap.at.start, gap.at.end)


def _key(built: Built) -> tuple[str, str, int | None]:
    """Return what tells a release from others: a subchart belongs to the release of the chart around it."""
    return (*built.applied_by, built.release if built.applied_by[1] else id(built))
