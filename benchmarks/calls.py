"""Count the calls that some runs of nodelint make, and compare them with the record beside this file.

    python benchmarks/calls.py                              what a change costs
    python benchmarks/calls.py --only chart                 the runs whose name holds a word
    python benchmarks/calls.py --record [--only chart]      make the counts of these runs the record

A call is one of a function of the project or of a rule, or one that such a function makes of Python's own. The number
does not hang on the machine or its load, so that a rule that costs a run 5 % more is seen where it is added. It does
hang on the version of Python: a version that the record lacks is compared with nothing. Ends with code 1 where a run
makes more calls than the record has, by more than `--at-most` percent.
"""

from __future__ import annotations

import argparse
import contextlib
import cProfile
import io
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import inputs
import large_inputs

RECORD = Path(__file__).with_suffix(".json")
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
JOB = ("check", "--jobs", "1")


def write_inputs(folder: Path) -> dict[str, tuple[str, ...]]:
    """Writes the files of the runs into a folder; what each run is called, and its arguments."""
    inputs.write_text(folder / "pool.yaml", inputs.POOL)
    empty = [Path(path).name for path in inputs.write_deployments(folder, 10)]
    inputs.write_tree(folder / "tree", 660)
    inputs.write_pairs(folder / "old", 20)
    inputs.write_pairs(folder / "new", 20, changed=4)
    inputs.write_stream_of_pairs(folder / "objects.yaml", 40)
    inputs.write_stream_of_pairs(folder / "editor" / "objects.yaml", 40)
    inputs.write_overlay(folder / "around", 20)
    inputs.write_stream_of_pairs(folder / "around" / "objects.yaml", 2)
    inputs.write_overlay(folder / "overlays", 20)
    inputs.write_chart(folder / "chart", 20)
    inputs.write_terraform(folder / "terraform", 10)
    for name in ("findings", "types", "comments", "labels"):
        (folder / name).mkdir()
    large_inputs.write_findings(folder / "findings", 120)
    large_inputs.write_types(folder / "types", 1000)
    large_inputs.write_comments(folder / "comments", 400)
    large_inputs.write_unknown_labels(folder / "labels", 100)
    return {
        "one pair": (*JOB, "pool.yaml"),
        "ten files that hold nothing": (*JOB, *empty),
        "20 pairs among 660 files": (*JOB, "tree"),
        "20 pairs, strict": (*JOB, "--profile", "strict", "new"),
        "40 pairs in one file": (*JOB, "objects.yaml"),
        "120 findings": (*JOB, "findings"),
        "120 findings, as a diff": (*JOB, "--diff", "--unsafe-fixes", "findings"),
        "1,000 unknown types": (*JOB, "types"),
        "400 comments": (*JOB, "comments"),
        "100 unknown labels": (*JOB, "labels"),
        "plan of 20 pairs": ("plan", "--old", "old", "new"),
        "explain of 20 pairs": ("explain", "--format", "json", "new"),
        "fit of 10 workloads and 20 pairs": ("fit", "new", *empty),
        "an overlay of 20 pairs": (*JOB, "overlays"),
        "a chart of 20 pairs": (*JOB, "chart"),
        "10 pairs in Terraform": (*JOB, "terraform"),
        "three edits among 40 pairs, in an editor": ("lsp", "editor/objects.yaml"),
        "three edits beside an overlay of 20 pairs": ("lsp", "around/objects.yaml"),
    }


def run_command(arguments: list[str]) -> None:
    """One run of the command, without the end of its process."""
    from nodelint import __main__ as program

    sys.argv = ["nodelint", *arguments]
    with contextlib.suppress(SystemExit):
        program._call()


