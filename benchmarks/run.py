"""Time nodelint beside tools that everybody has, and beside itself as it was at a revision.

    python benchmarks/run.py                                what it takes, and the ratio to other tools
    python benchmarks/run.py --against origin/main          what a change costs: now, then, and now / then
    python benchmarks/run.py --against v0.1.0 --instructions --large      all that is measured: an hour
    python benchmarks/run.py --only plan --runs 3           one row, quickly
    python benchmarks/run.py --profile --against HEAD~5     which folders of the code the time goes to

A row is a piece of work. Its commands (nodelint now, nodelint then, the other tool) are whole processes, run in
turn. It shows the least CPU time of each (user and system, with its children), or of a clock where it says so. CPU
is that of one process (NODELINT_JOBS=1) but where it says two. `ratio` is nodelint / the other tool, `now / then`
that of both trees, `at most` the ratio to stay below. Trust a ratio where the load was below 0.5 before and about 1
after, and instructions anywhere. Where a revision does not know a command, its cell says so.

kubeconform and yamllint are compared with where they are installed. With `--large` two more tables follow: how time
and memory grow with inputs of thousands of findings, values, labels, comments and globs (`large_inputs.py`), and the
language server from a key to the diagnostics (`language_server.py`). That takes a quarter of an hour for each tree.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import inputs
import language_server
import large_inputs
import rooms
from measures import (
    Command,
    TooSlow,
    Unable,
    Usage,
    count_instructions,
    format_count,
    measure_in_turn,
    require_valgrind,
)
from trees import Tree, add_against, describe_load, describe_run, lay_out_trees, make_environment

COUNTED = 10_000
"""Milliseconds of CPU up to which instructions are counted: to count them takes fifty times as long."""


class Tool(NamedTuple):
    """What a row compares with: another program, or with `is_nodelint` other arguments of nodelint."""

    name: str
    words: tuple[str, ...]
    is_nodelint: bool = False


class Row(NamedTuple):
    """A piece of work: nodelint's arguments, the tool beside it, and the ratio to stay below."""

    work: str
    arguments: tuple[str, ...]
    tool: Tool | None = None
    at_most: float | None = None
    processes: int = 1
    by_clock: bool = False


class Measured(NamedTuple):
    """nodelint's command of each tree with what it takes, and what the other commands take."""

    commands: list[Command]
    ours: list[Usage | Unable]
    theirs: list[Usage | Unable]


def scale_size(size: int, scale: float) -> int:
    """A size of an input, made smaller or larger."""
    return max(1, round(size * scale))


def list_short_runs(folder: Path) -> Iterator[Row]:
    """Runs over one pair, and over files that hold none."""
    pool, facts, regions = folder / "pool.yaml", folder / "one.json", folder / "regions.json"
    inputs.write_text(pool, inputs.POOL)
    inputs.write_text(facts, inputs.make_snapshot())
    inputs.write_text(regions, inputs.make_snapshot(96))
    empty = inputs.write_deployments(folder / "empty", 10)
    nothing = Tool("python -c pass", (sys.executable, "-c", "pass"))
    yield Row("ten files that hold nothing, as a hook", ("check", "--", *empty), nothing, 1.4)
    yamllint = find_yamllint(pool)
    with_facts = ("check", "--snapshot", str(facts), str(pool))
    yield Row("one pair, cold", ("check", str(pool)), yamllint, 0.85)
    yield Row("the same with a snapshot", with_facts, yamllint)
    east = ("check", "--snapshot", str(regions), "--region", "us-east-1", str(pool))
    yield Row("the same with 96 regions", east, Tool("with one", with_facts, is_nodelint=True), 1.2)


def find_yamllint(place: Path) -> Tool | None:
    """yamllint over some files, where it is installed."""
    if find_spec("yamllint") is None:
        return None
    return Tool("yamllint -d relaxed", (sys.executable, "-m", "yamllint", "-d", "relaxed", str(place)))


