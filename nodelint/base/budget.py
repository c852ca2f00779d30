"""Limit the steps, bytes and time of a run. Code that evaluates a repository's texts draws from these limits.

Each part of a run, such as a chart's template, has its own `WorkBudget`: if one part asks for too much, its result is
unknown, and the others are still computed. All parts together draw from `RUN`, which also has the deadline.
"""

from __future__ import annotations

from time import monotonic

from nodelint.base.types import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import TypeVar

    _T = TypeVar("_T")

MOST_STEPS = 200_000
"""The most steps of one part of a run. Each iteration of a loop and each call is a step."""
MOST_BYTES = 2_000_000
"""The most bytes of the values that one part of a run creates."""
_STEPS, _TEXT = "more steps than nodelint goes", "more text than nodelint reads"
MORE_STEPS, _MORE_TEXT = f"take {_STEPS}", f"come to {_TEXT}"
"""The end of the message for a budget that is spent."""
_RUN_STEPS = 10_000_000
_RUN_BYTES = 200_000_000
_SLICE_STEPS = 1000
_SLICE_BYTES = 100_000
"""The number of bytes that a part draws from the run at once."""


_AT_ONCE = (1 << 9) - 1
"""The number of steps after which the clock is read."""


class BudgetSpent(Exception):
    """Raised if a text needs more work than realistic files do, or if the deadline has passed.

    The message says which.
    """


def is_spent(reason: str) -> bool:
    """Return whether a reason is that a budget of steps or bytes is spent."""
    return reason.endswith((_STEPS, _TEXT))


class RunBudget:
    """The steps and bytes that are left for the whole run, and its deadline."""

    def __init__(self) -> None:
        self.begin()

    def begin(self, seconds: float | None = None, shown: str = "") -> None:
        """Start a run. `seconds` is the time until the deadline, `shown` the same time as the user wrote it."""
        self.refill()
        self._deadline = None if seconds is None else monotonic() + seconds
        self.late_reason = f"the time that `--timeout {shown}` gives was used up"
        """The reason for inputs that are skipped at the deadline."""
        self.has_left_out = False
        """Whether something was skipped at the deadline."""

    def refill(self) -> None:
        """Reset the steps and bytes of the run, because everything is rendered again. The deadline stays."""
        self._steps = _RUN_STEPS
        self._bytes = _RUN_BYTES

    @property
    def taken(self) -> int:
        """Return the number of steps since the last reset."""
        return _RUN_STEPS - self._steps

    @property
    def is_timed(self) -> bool:
        """Return whether the run has a deadline."""
        return self._deadline is not None

    def timed(self, step: Callable[[], _T]) -> Callable[[], _T]:
        """Return a function that calls `step`. It raises `BudgetSpent` once the deadline has passed."""
        left = 0

        def call() -> _T:
            nonlocal left
            if not left:
                self.check_time()
                left = _AT_ONCE
            left -= 1
            return step()

        return step if self._deadline is None else call

    def is_over(self) -> bool:
        """Return whether the deadline has passed. The caller then skips the rest of its work."""
        if self._deadline is None or monotonic() < self._deadline:
            return False
        self.has_left_out = True
        return True

    def in_time(self, items: Iterable[_T]) -> Iterable[_T]:
        """Return the items. Iteration raises `BudgetSpent` once the deadline has passed."""
        return items if self._deadline is None else self._watch(items)

    def _watch(self, items: Iterable[_T]) -> Iterator[_T]:
        for number, item in enumerate(items):
            if not number & _AT_ONCE:
                self.check_time()
            yield item

    def note_reasons(self, reasons: Iterable[str]) -> None:
        """Record that inputs were skipped at the deadline, if one of the reasons says so.

        The reasons come from another process of the run.
        """
        if self._deadline is not None and any(reason == self.late_reason for reason in reasons):
            self.has_left_out = True

    def check_time(self) -> None:
        """Raise `BudgetSpent` if the deadline has passed."""
        if self.is_over():
            raise BudgetSpent(self.late_reason)

    def draw(self, steps: int, size: int) -> None:
        """Draw steps and bytes for a part of the run. Raise `BudgetSpent` if none are left."""
        self.check_time()
        self._steps -= steps
        self._bytes -= size
        if self._steps < 0 or self._bytes < 0:
            raise BudgetSpent(f"the run has taken {_STEPS}")


RUN = RunBudget()
"""The budget of this process."""


class WorkBudget:
    """The steps and bytes that are left for one part of a run. The first slice is not drawn from the run's budget."""

    __slots__ = ("_bytes", "_steps", "_what", "bytes", "steps")

    def __init__(self, steps: int = 0, size: int = 0, what: str = "its expressions") -> None:
        steps, size = steps or MOST_STEPS, size or MOST_BYTES
        self.steps = min(steps, _SLICE_STEPS)
        self.bytes = min(size, _SLICE_BYTES)
        self._steps = steps - self.steps
        self._bytes = size - self.bytes
        self._what = what

    def spend(self, steps: int = 1, size: int = 0) -> None:
        """Use up steps and bytes before creating a value. Raise `BudgetSpent` if too few are left."""
        self.steps -= steps
        self.bytes -= size
        if self.steps < 0 or self.bytes < 0:
            self._draw()

    def _draw(self) -> None:
        steps = _round_up(-self.steps, _SLICE_STEPS)
        size = _round_up(-self.bytes, _SLICE_BYTES)
        if self.steps < 0 and self.steps + self._steps < 0:
            raise BudgetSpent(f"{self._what} {MORE_STEPS}")
        if self.bytes < 0 and self.bytes + self._bytes < 0:
            raise BudgetSpent(f"{self._what} {_MORE_TEXT}")
        steps, size = min(steps, self._steps), min(size, self._bytes)
        RUN.draw(steps, size)
        self.steps += steps
        self.bytes += size
        self._steps -= steps
        self._bytes -= size

    def require(self, size: int) -> None:
        """Raise `BudgetSpent` if fewer than `size` bytes are left. Nothing is used up."""
        if size > self.bytes and size > self.bytes + self._bytes:
            raise BudgetSpent(f"{self._what} {_MORE_TEXT}")

    @property
    def left(self) -> int:
        """Return the steps that are left."""
        return self.steps + self._steps


def _round_up(number: int, slice_: int) -> int:
    return -(-number // slice_) * slice_ if number > 0 else 0
