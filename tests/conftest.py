"""What the tests share: the rules, and a way to run the tool on texts and as a command."""

from __future__ import annotations

import gc
import os
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from nodelint.base.budget import RUN
from nodelint.files.gate import gate
from nodelint.lint.engine import LintRequest, Report, Selection, Target, lint
from nodelint.model.releases import NEWEST, KubernetesVersion, target
from nodelint.rule.definition import Rule, bundled, load
from nodelint.text import Source
from tests import in_process, own_home
from tests.ec2_front import front, register, server  # noqa: F401
from tests.forked import Command

ROOT = Path(__file__).parent.parent
assert os.path.expanduser("~") == own_home.FOLDER

# The default run tries the same few examples each time and has no deadline by wall time: it passes or fails by the
# code alone. `pytest --hypothesis-profile=long` looks for new ones.
settings.register_profile(
    "few", max_examples=20, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck)
)
settings.register_profile("long", settings.get_profile("few"), max_examples=1000, derandomize=False)
settings.load_profile("few")


def pytest_addoption(parser: pytest.Parser) -> None:
    about = "fail a test that takes more seconds of CPU than this and is not marked `slow`"
    parser.addoption("--cpu-budget", type=float, metavar="SECONDS", help=about)


def cpu_seconds() -> float:
    """Return the CPU time, in seconds, of this process and of those that it has waited for."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Give each test the budget of a whole run and no root of another one, as a process of its own has."""
    RUN.begin()
    gate.reset()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Hold a test to the budget of CPU time, where the run has one (`.ci/run tests`)."""
    before = cpu_seconds()
    yield
    budget = item.config.getoption("--cpu-budget")
    used = cpu_seconds() - before
    if budget is not None and used > budget and item.get_closest_marker("slow") is None:
        pytest.fail(f"takes {used:.1f} s of CPU; the budget is {budget:g} s: ask for less, or mark it `slow`", False)


def pytest_collection_finish() -> None:
    """What is loaded by now stays to the end: looking through it for garbage costs and finds nothing."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 20, 100)


def pytest_sessionfinish() -> None:
    """Nor is what is left then looked through, five times, by pytest."""
    gc.freeze()


@pytest.fixture(scope="session")
def rules() -> dict[str, Rule]:
    return load(bundled())


@pytest.fixture
def tmp_path(tmp_path: Path) -> Iterator[Path]:
    """A folder of the test alone, and so deep that none around it holds the folders of the other tests.

    Terraform's modules are looked for in the folders beside those above a file, up to the repository.
    """
    folder = tmp_path / "deep" / "in" / "folders"
    folder.mkdir(parents=True)
    gate.reset()
    gate.admit(str(folder))  # as for a command that names it: a command has roots of its own
    yield folder
    gate.reset()


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    (folder / ".git").mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def check(rules: dict[str, Rule]) -> Callable[..., Report]:
    """Judge texts, each a file: `check("...", karpenter="1.2.1", select=["pending-image"])`."""

    def run(
        *texts: str,
        karpenter: str | None = None,
        kubernetes: str | None = None,
        select: list[str] | None = None,
    ) -> Report:
        sources = [Source.from_text(f"{n}.yaml", text) for n, text in enumerate(texts)]
        aim = Target(
            target(karpenter) if karpenter else NEWEST,
            KubernetesVersion.parse(kubernetes) if kubernetes else None,
        )
        chosen = Selection(frozenset(select)) if select else Selection()
        return lint(sources, LintRequest(aim, rules, chosen))

    return run


@pytest.fixture(scope="session")
def forked() -> Iterator[Command]:
    """One server for all calls of the command."""
    command = Command()
    yield command
    command.close()


NOW = "2026-09-20T12:00:00Z"
"""The time of a run: the facts that come with nodelint are not old then."""


@pytest.fixture
def nodelint(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run the command as a user would, in an empty folder, with a cache of its own and no AWS account at hand."""
    ours = ("AWS_", "NODELINT_", "COLUMNS")
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(ours)}
    alone = {**inherited, "NODELINT_CACHE_DIR": str(tmp_path / ".cache"), "NODELINT_FAIL_ON_FAULT": "1"}
    alone["NODELINT_NOW"] = NOW

    def run(
        *args: str, stdin: str | None = None, cwd: Path = tmp_path, env: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        return in_process.run(args, cwd, {**alone, **(env or {})}, stdin)

    return run


def by_place(text: str) -> str:
    """Findings of the text format with the first line of each as `path:line:column: error[rule]: message`."""
    return re.sub(r"(?m)^( *)((?:error|warning|info)\[.*)\n *--> (\S.*)$", r"\1\3: \2", text)
