"""Write docs/run.svg, plan.svg and fit.svg: runs in colour, as a terminal shows them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from itertools import groupby
from pathlib import Path
from xml.sax.saxutils import escape

ROOT = Path(__file__).parent.parent
PICTURES = {
    "run.svg": "nodelint check examples/bad/custom-image.yaml",
    "plan.svg": "nodelint plan --old examples/change/before examples/change/after",
    "fit.svg": "nodelint fit examples/workloads examples/good",
}
"""The command of each picture."""

COLUMNS = 92
NOW = "2026-09-20T00:00:00Z"
"""The time of the runs: the facts are not old then."""
_WIDTH, _HEIGHT = 8.4, 19
_MARGIN, _BAR = 18, 34
# One Dark: both GitHub's light and dark pages leave it readable.
_BACK, _FRONT = "#282c34", "#d7dae0"
_COLOURS = {30: "#5c6370", 31: "#f0717b", 32: "#98c379", 33: "#e5c07b", 34: "#61afef", 35: "#c678dd", 36: "#56b6c2"}
_CODE = re.compile(r"\x1b\[([\d;]*)m")
_LINK = re.compile(r"\x1b\]8;[^\x07\x1b]*(?:\x07|\x1b\\)")


def output(command: str) -> str:
    """Return what a command prints on a terminal of `COLUMNS` columns, with its colours."""
    _, *args = command.split()
    done = subprocess.run(
        [sys.executable, "-m", "nodelint", *args, "--color", "always"],
        cwd=ROOT,
        env={
            **os.environ,
            "COLUMNS": str(COLUMNS),
            "PYTHONPATH": str(ROOT),
            "NODELINT_CACHE_DIR": os.devnull,
            "NODELINT_NOW": NOW,
        },
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    if done.returncode != 1:
        sys.exit(done.stderr or f"{command} finds nothing to show")
    return _LINK.sub("", done.stdout).rstrip("\n")


def picture(command: str) -> str:
    """Return the SVG of a terminal with a prompt and what a command prints."""
    text = output(command)
    lines = [row for line in (f"\x1b[32m$\x1b[0m {command}", *text.split("\n")) for row in _rows(_cells(line))]
    width = COLUMNS * _WIDTH + 2 * _MARGIN
    height = len(lines) * _HEIGHT + _BAR + _MARGIN
    rows = [
        f'<text x="{_MARGIN}" y="{_BAR + 14 + number * _HEIGHT}">{_spans(line)}</text>'
        for number, line in enumerate(lines)
    ]
    dots = "".join(
        f'<circle cx="{_MARGIN + 6 + 18 * n}" cy="18" r="5.5" fill="{c}"/>'
        for n, c in enumerate(("#e06c75", "#e5c07b", "#98c379"))
    )
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" role="img" '
            f'aria-label="{escape(command)}" font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, '
            f'\'DejaVu Sans Mono\', monospace" font-size="14" fill="{_FRONT}" xml:space="preserve">',
            f'<rect width="{width:.0f}" height="{height}" rx="8" fill="{_BACK}"/>',
            dots,
            *rows,
            "</svg>\n",
        ]
    )


Cells = list[tuple[str, str]]
"""The characters of a line, each with the attributes of its style."""


def _cells(line: str) -> Cells:
    cells, style, at = [], "", 0
    for code in [*_CODE.finditer(line), None]:
        cells += [(char, style) for char in line[at : code.start() if code else len(line)]]
        if code is not None:
            style, at = _style(code[1], style), code.end()
    return cells


def _rows(cells: Cells) -> list[Cells]:
    """Return the rows that a line takes up, broken between words."""
    rows = []
    while len(cells) > COLUMNS:
        end = max(n for n in range(COLUMNS) if cells[n][0] == " ")
        rows.append(cells[:end])
        cells = cells[end + 1 :]
    return [*rows, cells]


def _spans(cells: Cells) -> str:
    """Return a row as spans with one style each, with the place and the length of each: fonts differ in width."""
    spans, at = [], 0
    for style, run in groupby(cells, key=lambda cell: cell[1]):
        text = "".join(char for char, _ in run)
        lead, shown = len(text) - len(text.lstrip(" ")), text.strip(" ")
        if shown:
            x, length = _MARGIN + (at + lead) * _WIDTH, len(shown) * _WIDTH
            escaped = escape(shown.replace(" ", "\u00a0"))
            spans.append(f'<tspan x="{x:.1f}" textLength="{length:.1f}"{style}>{escaped}</tspan>')
        at += len(text)
    return "".join(spans)


def _style(codes: str, before: str) -> str:
    """Return the attributes of the text after an escape sequence."""
    style = before
    for code in (int(part or 0) for part in codes.split(";")):
        if code == 0:
            style = ""
        elif code == 1:
            style += ' font-weight="bold"'
        elif code == 2:
            style += ' opacity="0.7"'
        elif code in _COLOURS or code - 60 in _COLOURS:
            style += f' fill="{_COLOURS[code if code in _COLOURS else code - 60]}"'
    return style


if __name__ == "__main__":
    for name, command in PICTURES.items():
        (ROOT / "docs" / name).write_text(picture(command), encoding="utf-8")
