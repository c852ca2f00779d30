"""Run the commands of the console blocks in README.md and docs/, and write what they print into the pages.

    python tools/make_console_blocks.py            rewrite each block that differs
    python tools/make_console_blocks.py --list     list the blocks, and whether each is equal to a run

A page is a session from top to bottom, in a folder that holds `examples`, `tests/triage` and `tests/trees`. A block
with a title, such as title="pool.yaml", is written to a file of that name before the next command runs. A line `…`
stands for any lines: a block whose other lines are equal stays as it is.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NOW = "2026-09-20T12:00:00Z"
FENCE = re.compile(r"^(?P<fence>```+)(?P<word>\w*)(?P<rest>[^\n]*)\n(?P<body>.*?)^(?P=fence)[ ]*$", re.M | re.S)
TITLE = re.compile(r'title="([^"]+)"')
PARTS = ("examples", "tests/triage", "tests/trees")

RunCommand = Callable[[str, Path], str]


def list_pages() -> list[Path]:
    """Return the README and those pages of docs/ that have console blocks, without pages of rules."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [
        path for path in pages if path.parent.name != "rules" and "```console" in path.read_text(encoding="utf-8")
    ]


def split_commands(body: str) -> Iterator[tuple[str, str]]:
    """Yield each command of a block with the output that the block shows."""
    for block in re.split(r"^\$ ", body, flags=re.M)[1:]:
        command, _, shown = block.partition("\n")
        while command.endswith("\\"):
            more, _, shown = shown.partition("\n")
            command = f"{command}\n{more}"
        yield command, shown


def matches(shown: str, printed: str) -> bool:
    """Return whether a page shows what was printed. A line `…` stands for any lines."""
    lines = [r"(?:.*\n)*?" if line == "…" else re.escape(line) + r"\n" for line in shown.rstrip().split("\n")]
    pattern = "".join(lines) if shown.strip() else ""
    return re.fullmatch(pattern, printed.rstrip() + "\n" if printed.strip() else "") is not None


def run_page(text: str, folder: Path, run: RunCommand) -> Iterator[tuple[re.Match[str], str, str, str]]:
    """Run the commands of a page in a folder. Yield for each its block, the command, the shown output and the
    printed one.
    """
    for part in PARTS:
        shutil.copytree(ROOT / part, folder / part)
    for fence in FENCE.finditer(text):
        title = TITLE.search(fence["rest"])
        if title is not None:
            path = folder / title[1]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(fence["body"], encoding="utf-8")
        if fence["word"] == "console":
            for command, shown in split_commands(fence["body"]):
                yield fence, command, shown, run(command, folder)


def make_environment(folder: Path) -> dict[str, str]:
    """Return an environment for a page's commands, with a `nodelint` on its path that runs this checkout."""
    program = folder / "bin" / "nodelint"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m nodelint "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    return {
        **{name: value for name, value in os.environ.items() if name != "COLUMNS"},
        "NODELINT_NOW": NOW,
        "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "NODELINT_CACHE_DIR": str(folder / "cache"),
        "NO_COLOR": "1",
    }


def run_shell(command: str, folder: Path, environment: Mapping[str, str]) -> str:
    """Return the output of a shell line, including standard error."""
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=120,
    )
    return done.stdout


def _rewrite(page: Path) -> tuple[str, list[tuple[str, bool]]]:
    """Return a page with the output of its commands, and for each command whether the page had it already."""
    text = page.read_text(encoding="utf-8")
    found: list[tuple[str, bool]] = []
    with tempfile.TemporaryDirectory() as name:
        outer = Path(name)
        folder, environment = outer / "here", make_environment(outer)
        new = text
        for fence, command, shown, printed in run_page(text, folder, lambda c, f: run_shell(c, f, environment)):
            found.append((command, matches(shown, printed)))
            if not found[-1][1]:
                block = fence[0].replace(f"$ {command}\n{shown}", f"$ {command}\n{printed.rstrip()}\n", 1)
                new = new.replace(fence[0], block, 1)
    return new, found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="list the blocks and write nothing")
    parser.add_argument("pages", nargs="*", type=Path, help="default: all pages")
    options = parser.parse_args()
    differing = 0
    for page in options.pages or list_pages():
        new, found = _rewrite(page.resolve())
        differing += sum(not equal for _, equal in found)
        if not options.list:
            page.write_text(new, encoding="utf-8")
            continue
        for command, equal in found:
            print(f"{page.resolve().relative_to(ROOT)}\t{'equal' if equal else 'differs'}\t{command}")
    return 1 if options.list and differing else 0


if __name__ == "__main__":
    sys.exit(main())
