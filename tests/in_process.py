"""The command within the process of the tests: no start of Python, no fork, and nothing left behind.

A call has arguments, a working directory, an environment and streams of its own, as files below the numbers 0 to 2,
so that programs that it starts write there, too. What calls cache of files and of the time is forgotten after each.
What needs a process (a signal, a limit, an end) is for `tests.forked`; what a start of Python decides (encodings,
flags) needs a Python: `run` starts one where the environment of a call has a variable of its own that Python reads.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from subprocess import CompletedProcess
from typing import IO, Any, NoReturn

from tests.forked import PATIENCE, decided_by_a_start, forget, start
from tests.own_home import hold


class _Left(BaseException):
    """The command has ended its process."""


def run(
    args: Sequence[str], cwd: Path, env: Mapping[str, str], stdin: str | None = None, *, merged: bool = False
) -> CompletedProcess[str]:
    """Like `subprocess.run` of `python -m nodelint` with these arguments; `merged` as with `stderr=STDOUT`."""
    hold(env)
    if decided_by_a_start(env):
        assert not merged
        return start(args, cwd, env, stdin)
    with ExitStack() as until:
        given, out, err = (until.enter_context(tempfile.TemporaryFile()) for _ in range(3))
        given.write((stdin or "").encode())
        given.seek(0)
        code = call(args, cwd, env, [file.fileno() for file in (given, out, out if merged else err)])
        return CompletedProcess(["nodelint", *args], code, _text(out), _text(err))


def call(args: Sequence[str], cwd: Path, env: Mapping[str, str], files: Sequence[int]) -> int:
    """The exit code of a call whose standard streams are these files."""
    from nodelint.__main__ import main

    with _streams(files), _surroundings(args, cwd, env):
        try:
            main()
        except _Left as ended:
            return int(ended.args[0])
    raise AssertionError("the command came back")


def _text(file: IO[bytes]) -> str:
    """What was written, with the ends of lines that a pipe of text has."""
    file.seek(0)
    return file.read().decode().replace("\r\n", "\n").replace("\r", "\n")


@contextmanager
def _streams(files: Sequence[int]) -> Iterator[None]:
    before = sys.stdin, sys.stdout, sys.stderr
    for stream in before[1:]:
        stream.flush()
    saved = [os.dup(number) for number in range(3)]
    for number, file in enumerate(files):
        os.dup2(file, number)
    try:
        with ExitStack() as until:
            made = [until.enter_context(open(n, mode, closefd=False)) for n, mode in enumerate("rww")]
            sys.stdin, sys.stdout, sys.stderr = made
            yield
    finally:
        sys.stdin, sys.stdout, sys.stderr = before
        for number, copy in enumerate(saved):
            os.dup2(copy, number)
            os.close(copy)


@contextmanager
def _surroundings(args: Sequence[str], cwd: Path, env: Mapping[str, str]) -> Iterator[None]:
    """What a process has beside its streams."""
    process, leave, folder, argv = os.getpid(), os._exit, os.getcwd(), sys.argv
    finders = list(sys.meta_path)
    environment, thresholds, interrupted = dict(os.environ), gc.get_threshold(), signal.getsignal(signal.SIGINT)

    def left(code: int) -> NoReturn:
        if os.getpid() != process:  # a fork of the call
            leave(code)
        raise _Left(code)

    def stopped(*_: Any) -> NoReturn:
        raise TimeoutError(f"nodelint {' '.join(args)}: no end in {PATIENCE} seconds")

    os._exit = left  # type: ignore[assignment]
    sys.argv = ["nodelint", *args]
    _take_environment(env)
    alarm = signal.signal(signal.SIGALRM, stopped)
    signal.alarm(PATIENCE)
    try:
        os.chdir(cwd)
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, alarm)
        signal.signal(signal.SIGINT, interrupted)
        os._exit = leave
        sys.argv = argv
        sys.meta_path[:] = finders
        _take_environment(environment)
        with suppress(OSError):
            os.chdir(folder)
        gc.set_threshold(*thresholds)
        forget()


def _take_environment(wanted: Mapping[str, str]) -> None:
    """Make an environment that of the process. Most variables of two calls are the same, and setting one costs."""
    for name in [name for name in os.environ if name not in wanted]:
        del os.environ[name]
    for name, value in wanted.items():
        if os.environ.get(name) != value:
            os.environ[name] = value