def list_runs_over_pairs(folder: Path, scale: float) -> Iterator[Row]:
    """Runs over many pairs, and the commands that do more with them than `check`."""
    count, workloads, fleet = scale_size(300, scale), scale_size(200, scale), scale_size(20, scale)
    of_tree, objects = inputs.count_pairs(scale_size(10_000, scale)), 2 * scale_size(4000, scale)
    inputs.write_pairs(folder / "pairs", of_tree)
    inputs.write_pairs(folder / "old", count)
    inputs.write_pairs(folder / "new", count, changed=count // 10)
    inputs.write_pairs(folder / "fleet", fleet)
    inputs.write_workloads(folder / "apps", workloads)
    many, few = folder / "objects.yaml", folder / "fewer.yaml"
    inputs.write_stream_of_pairs(many, objects // 2)
    inputs.write_stream_of_pairs(few, max(1, objects // 20))
    pairs, new = str(folder / "pairs"), str(folder / "new")
    both = (str(folder / "fleet"), str(folder / "apps"))
    check = Tool("its check", ("check", new), is_nodelint=True)
    yield Row(f"{of_tree} pairs", ("check", pairs), find_yamllint(folder / "pairs"), 0.28)
    yield Row(f"{count} pairs, strict", ("check", "--profile", "strict", new), check._replace(name="default"), 1.3)
    changed = f"plan of {count} pairs, {count // 10} changed"
    yield Row(changed, ("plan", "--old", str(folder / "old"), new), check, 1.4)
    yield Row(f"explain of {count} pairs, as JSON", ("explain", "--format", "json", new), check, 1.0)
    fit = f"fit of {workloads} workloads and {fleet} pairs"
    yield Row(fit, ("fit", *both), Tool("its check", ("check", *both), is_nodelint=True), 2.0)
    tenth = Tool(f"{max(1, objects // 20) * 2:,}", ("check", str(few)), is_nodelint=True)
    yield Row(f"{objects:,} objects in one file", ("check", str(many)), tenth, 10.0)


def list_runs_over_a_tree(folder: Path, scale: float) -> Iterator[Row]:
    """Runs over many files of which few hold a pair."""
    files, tree = scale_size(10_000, scale), folder / "tree"
    inputs.write_tree(tree, files)
    grep = Tool("grep -rlE", ("grep", "-rlE", r"karpenter\.(sh|k8s\.aws)", str(tree)))
    work, check = f"{files:,} files, of which {inputs.count_pairs(files)} hold a pair", ("check", str(tree))
    yield Row(work, check, grep, 9.0)
    yield Row(f"{work}, two processes, by the clock", check, grep, 6.0, processes=2, by_clock=True)
    if shutil.which("kubeconform"):
        kubeconform = Tool("kubeconform", ("kubeconform", "-ignore-missing-schemas", str(tree)))
        yield Row(work, check, kubeconform, 1.0)


def list_runs_over_a_stream(folder: Path, scale: float) -> Iterator[Row]:
    """Runs over one large file."""
    megabytes, place = scale_size(200, scale), folder / "stream"
    place.mkdir()
    large_inputs.write_stream(place, megabytes)
    path = str(place / "stream.yaml")
    # Where nobody takes the number, grep stops at the first line.
    grep = Tool("grep -c", ("sh", "-c", 'grep -c karpenter "$0" | cat', path))
    yield Row(f"a stream of {megabytes} MB with 20 pools", ("check", path), grep, 6.0)


def list_rows(folder: Path, scale: float) -> Iterator[Row]:
    """All rows of the table; the files of a row are written before it comes."""
    return chain(
        list_short_runs(folder),
        list_runs_over_pairs(folder, scale),
        list_runs_over_a_tree(folder, scale),
        list_runs_over_a_stream(folder, scale),
    )


def format_head(trees: Sequence[Tree], with_instructions: bool) -> str:
    """The names of the table's columns."""
    if len(trees) == 1:
        columns = ["work", "nodelint", "beside", "ratio", "at most"]
        counts = ["instructions"]
    else:
        columns = ["work", "now", "then", "now / then", "beside", "ratio now", "ratio then", "at most"]
        counts = ["instructions now", "instructions then", "now / then"]
    columns += counts if with_instructions else []
    return f"| {' | '.join(columns)} |\n| --- |{' ---: |' * (len(columns) - 1)}"


def measure_row(row: Row, trees: Sequence[Tree], runs: int, environment: dict[str, str]) -> Measured:
    """What the commands of a row take.

    Raises SystemExit where nodelint as it is now, or the other tool, cannot do the work: that row says nothing.
    """
    ours = [tree.command(*row.arguments, processes=row.processes) for tree in trees]
    theirs: list[Command] = []
    if row.tool is not None and row.tool.is_nodelint:  # each tree is compared with itself
        theirs = [tree.command(*row.tool.words, processes=row.processes) for tree in trees]
    elif row.tool is not None:
        theirs = [Command(row.tool.words, environment)]
    taken = measure_in_turn([*ours, *theirs], runs)
    for command, usage in ((ours[0], taken[0]), *zip(theirs[:1], taken[len(ours) :], strict=False)):
        if isinstance(usage, Unable) and not isinstance(usage, TooSlow):
            raise SystemExit(f"{' '.join(command.words)} {usage}")
    return Measured(ours, taken[: len(ours)], taken[len(ours) :])


def format_row(row: Row, measured: Measured, with_instructions: bool) -> str:
    """The line of the table."""
    ours, theirs = ([read_time(row, usage) for usage in taken] for taken in measured[1:])
    cells = [row.work, *map(format_time, ours)]
    if len(ours) > 1:
        cells.append(format_ratio(*ours))
    cells.append(f"{row.tool.name}: {format_time(theirs[0])}" if row.tool is not None else "")
    cells += [format_ratio(time, theirs[min(n, len(theirs) - 1)]) if theirs else "" for n, time in enumerate(ours)]
    cells.append(f"{row.at_most:g}" if row.at_most is not None and theirs else "")
    if with_instructions:
        counts = [count_affordable(*run) for run in zip(measured.commands, measured.ours, strict=True)]
        cells += [format_count(count) if isinstance(count, int) else count for count in counts]
        if len(counts) > 1:
            cells.append(format_ratio(*counts))
    return f"| {' | '.join(cells)} |"


def read_time(row: Row, usage: Usage | Unable) -> float | str:
    """The milliseconds that count for a row, or why there are none."""
    if isinstance(usage, Unable):
        return str(usage).replace("|", "/")
    return usage.clock if row.by_clock else usage.cpu


def format_time(time: float | str) -> str:
    return time if isinstance(time, str) else f"{time:,.0f} ms"


def format_ratio(measure: float | str, other: float | str) -> str:
    """The ratio of two measures; nothing where there is only one."""
    return "" if isinstance(measure, str) or isinstance(other, str) else f"{measure / other:.2f}"


def count_affordable(command: Command, usage: Usage | Unable) -> int | str:
    """The instructions of a command that can do its work and does not take long; else why they are not counted."""
    if isinstance(usage, Unable) or usage.cpu > COUNTED:
        return "not counted"
    try:
        return count_instructions(command)
    except Unable as reason:
        return str(reason).replace("|", "/")


def parse_options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_against(parser)
    parser.add_argument("--instructions", action="store_true", help="Count instructions, too; needs valgrind.")
    parser.add_argument(
        "--profile", action="store_true", help="Print where the time of the pairs goes, and no table."
    )
    parser.add_argument(
        "--large", action="store_true", help="Print the tables of large inputs and of the editor, too."
    )
    parser.add_argument("--only", default="", metavar="WORD", help="Rows whose work holds this word.")
    parser.add_argument("--runs", type=int, default=7, help="Runs of each command, but for what takes minutes.")
    parser.add_argument("--scale", type=float, default=1.0, help="Size of the inputs: 0.1 for a tenth of each.")
    return parser.parse_args(arguments)


def main() -> None:
    """Print what was asked for."""
    options = parse_options()
    if options.instructions:
        require_valgrind()
    with lay_out_trees(options.against) as trees, tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        os.chdir(folder)
        print(f"{describe_run(trees)}\n", flush=True)
        if options.profile:
            inputs.write_pairs(folder / "pairs", inputs.count_pairs(scale_size(10_000, options.scale)))
            rooms.print_profile(trees, ("check", str(folder / "pairs")))
        else:
            print(format_head(trees, options.instructions), flush=True)
            environment = make_environment(folder)
            for row in list_rows(folder, options.scale):
                if options.only in row.work:
                    measured = measure_row(row, trees, options.runs, environment)
                    print(format_row(row, measured, options.instructions), flush=True)
        if options.large:
            print()
            large_inputs.print_table(trees, scale=options.scale)
            language_server.print_tables(trees)
        print(f"\nload {describe_load()} after")
        os.chdir("/")


if __name__ == "__main__":
    main()
