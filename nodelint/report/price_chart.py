"""A chart (SVG) of the prices of instance types by their size."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape

from nodelint.base.tuples import NamedTuple
from nodelint.model.messages import list_first

_WIDTH, _HEIGHT = 360, 236
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 350, 10, 196
_CELL = 5
"""Points that are closer to each other than this, in units of the drawing, are drawn as one."""

SHAPES = ("amd64", "arm64")
"""The architectures with their own shape and colour."""


class Point(NamedTuple):
    """An instance type: its name, architecture, size in the unit of the axis, and price in USD per hour."""

    name: str
    arch: str
    size: float
    price: float


def price_chart(points: Sequence[Point], axis: str) -> str:
    """Return the chart as SVG with two logarithmic axes; empty without points."""
    drawn = [point for point in points if point.size > 0 and point.price > 0]
    if not drawn:
        return ""
    across = _Scale([point.size for point in drawn], 2.0, _LEFT, _RIGHT)
    upward = _Scale([point.price for point in drawn], 10.0, _BOTTOM, _TOP)
    parts = [*_grid(across, upward), *_marks(drawn, across, upward)]
    parts.append(f'<text class=axis x="{(_LEFT + _RIGHT) / 2:.0f}" y="{_HEIGHT - 6}">{escape(axis)}</text>')
    label = f"Price an hour against {axis} of {len(drawn):,} instance types"
    opening = f'<svg class=chart viewBox="0 0 {_WIDTH} {_HEIGHT}" role=img aria-label="{escape(label)}">'
    return f"{opening}{''.join(parts)}</svg>"


class _Scale:
    """A logarithmic scale that maps values to coordinates of the chart."""

    def __init__(self, values: Sequence[float], base: float, start: float, end: float) -> None:
        self._base = base
        self._first = math.floor(math.log(min(values), base) + 1e-9)
        self._last = max(math.ceil(math.log(max(values), base) - 1e-9), self._first + 1)
        self._start, self._end = start, end

    def place(self, value: float) -> float:
        """Return the coordinate of a value."""
        part = (math.log(value, self._base) - self._first) / (self._last - self._first)
        return self._start + part * (self._end - self._start)

    def ticks(self, most: int) -> list[float]:
        """Return the values to write at the axis: about `most` powers of the base."""
        step = max(1, math.ceil((self._last - self._first) / most))
        return [self._base**power for power in range(self._first, self._last + 1, step)]


def _grid(across: _Scale, upward: _Scale) -> Iterator[str]:
    for value in across.ticks(7):
        x = across.place(value)
        yield f'<path class=grid d="M{x:.1f} {_TOP}V{_BOTTOM}"/>'
        yield f'<text class=tick x="{x:.1f}" y="{_BOTTOM + 15}">{_number(value)}</text>'
    for value in upward.ticks(5):
        y = upward.place(value)
        yield f'<path class=grid d="M{_LEFT} {y:.1f}H{_RIGHT}"/>'
        yield f'<text class="tick side" x="{_LEFT - 5}" y="{y + 4:.1f}">${_number(value)}</text>'


def _number(value: float) -> str:
    if value >= 10_000:
        return f"{value / 1000:,.0f}k"
    return f"{value:,.0f}" if value >= 1 else f"{value:.4f}".rstrip("0")


def _marks(points: Sequence[Point], across: _Scale, upward: _Scale) -> Iterator[str]:
    cells: dict[tuple[int, int, str], list[Point]] = {}
    for point in points:
        x, y = across.place(point.size), upward.place(point.price)
        cells.setdefault((round(x / _CELL), round(y / _CELL), point.arch), []).append(point)
    for (_, _, arch), alike in sorted(cells.items()):
        first = alike[0]
        x, y = across.place(first.size), upward.place(first.price)
        names = list_first([f"{point.name} ${point.price:,.4f}" for point in alike], 4)
        kind = arch if arch in SHAPES else "other"
        shape = f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="3.2">'
        end = "</circle>"
        if kind == "arm64":
            shape = f'<path class="{kind}" d="M{x:.1f} {y - 4:.1f}l4 4l-4 4l-4 -4z">'
            end = "</path>"
        yield f"{shape}<title>{escape(names)}</title>{end}"
