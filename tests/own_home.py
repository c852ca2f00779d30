"""A home, a cache and a configuration folder for the tests alone, and for all that they start.

What a developer keeps in `~/.cache/nodelint`, in `~/.config` or in the environment decides nothing here. To import
this sets the environment; `hold` refuses a child that would see another home.
"""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from typing import Any


def _take_memory() -> None:
    """Have temporary files in memory, where a folder for that is large and programs may run from it.

    Tests write some ten thousand small files and folders: on a disk these are a part of what a test costs.
    """
    if os.environ.get("TMPDIR") or not os.access(_IN_MEMORY, os.W_OK | os.X_OK):
        return
    there = os.statvfs(_IN_MEMORY)
    if there.f_bavail * there.f_frsize >= _ROOM and not there.f_flag & os.ST_NOEXEC:
        os.environ["TMPDIR"] = tempfile.tempdir = _IN_MEMORY


_IN_MEMORY, _ROOM = "/dev/shm", 2 << 30
_take_memory()

FOLDER = os.path.realpath(tempfile.mkdtemp(prefix="home-of-tests-"))
OF_THE_USER = os.path.expanduser("~")
"""The home of whoever runs the tests."""

_HOME = os.path.realpath(OF_THE_USER)  # it may stand below the folder of temporary files
_NAMES = {"HOME": "", "USERPROFILE": "", "XDG_CACHE_HOME": ".cache", "XDG_CONFIG_HOME": ".config"}
_started = subprocess.Popen.__init__


def hold(environment: Mapping[str, str]) -> None:
    """Raise AssertionError where a child with this environment would look into the home of whoever runs the tests."""
    for name in ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"):
        place = environment.get(name, OF_THE_USER if name == "HOME" else "")
        found = os.path.realpath(place)
        ours = found.startswith((FOLDER, os.path.realpath(tempfile.gettempdir()))) and found != _HOME
        assert ours or not place, f"a test starts the tool with {name}={place}: pass on the environment of the tests"


def _start(self: Any, args: Any, *more: Any, **options: Any) -> None:
    words = [args] if isinstance(args, str | bytes | os.PathLike) else args
    if any("nodelint" in os.fsdecode(word) for word in words):
        environment = options.get("env")
        hold(os.environ if environment is None else environment)
    _started(self, args, *more, **options)


def _take_own() -> None:
    for name in [name for name in os.environ if name.startswith(("NODELINT_", "AWS_"))]:
        del os.environ[name]
    for name, below in _NAMES.items():
        os.environ[name] = os.path.join(FOLDER, below) if below else FOLDER
    subprocess.Popen.__init__ = _start  # type: ignore[method-assign]
    owner = os.getpid()
    atexit.register(lambda: shutil.rmtree(FOLDER, ignore_errors=True) if os.getpid() == owner else None)


def _share_bytecode() -> None:
    """Have bytecode in the folder of the tests where Python is to write none: what they start is compiled once."""
    if sys.dont_write_bytecode:
        sys.dont_write_bytecode = False
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix = os.path.join(FOLDER, "bytecode")


_take_own()
_share_bytecode()