def prepare_edits(path: Path) -> Callable[[], None]:
    """Open a text as the language server does; what then changes it three times, with its diagnostics each time.

    The server itself would do so on two threads, and skip what is typed over in time.
    """
    from lsprotocol import types

    from nodelint.lsp.buffers import Buffer, State
    from nodelint.lsp.diagnostics import diagnostics
    from nodelint.lsp.positions import changed
    from nodelint.lsp.project import Project

    project = Project(lambda: datetime(2026, 9, 20, tzinfo=UTC))

    def show(buffer: Buffer, number: int) -> None:
        for view in project.views(State({buffer.uri: buffer}, (str(path.parent),), number, 1)):
            for shown in view.buffers:
                diagnostics(view, shown)

    buffer = Buffer(path.as_uri(), 1, path.read_text(encoding="utf-8"), "utf-16")
    show(buffer, 1)
    limits = [n for n, line in enumerate(buffer.text.split("\n")) if line.startswith("    cpu:")]
    place = types.Position(limits[len(limits) // 2], 0)

    def edit(before: Buffer = buffer) -> None:
        for number, text in ((2, "    memory: 1Gi\n"), (3, "    # a comment\n"), (4, "    pods: x\n")):
            change = types.TextDocumentContentChangePartial(range=types.Range(place, place), text=text)
            lines = changed(before.lines, [change], before.encoding)
            buffer = Buffer(before.uri, number, lines.text, before.encoding)
            buffer.take_lines(lines)
            show(buffer, number)
            before = buffer

    return edit


def count_calls(arguments: list[str]) -> int:
    """The calls of one run in this process."""
    from nodelint import __main__ as program
    from nodelint.data import shipped

    own = (str(Path(program.__file__).parent) + os.sep, shipped("rules"))
    run: Callable[[], None] = lambda: run_command(arguments)  # noqa: E731
    if arguments[0] == "lsp":
        run = prepare_edits(Path(arguments[1]).resolve())
    profile = cProfile.Profile()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        profile.enable()
        run()
        profile.disable()
    calls = 0
    for entry in profile.getstats():
        if not isinstance(entry.code, str) and entry.code.co_filename.startswith(own):
            calls += entry.callcount
            calls += sum(other.callcount for other in entry.calls or () if isinstance(other.code, str))
    return calls


def count_all(word: str) -> Iterator[tuple[str, int]]:
    """Each run whose name holds a word, with its calls, made in a process of its own."""
    with tempfile.TemporaryDirectory() as name:
        for work, arguments in write_inputs(Path(name)).items():
            if word not in work:
                continue
            command = [sys.executable, str(Path(__file__).resolve()), "--count", *arguments]
            done = subprocess.run(
                command, cwd=name, env={**os.environ, "PYTHONHASHSEED": "0"}, capture_output=True, text=True
            )
            if done.returncode or not done.stdout.strip().isdigit():
                raise SystemExit(f"{work}: {done.stderr.strip() or done.stdout}")
            yield work, int(done.stdout)


def main() -> None:
    """Print the table, or write the record."""
    if sys.argv[1:2] == ["--count"]:
        print(count_calls(sys.argv[2:]))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", action="store_true", help="Make the counts the record.")
    parser.add_argument(
        "--only", default="", metavar="WORD", help="Runs whose name holds this word; no other's record changes."
    )
    parser.add_argument(
        "--at-most", type=float, default=5, metavar="PERCENT", help="What is let pass above the record."
    )
    options = parser.parse_args()
    record = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
    known = record.get(PYTHON, {})
    found = {}
    print(f"| work | calls, Python {PYTHON} | record | change |\n| --- | ---: | ---: | ---: |", flush=True)
    for work, calls in count_all(options.only):
        found[work] = calls
        before = known.get(work)
        change = "" if before is None else f"{(calls / before - 1) * 100:+.1f} %"
        print(f"| {work} | {calls:,} | {'' if before is None else f'{before:,}'} | {change} |", flush=True)
    if options.record:
        counts = {**known, **found} if options.only else found
        RECORD.write_text(json.dumps({**record, PYTHON: counts}, indent=2) + "\n", encoding="utf-8")
        return
    more = [work for work, calls in found.items() if calls > known.get(work, calls) * (1 + options.at_most / 100)]
    if more:
        raise SystemExit(f"more calls than the record has: {', '.join(more)}; `--record` where they are worth it")


if __name__ == "__main__":
    main()
