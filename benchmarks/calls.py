"""Count the calls that some runs of nodelint make, and compare them with the record beside this file.

    python benchmarks/calls.py [--record] [--at-most 5]

A call is one of a function of the project or of a rule, or one that such a function makes of Python's own. The number
does not hang on the machine or its load, so that a rule that costs a run 5 % more is seen where it is added. It does
hang on the version of Python: a version that the record lacks is compared with nothing. With `--record` the counts
become the record. Ends with code 1 where a run makes more calls than the record has, by more than `--at-most`
percent.
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
from collections.abc import Iterator
from pathlib import Path

import large_inputs
import run

RECORD = Path(__file__).with_suffix(".json")
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
JOB = ("check", "--jobs", "1")


def inputs(folder: Path) -> dict[str, tuple[str, ...]]:
    """Writes the files of the runs into a folder; what each run is called, and its arguments."""
    (folder / "pool.yaml").write_text(run.POOL, encoding="utf-8")
    empty = [folder / f"app-{n}.yaml" for n in range(10)]
    for n, path in enumerate(empty):
        path.write_text(run.DEPLOYMENT.format(n=n), encoding="utf-8")
    run.tree(folder / "tree", 660)
    run.pools(folder / "old", 20)
    run.pools(folder / "new", 20, changed=4)
    (folder / "objects.yaml").write_text("---\n".join(map(run.pair, range(40))), encoding="utf-8")
    made = {"findings": 120, "types": 1000, "comments": 400, "unknown_labels": 100}
    for name, size in made.items():
        (folder / name).mkdir()
        getattr(large_inputs, name)(folder / name, size)
    return {
        "one pair": (*JOB, "pool.yaml"),
        "ten files that hold nothing": (*JOB, *(path.name for path in empty)),
        "20 pairs among 660 files": (*JOB, "tree"),
        "20 pairs, strict": (*JOB, "--profile", "strict", "new"),
        "40 pairs in one file": (*JOB, "objects.yaml"),
        "120 findings": (*JOB, "findings"),
        "120 findings, as a diff": (*JOB, "--diff", "--unsafe-fixes", "findings"),
        "1,000 unknown types": (*JOB, "types"),
        "400 comments": (*JOB, "comments"),
        "100 unknown labels": (*JOB, "unknown_labels"),
        "plan of 20 pairs": ("plan", "--old", "old", "new"),
        "explain of 20 pairs": ("explain", "--format", "json", "new"),
        "fit of 10 workloads and 20 pairs": ("fit", "new", *(path.name for path in empty)),
    }


def count(arguments: list[str]) -> int:
    """The calls of one run in this process."""
    from nodelint import __main__ as program
    from nodelint.data import shipped

    own = (str(Path(program.__file__).parent) + os.sep, shipped("rules"))
    sys.argv = ["nodelint", *arguments]
    profile = cProfile.Profile()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        profile.enable()
        with contextlib.suppress(SystemExit):
            program._call()
        profile.disable()
    calls = 0
    for entry in profile.getstats():  # type: ignore[attr-defined]
        if not isinstance(entry.code, str) and entry.code.co_filename.startswith(own):
            calls += entry.callcount
            calls += sum(other.callcount for other in entry.calls or () if isinstance(other.code, str))
    return calls


def counts() -> Iterator[tuple[str, int]]:
    """Each run by its name, with its calls, made in a process of its own."""
    with tempfile.TemporaryDirectory() as name:
        for work, arguments in inputs(Path(name)).items():
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
        print(count(sys.argv[2:]))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", action="store_true", help="Make the counts the record.")
    parser.add_argument("--at-most", type=float, default=5, help="Percent above the record that are let pass.")
    options = parser.parse_args()
    record = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
    known = record.get(PYTHON, {})
    found = {}
    print(f"| work | calls, Python {PYTHON} | record | change |\n| --- | ---: | ---: | ---: |", flush=True)
    for work, calls in counts():
        found[work] = calls
        before = known.get(work)
        change = "" if before is None else f"{(calls / before - 1) * 100:+.1f} %"
        print(f"| {work} | {calls:,} | {'' if before is None else f'{before:,}'} | {change} |", flush=True)
    if options.record:
        RECORD.write_text(json.dumps({**record, PYTHON: found}, indent=2) + "\n", encoding="utf-8")
        return
    more = [work for work, calls in found.items() if calls > known.get(work, calls) * (1 + options.at_most / 100)]
    if more:
        raise SystemExit(f"more calls than the record has: {', '.join(more)}; `--record` where they are worth it")


if __name__ == "__main__":
    main()
