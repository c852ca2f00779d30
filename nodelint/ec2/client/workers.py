"""Run jobs in parallel threads until all are done or the time is up. Threads that are still running are not waited
for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from queue import Empty, SimpleQueue
from threading import Event, Thread
from time import monotonic
from typing import TypeVar

J = TypeVar("J")
R = TypeVar("R")

Going = Callable[[], None]
"""A function that raises Stopped if the result of the job is not needed."""

_GLANCE = 0.5
"""Seconds after which the waiting thread wakes up: on Windows nothing, not even Ctrl-C, interrupts a wait."""


class Stopped(Exception):
    """Raised in a worker when the deadline has passed or the caller was cancelled."""


def done(jobs: Sequence[J], do: Callable[[J, Going], R], workers: int, until: float) -> Iterator[tuple[J, R]]:
    """Yield each job with the result of `do`, in the order in which they finish, up to the time `until` (monotonic).

    Raise the exceptions of `do`. The threads are daemons: a thread that hangs in a call does not prevent Python from
    exiting, as a thread of a ThreadPoolExecutor would.
    """
    todo: SimpleQueue[J] = SimpleQueue()
    results: SimpleQueue[tuple[J, R] | Exception] = SimpleQueue()
    gone = Event()
    for job in jobs:
        todo.put(job)

    def going() -> None:
        if gone.is_set() or monotonic() >= until:
            raise Stopped

    def work() -> None:
        try:
            while True:
                job = todo.get_nowait()
                going()
                results.put((job, do(job, going)))
        except (Empty, Stopped):
            return
        except Exception as error:
            results.put(error)

    for number in range(min(workers, len(jobs))):
        Thread(target=work, name=f"aws-{number}", daemon=True).start()
    try:
        for _ in jobs:
            result = _taken(results, until)
            if result is None:
                return
            if isinstance(result, Exception):
                raise result
            yield result
    finally:
        gone.set()


def _taken(results: SimpleQueue[R], until: float) -> R | None:
    """Return the next result. None if the time is up."""
    while (left := until - monotonic()) > 0:
        try:
            return results.get(timeout=min(left, _GLANCE))
        except Empty:
            continue
    return None if results.empty() else results.get()
