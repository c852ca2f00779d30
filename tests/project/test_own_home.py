"""No test, and nothing that one starts, looks into the home of whoever runs it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests import in_process, own_home
from tests.conftest import ROOT
from tests.forked import Command, start

_PLACES = "import os; from nodelint.ec2 import cache; print(os.path.expanduser('~'), cache._home())"


def test_the_tests_have_a_home_a_cache_and_a_configuration_of_their_own() -> None:
    for place in ("~", "$XDG_CACHE_HOME", "$XDG_CONFIG_HOME"):
        found = os.path.realpath(os.path.expandvars(os.path.expanduser(place)))
        assert found.startswith(own_home.FOLDER)
    assert not [name for name in os.environ if name.startswith(("NODELINT_", "AWS_"))]
    done = subprocess.run([sys.executable, "-c", _PLACES], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [own_home.FOLDER, os.path.join(own_home.FOLDER, ".cache", "nodelint")]


@pytest.mark.parametrize("name", ["HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"])
@pytest.mark.parametrize(
    "run",
    [
        lambda env, folder: in_process.run(["--version"], folder, env),
        lambda env, folder: start(["--version"], folder, env, None),
        lambda env, folder: Command().run(("--version",), folder, env),
        lambda env, folder: subprocess.run([sys.executable, "-m", "nodelint", "--version"], env=env, check=False),
    ],
    ids=["in process", "start", "forked", "subprocess"],
)
def test_a_test_that_starts_the_tool_in_the_home_of_the_user_fails(
    tmp_path: Path, run: Callable[[Mapping[str, str], Path], object], name: str
) -> None:
    with pytest.raises(AssertionError, match=f"a test starts the tool with {name}="):
        run({**os.environ, name: own_home.OF_THE_USER}, tmp_path)


def test_a_test_that_starts_the_tool_without_a_home_fails() -> None:
    """Python then takes that of the user from the list of accounts."""
    with pytest.raises(AssertionError, match="HOME="):
        own_home.hold({"PATH": "/usr/bin"})
