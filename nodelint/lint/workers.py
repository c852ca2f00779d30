"""Judge objects in several processes.

Each process is a fork with all parsed objects in memory, so only results are sent back. Rules, objects, sources and
nodes are sent as indexes, which identify the same objects in the main process.
"""

from __future__ import annotations

import io
import os
import pickle
import signal
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any, NoReturn, TypeVar

from nodelint.text import Node, SourceText

_Result = TypeVar("_Result")

LEAST = 100
"""The fewest objects for which a worker process is worth its start."""

_FIRST = 20
"""The number of objects that are judged before the worker processes start, so that these share the cached results."""

_MOST = 16
"""The most worker processes. With more, the time is spent on work that is not shared."""


def processes(jobs: int | None, objects: int) -> int:
    """Return the number of processes for a number of objects; `jobs` is the user's choice, None for automatic."""
    if not hasattr(os, "fork") or sys.platform == "darwin":  # libraries of macOS may crash after a fork
        return 1
    if jobs is not None:
        return max(1, min(jobs, objects))
    return 1 if objects < 2 * LEAST else min(cores(), objects // LEAST, _MOST)


def cores() -> int:
    """Return the number of processors that this process may use, within a container's CPU quota."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with suppress(OSError, ValueError), open("/sys/fs/cgroup/cpu.max", encoding="ascii") as file:
        quota, period = file.read().split()
        if quota != "max":
            return max(1, min(count, int(quota) // int(period)))
    return count


def shared(judge: Callable[[Any], _Result], objects: Sequence[Any], count: int, names: Names) -> list[_Result]:
    """Return the result of `judge` for each object, in order, computed by `count` processes.

    A result that `names` cannot encode is computed again here. An exception of `judge` is raised after the other
    processes ended.
    """
    results = [judge(value) for value in objects[:_FIRST]]
    rest = objects[_FIRST:]
    size = -(-len(rest) // count) or 1
    parts = [rest[start : start + size] for start in range(0, len(rest), size)]
    others: list[_Worker] = []
    try:
        others.extend(_Worker(part, judge, names) for part in parts[1:])
        results += [judge(value) for part in parts[:1] for value in part]
        for other in others:
            results += other.results()
    finally:
        for other in others:
            other.end()
    return results


Name = int | tuple[int, tuple[int, ...]]
"""The number of an object in a list, or the number of a tree with the steps from its root to a node."""


class Names:
    """Names for objects that two processes share: the index in a list, or the path to a node of a source."""

    def __init__(self, things: Iterable[Any], sources: Sequence[SourceText]) -> None:
        self._things = [*things, *sources]
        self._roots = [d.root for source in sources for d in source.documents if d.root is not None]
        self._within: dict[int, list[Node]] = {}
        self._numbers: dict[int, dict[int, int]] = {}

    @cached_property
    def _places(self) -> dict[int, int]:
        return {id(thing): number for number, thing in enumerate(self._things)}

    @cached_property
    def _trees(self) -> dict[int, int]:
        return {id(root): number for number, root in enumerate(self._roots)}

    def name_of(self, thing: Any) -> Name | None:
        """Return the name of an object.

        None for an object that needs no name. Raise PicklingError for an object that only one process has.
        """
        place = self._places.get(id(thing))
        if place is not None:
            return place
        if isinstance(thing, SourceText):
            raise pickle.PicklingError("a text that was made meanwhile")
        if not isinstance(thing, Node):
            return None
        steps = []
        node = thing
        while node.parent is not None:
            number = self._number(node, node.parent)
            if number is None:
                raise pickle.PicklingError("a node that is not in its document")
            steps.append(number)
            node = node.parent
        tree = self._trees.get(id(node))
        if tree is None:
            raise pickle.PicklingError("a node that was made meanwhile")
        return tree, tuple(reversed(steps))

    def thing(self, name: Name) -> Any:
        """Return the object with this name."""
        if isinstance(name, int):
            return self._things[name]
        tree, steps = name
        node = self._roots[tree]
        for step in steps:
            node = self._children(node)[step]
        return node

    def _children(self, node: Node) -> list[Node]:
        """Return the direct child nodes of a collection, always in the same order."""
        found = self._within.get(id(node))
        if found is None:
            inner = (child for entry in (*node.entries, *node.merges) for child in (entry.key, entry.value))
            found = self._within[id(node)] = [*node.items, *inner]
        return found

    def _number(self, node: Node, parent: Node) -> int | None:
        """Return the index of a node among its parent's child nodes; None if it is not one."""
        numbers = self._numbers.get(id(parent))
        if numbers is None:
            numbers = {id(node): number for number, node in enumerate(self._children(parent))}
            self._numbers[id(parent)] = numbers
        return numbers.get(id(node))


class _Pickler(pickle.Pickler):
    def __init__(self, file: io.BytesIO, names: Names) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self.persistent_id = names.name_of  # type: ignore[method-assign]


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, names: Names) -> None:
        super().__init__(file)
        self.persistent_load = names.thing  # type: ignore[method-assign]


class _Worker:
    """A process that judges a part of the objects and sends all results through a pipe at its end."""

    def __init__(self, part: Sequence[Any], judge: Callable[[Any], Any], names: Names) -> None:
        self._part, self._judge, self._names = part, judge, names
        reader, writer = os.pipe()
        # Ctrl-C goes to all processes. In this one it ends the run; the copy must not get that far.
        signals = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        self._process: int | None = None
        with suppress(OSError):  # where the system allows no further process, `results` judges the part here
            self._process = os.fork()
        if self._process == 0:
            os.close(reader)
            self._work(writer)
        signal.pthread_sigmask(signal.SIG_SETMASK, signals)
        os.close(writer)
        self._answers = os.fdopen(reader, "rb")

    def _work(self, writer: int) -> NoReturn:
        code = 1
        try:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
            answers = pickle.dumps([self._sent(self._judge(value)) for value in self._part])
            with open(writer, "wb") as file:
                file.write(answers)
            code = 0
        finally:
            os._exit(code)  # no traceback, and no flush of buffered output, which the main process prints

    def _sent(self, reply: Any) -> bytes | None:
        file = io.BytesIO()
        try:
            _Pickler(file, self._names).dump(reply)
        except (pickle.PicklingError, TypeError, AttributeError):
            return None
        return file.getvalue()

    def results(self) -> list[Any]:
        """Return the result for each object. If the process ended early, the objects are judged here."""
        data = self._answers.read()
        ended = self._process is not None and self._ended() == 0
        answers = pickle.loads(data) if ended and data else [None] * len(self._part)
        return [
            self._judge(value) if answer is None else _Unpickler(io.BytesIO(answer), self._names).load()
            for value, answer in zip(self._part, answers, strict=True)
        ]

    def _ended(self) -> int:
        assert self._process is not None
        _, status = os.waitpid(self._process, 0)
        self._process = None
        return status

    def end(self) -> None:
        """Kill the process if it still runs."""
        self._answers.close()
        if self._process is not None:
            os.kill(self._process, signal.SIGKILL)
            self._ended()
