"""Measure whole processes: CPU time, the time of a clock, and instructions."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

MINUTE = 60
"""Seconds after which a row is run no further, however many runs are asked for."""

LIMIT = 120
"""Seconds of a clock after which a command is given up."""

_VALGRIND = ("valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null")
_REFERENCES = re.compile(r"^==\d+== I +refs: +([\d,]+)", re.M)


class Command(NamedTuple):
    """A program with its arguments, and the variables it runs with."""

    words: tuple[str, ...]
    environment: Mapping[str, str]


class Usage(NamedTuple):
    """What a run takes, its children included: milliseconds of CPU (user and system), and of a clock."""

    cpu: float
    clock: float


class Unable(Exception):
    """A command that cannot do its work, with the reason: what it takes says nothing."""


class TooSlow(Unable):
    """A command that was given up."""


def measure(command: Command, limit: float = LIMIT) -> Usage:
    """One run of a command. Raises Unable where it cannot do its work, TooSlow where it takes more than `limit` s."""
    program = shutil.which(command.words[0]) or command.words[0]
    with tempfile.TemporaryFile() as errors:
        streams = [
            (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
            (os.POSIX_SPAWN_DUP2, errors.fileno(), 2),
        ]
        start = time.perf_counter()
        try:  # in a group of its own, so that its children end with it
            child = os.posix_spawn(program, command.words, command.environment, file_actions=streams, setpgroup=0)
        except OSError as error:
            raise Unable(f"could not be started: {error.strerror}") from None
        timer = threading.Timer(limit, os.killpg, (child, signal.SIGKILL))
        timer.start()
        try:
            _, status, used = os.wait4(child, 0)
        except BaseException:
            os.killpg(child, signal.SIGKILL)
            raise
        finally:
            timer.cancel()
        clock = time.perf_counter() - start
        if clock > limit:
            raise TooSlow(f"> {limit:g} s")
        errors.seek(0)
        hold_to_exit_code(os.waitstatus_to_exitcode(status), errors.read().decode(errors="replace"))
    return Usage((used.ru_utime + used.ru_stime) * 1000, clock * 1000)


def hold_to_exit_code(code: int, errors: str) -> None:
    """Raise Unable for a run that could not do its work, with the last line that it printed on standard error.

    nodelint, grep and yamllint end with 0 or 1, as Python does where a module is missing.
    """
    if code not in (0, 1) or "Traceback (most recent call last)" in errors:
        raise Unable(": ".join([f"ended with {code}", *errors.strip().splitlines()[-1:]]))


def measure_in_turn(commands: Sequence[Command], runs: int) -> list[Usage | Unable]:
    """The least that each command takes: other work on the machine adds to a time, and takes nothing away.

    The commands are run in turn, so that a change of the machine's pace meets all of them. The first turn compiles
    modules and fills the caches of files; it counts only where nothing follows it, after MINUTE. A command that is
    unable in one turn is left out of the next.
    """
    usages: list[list[Usage]] = [[] for _ in commands]
    failures: dict[int, Unable] = {}
    start = time.monotonic()
    for turn in range(runs + 1):
        if turn and time.monotonic() - start > MINUTE:
            break
        for number, command in enumerate(commands):
            if number not in failures:
                try:
                    usages[number].append(measure(command))
                except Unable as reason:
                    failures[number] = reason
    return [failures.get(number) or find_least(taken[1:] or taken) for number, taken in enumerate(usages)]


def find_least(usages: Sequence[Usage]) -> Usage:
    """The least of each measure."""
    return Usage(min(usage.cpu for usage in usages), min(usage.clock for usage in usages))


def require_valgrind() -> None:
    """Raise SystemExit where instructions cannot be counted."""
    if shutil.which("valgrind") is None:
        raise SystemExit("--instructions: valgrind is not installed (apt-get install valgrind, dnf install valgrind)")


def count_instructions(command: Command) -> int:
    """The instructions of a command and of the processes that it forks, outside of the kernel.

    They repeat within some thousandths, whatever else the machine does. Raises Unable where they are not counted.
    """
    environment = {**command.environment, "PYTHONHASHSEED": "0"}
    done = subprocess.run(
        [*_VALGRIND, *command.words], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    errors = done.stderr.decode(errors="replace")
    hold_to_exit_code(done.returncode, errors)
    counts = [int(count.replace(",", "")) for count in _REFERENCES.findall(errors)]
    if not counts:
        raise Unable("valgrind counted nothing")
    return sum(counts)


def format_count(count: int) -> str:
    """Instructions with three digits: `87.6 M`, `3.03 G`."""
    unit, size = ("G", 1_000_000_000) if count >= 999_500_000 else ("M", 1_000_000)
    value = count / size
    return f"{value:.{2 if value < 9.995 else 1 if value < 99.95 else 0}f} {unit}"
