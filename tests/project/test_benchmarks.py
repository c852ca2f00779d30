"""The benchmarks run, say so where they cannot, and no run makes more calls than its record has. Nothing is timed."""

from __future__ import annotations

import importlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"

Load = Callable[[str], Any]


def run_benchmark(script: str, *arguments: str, path: str | None = None) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, **({} if path is None else {"PATH": path})}
    command = [sys.executable, str(BENCHMARKS / script), *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=env, cwd=BENCHMARKS.parent)


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Load:
    """Imports a module of the benchmarks, which are no package."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module


def make_tree(load: Load, folder: Path, code: str, name: str = "now") -> Any:
    """A tree whose `nodelint` is some lines of Python."""
    package = folder / name / "nodelint"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    lines = "".join(f"    {line}\n" for line in code.splitlines())
    (package / "__main__.py").write_text(f"import sys, time\ndef main():\n{lines}", encoding="utf-8")
    root = str(package.parent)
    return load("trees").Tree(name, "0123abcd", root, {**os.environ, "PYTHONPATH": root})


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


@pytest.mark.slow
def test_no_run_makes_more_calls_than_the_record_has() -> None:
    """Where a change is worth it, `benchmarks/calls.py --record` writes the new counts, for a reviewer to see."""
    if PYTHON not in json.loads((BENCHMARKS / "calls.json").read_text(encoding="utf-8")):
        pytest.skip(f"there is no record for Python {PYTHON}")
    done = run_benchmark("calls.py")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("%") == done.stdout.count("\n") - 2


def test_a_record_of_some_runs_leaves_the_others_alone(
    load: Load, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    calls, record = load("calls"), tmp_path / "calls.json"
    monkeypatch.setattr(calls, "RECORD", record)
    counts = {"one pair": 100, "a chart": 106}
    monkeypatch.setattr(calls, "count_all", lambda word: [(n, c) for n, c in counts.items() if word in n])

    def call(*arguments: str) -> None:
        monkeypatch.setattr(sys, "argv", ["calls.py", *arguments])
        calls.main()

    record.write_text(json.dumps({"3.0": {"x": 1}, PYTHON: {"one pair": 90, "a chart": 100}}), encoding="utf-8")
    with pytest.raises(SystemExit, match="more calls than the record has: one pair, a chart;"):
        call()
    with pytest.raises(SystemExit, match="more calls than the record has: a chart;"):
        call("--only", "chart")
    call("--at-most", "12")
    call("--record", "--only", "chart")
    assert json.loads(record.read_text()) == {"3.0": {"x": 1}, PYTHON: {"one pair": 90, "a chart": 106}}
    del counts["a chart"]
    call("--record")
    assert json.loads(record.read_text()) == {"3.0": {"x": 1}, PYTHON: {"one pair": 100}}


@pytest.mark.slow
def test_every_row_is_measured() -> None:
    done = run_benchmark("run.py", "--scale", "0.005", "--runs", "0")
    assert done.returncode == 0, done.stderr
    head, _, columns, _, *rows, _, foot = done.stdout.splitlines()
    assert re.fullmatch(r"now: .+; Python [\d.]+; \d+ cores?; load [\d.]+ before", head)
    assert re.fullmatch(r"load [\d.]+ after", foot)
    assert cells(columns) == ["work", "nodelint", "beside", "ratio", "at most"]
    assert all(re.fullmatch(r"[\d,]+ ms", cells(row)[1]) for row in rows)
    works = "\n".join(cells(row)[0] for row in rows)
    for word in ("hook", "one pair", "96 regions", "2 pairs", "strict", "plan", "fit", "explain", "40 objects"):
        assert word in works
    for word in ("50 files, of which 2 hold a pair", "two processes, by the clock", "1 MB"):
        assert word in works


needs_git = pytest.mark.skipif(
    shutil.which("git") is None or not (BENCHMARKS.parent / ".git").exists(), reason="no revisions here"
)


@pytest.mark.slow
@needs_git
def test_a_row_beside_a_revision() -> None:
    done = run_benchmark("run.py", "--scale", "0.005", "--runs", "0", "--only", "strict", "--against", "HEAD")
    assert done.returncode == 0, done.stderr
    head, _, columns, _, row, _, _ = done.stdout.splitlines()
    assert re.match(r"now: (\w{8})( with changes)?; then: \1; Python", head)
    assert len(cells(columns)) == len(cells(row))
    found = dict(zip(cells(columns), cells(row), strict=True))
    assert found.pop("work") == "2 pairs, strict" and found.pop("at most") == "1.3"
    assert re.fullmatch(r"default: [\d,]+ ms", found.pop("beside"))
    for name in ("now", "then"):
        assert re.fullmatch(r"[\d,]+ ms", found.pop(name))
    for name in ("now / then", "ratio now", "ratio then"):
        assert re.fullmatch(r"\d+\.\d\d", found.pop(name))
    assert not found


@needs_git
@pytest.mark.parametrize("script", ["run.py", "large_inputs.py", "language_server.py"])
def test_a_revision_that_there_is_not(script: str) -> None:
    done = run_benchmark(script, "--against", "no-such-revision")
    assert done.returncode == 1
    assert done.stderr.startswith("--against: there is no revision `no-such-revision` in ")
    assert not done.stdout


def test_instructions_without_valgrind(tmp_path: Path) -> None:
    done = run_benchmark("run.py", "--instructions", path=str(tmp_path))
    assert done.returncode == 1
    assert done.stderr.startswith("--instructions: valgrind is not installed (apt-get install valgrind")
    assert not done.stdout


def make_valgrind(folder: Path, report: str) -> None:
    """A program of the name that reports counts of instructions and runs nothing."""
    program = folder / "valgrind"
    program.write_text(f"#!/bin/sh\ncat >&2 <<'END'\n{report}\nEND\n", encoding="utf-8")
    program.chmod(0o755)


def test_instructions_are_those_of_all_processes(load: Load, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    measures = load("measures")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    command = measures.Command(("nodelint",), dict(os.environ))
    make_valgrind(tmp_path, "==7== I   refs:      1,000,000\nFound 2 I refs: 3\n==8== I refs: 500,000")
    assert measures.count_instructions(command) == 1_500_000
    make_valgrind(tmp_path, "==7== it broke")
    with pytest.raises(measures.Unable, match="counted nothing"):
        measures.count_instructions(command)


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (1_234_000, "1.23 M"),
        (87_650_000, "87.7 M"),
        (349_400_000, "349 M"),
        (999_400_000, "999 M"),
        (999_600_000, "1.00 G"),
        (3_031_000_000, "3.03 G"),
        (99_960_000_000, "100 G"),
    ],
)
def test_instructions_have_three_digits(load: Load, count: int, text: str) -> None:
    assert load("measures").format_count(count) == text


def format_measured(load: Load, row: Any, trees: list[Any], with_instructions: bool = False) -> list[str]:
    run = load("run")
    measured = run.measure_row(row, trees, 1, dict(os.environ))
    line = cells(run.format_row(row, measured, with_instructions))
    assert len(line) == len(cells(run.format_head(trees, with_instructions).splitlines()[0]))
    return line


UNKNOWN = "print(\"Error: No such command 'fit'.\", file=sys.stderr)\nsys.exit(2)"


def test_a_revision_that_lacks_the_command_says_so_in_its_row(
    load: Load, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    make_valgrind(tmp_path, "==7== I   refs:      5,000,000")
    run = load("run")
    trees = [make_tree(load, tmp_path, "pass"), make_tree(load, tmp_path, UNKNOWN, "then")]
    row = run.Row("fit", ("fit",), run.Tool("its check", ("check",), is_nodelint=True), 2.0)
    work, now, then, quotient, tool, *ratios, at_most, count, count_then, counts = format_measured(
        load, row, trees, with_instructions=True
    )
    assert (work, then, quotient, at_most) == ("fit", "ended with 2: Error: No such command 'fit'.", "", "2")
    assert now.endswith(" ms") and tool.startswith("its check: ") and tool.endswith(" ms")
    assert ratios[0] and not ratios[1]
    assert (count, count_then, counts) == ("5.00 M", "not counted", "")


def test_each_tree_is_compared_with_itself_where_the_tool_is_nodelint(load: Load, tmp_path: Path) -> None:
    run, usage = load("run"), load("measures").Usage
    trees = [make_tree(load, tmp_path, "pass"), make_tree(load, tmp_path, "pass", "then")]
    tool = run.Tool("its check", ("check",), is_nodelint=True)
    row = run.Row("plan", ("plan",), tool, 1.4)
    ours, theirs = [usage(1000.0, 600.0), usage(2000.0, 500.0)], [usage(500.0, 1.0), usage(4000.0, 2.0)]
    commands = [tree.command("plan") for tree in trees]
    line = cells(run.format_row(row, run.Measured(commands, ours, theirs), False))
    assert line == ["plan", "1,000 ms", "2,000 ms", "0.50", "its check: 500 ms", "2.00", "0.50", "1.4"]
    line = cells(run.format_row(row, run.Measured(commands, ours, theirs[:1]), False))
    assert line[5:7] == ["2.00", "4.00"]
    by_clock = row._replace(by_clock=True)
    assert cells(run.format_row(by_clock, run.Measured(commands, ours, theirs), False))[1:3] == ["600 ms", "500 ms"]
    measured = run.measure_row(row, trees, 1, {})
    assert (len(measured.ours), len(measured.theirs)) == (2, 2)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (UNKNOWN, r"ended with 2: Error: No such command 'fit'\."),
        ("import no_such_module", "ended with 1: ModuleNotFoundError: No module named 'no_such_module'"),
    ],
)
def test_a_command_of_now_that_cannot_do_its_work_ends_the_benchmark(
    load: Load, tmp_path: Path, code: str, message: str
) -> None:
    run, large = load("run"), load("large_inputs")
    tree = make_tree(load, tmp_path, code)
    with pytest.raises(SystemExit, match=message):
        run.measure_row(run.Row("fit", ("fit",)), [tree], 1, {})
    with pytest.raises(SystemExit, match=f"nodelint check {message}"):
        large.run_repeatedly(large.Case(3, large.write_findings), 3, 60, 1, tree)
    then = large.run_repeatedly(large.Case(3, large.write_findings), 3, 60, 1, tree._replace(name="then"))
    assert re.fullmatch(message, str(then))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("no-such-program",), "no-such-program could not be started: No such file or directory"),
        ((sys.executable, "-c", "raise SystemExit(3)"), "ended with 3"),
    ],
)
def test_another_tool_that_cannot_do_its_work_ends_the_benchmark(
    load: Load, tmp_path: Path, words: tuple[str, ...], message: str
) -> None:
    run, tree = load("run"), make_tree(load, tmp_path, "pass")
    with pytest.raises(SystemExit, match=message):
        run.measure_row(run.Row("x", ("check",), run.Tool("tool", words)), [tree], 1, dict(os.environ))


def test_a_command_that_takes_too_long_is_given_up(
    load: Load, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    measures, run, large = load("measures"), load("run"), load("large_inputs")
    tree = make_tree(load, tmp_path, "time.sleep(60)")
    monkeypatch.setattr(measures.measure, "__defaults__", (0.2,))
    work, time, *_ = format_measured(load, run.Row("x", ("check",)), [tree])
    assert (work, time) == ("x", "> 0.2 s")
    assert str(large.run_repeatedly(large.Case(3, large.write_findings), 3, 0.5, 1, tree)) == "> 0 s"


def test_the_first_turn_counts_only_where_it_is_the_last(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    measures = load("measures")
    times = iter([0.5, 0.5, 1.0, 7.0, 3.0, 4.0])
    monkeypatch.setattr(measures, "measure", lambda _: measures.Usage(next(times), 10.0))
    assert [usage.cpu for usage in measures.measure_in_turn(["a", "b"], 2)] == [1.0, 4.0]
    times = iter([9.0, 5.0])
    monkeypatch.setattr(measures, "MINUTE", -1)
    assert [usage.cpu for usage in measures.measure_in_turn(["a", "b"], 2)] == [9.0, 5.0]


def test_a_large_input_is_measured_and_its_growth_with_it(load: Load, tmp_path: Path) -> None:
    large = load("large_inputs")
    taken = large.run_case(large.Case(3, large.write_findings), 3, 60, make_tree(load, tmp_path, "sys.exit(1)"))
    assert taken.code == 1 and taken.seconds > 0 and taken.megabytes > 1
    half, whole, then = large.Taken(1.1, 30, 1), large.Taken(4.1, 40, 1), large.Taken(8.2, 50, 1)
    line = large.format_row("findings", (100, 200), [half, whole, then], 0.1)
    assert cells(line) == ["findings", "200", "1.10", "4.10", "8.20", "0.50", "2.00", "40", "1", "2", ""]
    unable = load("measures").Unable("> 120 s")
    line = large.format_row("findings", (100, 200), [half, whole, unable], 0.1)
    assert cells(line)[4:7] == ["> 120 s", "", "2.00"]
    line = large.format_row("findings", (100, 200), [half, unable], 0.1)
    assert cells(line)[2:7] == ["1.10", "> 120 s", "", "", ""]


def test_a_language_server_that_ends_is_said(load: Load, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    server = load("language_server")
    tree = make_tree(load, tmp_path, "sys.exit(2)", "then")
    server.print_tables([tree], [1], [0], 1, 60)
    assert capsys.readouterr().out.splitlines()[-1].split(maxsplit=1) == ["1", "the server has ended"]
    with pytest.raises(SystemExit, match="nodelint lsp: the server has ended"):
        server.print_tables([tree._replace(name="now")], [1], [0], 1, 60)


@pytest.mark.slow
def test_a_profile_names_the_rooms() -> None:
    done = run_benchmark("run.py", "--profile", "--scale", "0.005")
    assert done.returncode == 0, done.stderr
    rooms = {row[0]: row[1:] for row in map(cells, done.stdout.splitlines()[2:-2])}
    assert {"room", "imports", "apiserver", "rooms below 1 %", "all"} <= rooms.keys()
    assert rooms["all"][1] == "100.0%"
    shares = [float(row[1].rstrip("%")) for name, row in rooms.items() if row[1].endswith("%") and name != "all"]
    assert sum(shares) == pytest.approx(100, abs=2)


@pytest.mark.parametrize(
    ("file", "function", "room"),
    [
        ("/tree/nodelint/text/yaml/compose.py", "run", "text/yaml"),
        ("/tree/nodelint/text/yaml/deep/er.py", "run", "text/yaml"),
        ("/tree/nodelint/lint/engine.py", "lint", "lint"),
        ("/tree/nodelint/base/tuples.py", "_make", "base"),
        ("/tree/rules/no-image.py", "check", "rules"),
        ("/tree/nodelint/lint/engine.py", "<module>", "imports"),
        ("<frozen importlib._bootstrap>", "_find_and_load", "imports"),
        ("/usr/lib/python3/re.py", "compile", "Python and its packages"),
    ],
)
def test_a_function_belongs_to_the_room_of_its_file(load: Load, file: str, function: str, room: str) -> None:
    assert load("rooms").name_room(file, function, "/tree") == room


def test_a_tree_is_the_files_that_are_here(load: Load) -> None:
    trees = load("trees")
    with trees.lay_out_trees() as (tree,):
        done = subprocess.run(tree.command("--version").words, env=tree.environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        own = Path(BENCHMARKS.parent, "nodelint", "cli.py").read_bytes()
        assert Path(tree.root, "nodelint", "cli.py").read_bytes() == own
        command = [sys.executable, "-P", "-c", "import nodelint; print(nodelint.__file__)"]
        done = subprocess.run(command, env=tree.environment, capture_output=True, text=True)
        assert done.stdout.strip() == str(Path(tree.root, "nodelint", "__init__.py"))
    assert not Path(tree.root).exists()
