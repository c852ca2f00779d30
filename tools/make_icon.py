"""Draw the extension's icon: a pool of three nodes, one of which is checked. Writes editors/vscode/images/icon.png.

Marketplaces take no SVG for an icon, and a picture of some shapes needs no library: PNG is rows of pixels in zlib.
"""

from __future__ import annotations

import struct
import sys
import zlib
from math import cos, hypot, pi, sin
from pathlib import Path

ICON = Path(__file__).parents[1] / "editors" / "vscode" / "images" / "icon.png"
SIZE, SAMPLES = 128, 4

Point = tuple[float, float]
Colour = tuple[int, int, int]

GROUND, NODE, CHECKED, MARK = (16, 36, 62), (94, 139, 189), (46, 160, 113), (255, 255, 255)


def hexagon(x: float, y: float, radius: float) -> list[Point]:
    """Return the corners of a hexagon that stands on one of them."""
    return [(x + radius * sin(n * pi / 3), y - radius * cos(n * pi / 3)) for n in range(6)]


def is_within(point: Point, corners: list[Point]) -> bool:
    """Return whether a point is inside a convex shape, whose corners are given clockwise."""
    x, y = point
    sides = zip(corners, corners[1:] + corners[:1], strict=True)
    return all((bx - ax) * (y - ay) - (by - ay) * (x - ax) >= 0 for (ax, ay), (bx, by) in sides)


def distance(point: Point, start: Point, end: Point) -> float:
    """Return the distance of a point from the line between two other points."""
    (x, y), (ax, ay), (bx, by) = point, start, end
    along = ((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / ((bx - ax) ** 2 + (by - ay) ** 2)
    along = min(max(along, 0.0), 1.0)
    return hypot(x - ax - along * (bx - ax), y - ay - along * (by - ay))


SMALL = [hexagon(36, 40, 22), hexagon(92, 40, 22)]
LARGE = hexagon(64, 82, 33)
STROKES = [((50.0, 83.0), (60.0, 93.0)), ((60.0, 93.0), (79.0, 71.0))]


def colour_at(point: Point) -> Colour | None:
    """Return the colour of a point; None outside of the rounded square."""
    x, y = (abs(c - SIZE / 2) - SIZE / 2 + 22 for c in point)
    if hypot(max(x, 0), max(y, 0)) > 22:
        return None
    if any(distance(point, *stroke) <= 4.2 for stroke in STROKES):
        return MARK
    if is_within(point, LARGE):
        return CHECKED
    return NODE if any(is_within(point, shape) for shape in SMALL) else GROUND


def pixel(column: int, row: int) -> bytes:
    """Return red, green, blue and opacity of a pixel, each the mean of several points in it."""
    steps = [(n + 0.5) / SAMPLES for n in range(SAMPLES)]
    seen = [colour_at((column + dx, row + dy)) for dx in steps for dy in steps]
    inside = [colour for colour in seen if colour is not None]
    if not inside:
        return bytes(4)
    mean = [round(sum(parts) / len(inside)) for parts in zip(*inside, strict=True)]
    return bytes([*mean, round(255 * len(inside) / len(seen))])


def chunk(name: bytes, data: bytes) -> bytes:
    """Return a part of a PNG, with its length and checksum."""
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def draw() -> bytes:
    """Return the icon as PNG."""
    rows = b"".join(b"\0" + b"".join(pixel(x, y) for x in range(SIZE)) for y in range(SIZE))
    header = struct.pack(">IIBBBBB", SIZE, SIZE, 8, 6, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(name, data) for name, data in parts)


if __name__ == "__main__":
    ICON.parent.mkdir(exist_ok=True)
    ICON.write_bytes(draw())
    sys.stdout.write(f"{ICON}\n")
