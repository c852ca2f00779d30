"""Objects shared among processes: the same is said in the same order, whatever becomes of a process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nodelint.lint import workers
from nodelint.lint.engine import LintRequest, Report, Target, lint
from nodelint.model.documents import objects
from nodelint.model.releases import NEWEST
from nodelint.rule.definition import Rule
from nodelint.text import Node, Source
from tests.conftest import ROOT
from tests.manifests import nodepool

Run = Callable[..., subprocess.CompletedProcess[str]]

POOL = nodepool("key: kubernetes.io/arch, operator: In, values: [x86_64]", name="pool%s")

pytestmark = pytest.mark.skipif(not hasattr(os, "fork") or sys.platform == "darwin", reason="needs fork")


@pytest.fixture(autouse=True)
def one_at_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "_FIRST", 1)


def pools(count: int) -> list[Source]:
    return [Source.from_text(f"pool{n}.yaml", POOL % n) for n in range(count)]


def names_of(sources: list[Source]) -> workers.Names:
    return workers.Names([obj for source in sources for obj in objects(source)], sources)


def report_content(report: Report) -> list[Any]:
    return [
        *((r.rule.name, r.finding, r.object, r.holds, r.on) for r in report.results),
        *report.skipped,
        *report.faults,
        *report.objects,
    ]


@pytest.mark.parametrize("folder", ["tests/trees", "examples"])
def test_several_processes_say_what_one_says(folder: str, rules: dict[str, Rule]) -> None:
    paths = sorted(path for path in (ROOT / folder).rglob("*.y*ml") if path.is_file())
    sources = [Source.from_bytes(str(path), path.read_bytes()) for path in paths]
    reports = [lint(sources, LintRequest(Target(NEWEST), rules), jobs=jobs) for jobs in (1, 2, 5)]
    assert reports[0].results
    assert report_content(reports[0]) == report_content(reports[1]) == report_content(reports[2]), (
        "nodes and objects are the very same ones"
    )


def test_nodes_are_the_same_ones_again() -> None:
    sources = pools(6)
    requested = [obj for source in sources for obj in objects(source)]

    def judge(obj: Any) -> list[Any]:
        return [obj, obj.source, *obj.node.walk(), os.getpid()]

    found = workers.shared(judge, requested, 3, names_of(sources))
    assert len({value[-1] for value in found}) == 3
    for first, other in zip(found, map(judge, requested), strict=True):
        assert all(a is b for a, b in zip(first[:-1], other[:-1], strict=True))


def test_what_cannot_be_sent_is_worked_out_here() -> None:
    sources = pools(4)
    requested = [obj for source in sources for obj in objects(source)]

    def judge(obj: Any) -> Any:
        made = Source.from_text("made.yaml", POOL % "made")
        root = made.documents[0].root
        strange: dict[str, Any] = {"pool0": 0, "pool1": made, "pool2": root, "pool3": lambda: 3}
        return os.getpid(), strange[obj.name]

    found = workers.shared(judge, requested, 2, names_of(sources))
    assert [pid for pid, _ in found] == [os.getpid()] * 4
    assert isinstance(found[1][1], Source) and isinstance(found[2][1], Node) and found[3][1]() == 3


@pytest.mark.parametrize("end", [lambda: os._exit(0), lambda: os.kill(os.getpid(), signal.SIGKILL), lambda: 1 / 0])
def test_a_process_that_ends_early_loses_nothing(end: Callable[[], Any]) -> None:
    here, sources = os.getpid(), pools(6)
    requested = [obj for source in sources for obj in objects(source)]

    def judge(obj: Any) -> str:
        if os.getpid() != here:
            end()
        return str(obj.name)

    assert workers.shared(judge, requested, 3, names_of(sources)) == [f"pool{n}" for n in range(6)]


def test_what_goes_wrong_here_ends_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    here, sources = os.getpid(), pools(6)
    children, fork = [], os.fork

    def noted() -> int:
        children.append(fork())
        return children[-1]

    monkeypatch.setattr(os, "fork", noted)
    requested = [obj for source in sources for obj in objects(source)]

    def judge(obj: Any) -> None:
        if os.getpid() != here:
            time.sleep(600)
        elif obj.name == "pool1":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        workers.shared(judge, requested, 2, names_of(sources))
    assert children
    for child in children:
        with pytest.raises(ChildProcessError):
            os.waitpid(child, os.WNOHANG)


def test_without_a_further_process_all_is_judged_here(monkeypatch: pytest.MonkeyPatch) -> None:
    sources = pools(30)
    requested = [obj for source in sources for obj in objects(source)]

    def refused() -> int:
        raise BlockingIOError("no process is left")

    monkeypatch.setattr(os, "fork", refused)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    assert workers.shared(lambda obj: obj.name, requested, 2, names_of(sources)) == [obj.name for obj in requested]
    assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == before


def test_how_many_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "cores", lambda: 4)
    few, many = workers.LEAST * 2 - 1, workers.LEAST * 9
    assert [workers.processes(None, count) for count in (0, few, few + 1, many)] == [1, 1, 2, 4]
    assert [workers.processes(3, count) for count in (0, 1, 2, many)] == [1, 1, 2, 3]
    monkeypatch.delattr(os, "fork")
    assert workers.processes(3, many) == workers.processes(None, many) == 1


def test_the_flag_and_the_variable(nodelint: Run, tmp_path: Path) -> None:
    for n in range(8):
        (tmp_path / f"pool{n}.yaml").write_text(POOL % n, encoding="utf-8")
    first = nodelint("check", "--jobs", "1")
    assert first.stdout.count("unknown-value") + first.stdout.count("pool") > 8
    for again in (nodelint("check", "--jobs", "3"), nodelint("check", env={"NODELINT_JOBS": "4"})):
        assert (again.stdout, again.stderr, again.returncode) == (first.stdout, first.stderr, first.returncode)
    for wrong in ("0", "many", "-1"):
        done = nodelint("check", env={"NODELINT_JOBS": wrong})
        assert (done.returncode, done.stderr) == (
            2,
            f"nodelint: --jobs: `{wrong}` is neither a number of processes, from 1 on, nor auto\n",
        )
