"""Say which rooms of nodelint the time of a run goes to, for one tree or for two side by side.

    python benchmarks/run.py --profile [--against REVISION]

A room is a folder: `text/yaml`, `apiserver`, `rules`. Its time is that of its own functions with what these call of
Python's built-in functions, by cProfile, which makes calls look dearer than they are: read it as shares, and hold a
gain by instructions. Each tree is run in a process of its own, a second time once its modules are compiled.
"""

from __future__ import annotations

import contextlib
import cProfile
import io
import json
import os
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from trees import Tree

LEAST = 0.01
"""The share of a room that has a row of its own."""

IMPORTS = "imports"
LIBRARY = "Python and its packages"


def print_profile(trees: Sequence[Tree], arguments: tuple[str, ...]) -> None:
    """Print a row for each room, with those first that take most now."""
    profiles = [profile_tree(tree, arguments) for tree in trees]
    totals = [profile.total() for profile in profiles]
    rooms = [room for room, _ in sum(profiles[1:], profiles[0]).most_common()]
    large = [
        room for room in rooms if any(p[room] >= LEAST * total for p, total in zip(profiles, totals, strict=True))
    ]
    rows = [(room, [profile[room] for profile in profiles]) for room in large]
    rows.sort(key=lambda row: -row[1][0])
    seen = [sum(profile[room] for room in large) for profile in profiles]
    rows.append(("rooms below 1 %", [total - part for total, part in zip(totals, seen, strict=True)]))
    print("| room |" + "".join(f" {tree.name}: ms | share |" for tree in trees))
    print("| --- |" + " ---: | ---: |" * len(trees))
    for room, times in [*rows, ("all", totals)]:
        cells = [f"{time * 1000:,.0f} | {time / total:.1%}" for time, total in zip(times, totals, strict=True)]
        print(f"| {room} | {' | '.join(cells)} |")


def profile_tree(tree: Tree, arguments: tuple[str, ...]) -> Counter[str]:
    """Seconds by room of one run. Raises SystemExit where the tree cannot do the work."""
    script = os.path.abspath(__file__)
    # Without the folder of this script on the path, which would come before that of the tree.
    command = [sys.executable, "-P", script, str(tree.root), *arguments]
    environment = tree.command().environment
    for _ in range(2):
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{tree.name}: {done.stderr.strip()}")
    return Counter(json.loads(done.stdout))


def profile_run(root: str, arguments: Sequence[str]) -> dict[str, float]:
    """Seconds by room of a run in this process."""
    profile, code = cProfile.Profile(), 0

    def leave(status: int) -> NoReturn:
        raise SystemExit(status)

    os._exit = leave
    sys.argv = ["nodelint", *arguments]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as errors:
        profile.enable()
        try:
            from nodelint.__main__ import main

            main()
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else 0
        profile.disable()
    if code not in (0, 1):
        raise SystemExit(errors.getvalue() or f"ended with {code}")
    seconds: defaultdict[str, float] = defaultdict(float)
    for entry in profile.getstats():
        if not isinstance(entry.code, str):  # a built-in function counts where it is called
            room = name_room(entry.code.co_filename, entry.code.co_name, root)
            seconds[room] += entry.inlinetime
            seconds[room] += sum(call.inlinetime for call in entry.calls or () if isinstance(call.code, str))
    return seconds


def name_room(file: str, function: str, root: str) -> str:
    """The room that a function is in."""
    if file.startswith("<frozen importlib") or function == "<module>":
        return IMPORTS
    if not file.startswith(root + os.sep):
        return LIBRARY
    parts = file[len(root) + 1 :].split(os.sep)
    folders = parts[1:-1] if parts[0] == "nodelint" else parts[:-1]
    return "/".join(folders[:2]) or parts[-1]


if __name__ == "__main__":
    json.dump(profile_run(sys.argv[1], sys.argv[2:]), sys.stdout)
