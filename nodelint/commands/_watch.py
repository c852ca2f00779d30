"""`check --watch`: run the check again, in a new process, whenever a file changes."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Sequence

from nodelint.commands._console import clear_screen, say, stop

_PAUSE = 0.3
"""The seconds between two checks for changed files."""
_UNWATCHED = frozenset({"node_modules", "__pycache__"})


def watch_check(paths: Sequence[str], arguments: Sequence[str]) -> None:
    """Run the check with `arguments` now and after each change below `paths`, until Ctrl-C."""
    import subprocess

    if "-" in paths:
        stop("--watch needs files: standard input does not change")
    command = [sys.executable, "-m", "nodelint", *(word for word in arguments if word != "--watch")]
    environment = {**os.environ, "PYTHONSAFEPATH": "1"}
    watched = [*(paths or (os.curdir,)), *_configurations()]
    while True:
        before = read_stamps(watched)
        if sys.stdout.isatty():
            clear_screen()
        subprocess.run(command, env=environment, check=False)
        say("watching for changes; Ctrl-C ends it")
        while read_stamps(watched) == before:
            time.sleep(_PAUSE)


def _configurations() -> list[str]:
    """Return the possible configuration files from the working folder up to the repository's root."""
    folder, found = os.getcwd(), []
    while True:
        found += [os.path.join(folder, name) for name in ("nodelint.yaml", ".nodelint.yaml", "pyproject.toml")]
        parent = os.path.dirname(folder)
        if parent == folder or os.path.exists(os.path.join(folder, ".git")):
            return found
        folder = parent


def read_stamps(paths: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Return modification time and size of each file below the paths, without hidden folders."""
    found: dict[str, tuple[int, int]] = {}
    for path in paths:
        found.update(_below(path))
    return found


def _below(path: str) -> Iterator[tuple[str, tuple[int, int]]]:
    try:
        if not os.path.isdir(path):
            status = os.stat(path)
            yield path, (status.st_mtime_ns, status.st_size)
            return
        with os.scandir(path) as entries:
            listed = list(entries)
    except OSError:
        return  # it has gone, or cannot be read: the check says so
    for entry in listed:
        try:
            if entry.is_dir(follow_symlinks=False):
                if not entry.name.startswith(".") and entry.name not in _UNWATCHED:
                    yield from _below(entry.path)
                continue
            status = entry.stat()
        except OSError:
            continue  # it went between the two looks
        yield entry.path, (status.st_mtime_ns, status.st_size)
