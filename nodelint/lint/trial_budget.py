"""Limit the work of the trials that prove the fixes of a report."""

from __future__ import annotations

from nodelint.base.types import TYPE_CHECKING

if TYPE_CHECKING:
    from nodelint.inventory import Inventory

_MOST_ALONE = 24
"""The most edits that are tried alone because a group with them causes a finding. Each trial reads all objects."""

_MOST_BUILT = 3_000_000
"""The most characters of texts that all trials of a run may render."""

_LARGEST_BUILT = 1_000_000
"""The most characters of texts that one trial may render."""

_MOST_STEPS = 1_000_000
"""The number of steps after which no further trial is made."""

_MOST_JUDGED = 8_000
"""The number of judged objects after which no further trial is made."""


class TrialBudget:
    """Counts the work of the trials of a report, whose objects are those of an inventory."""

    def __init__(self, inventory: Inventory) -> None:
        self._size = sum(len(text.text) for built in inventory.built for text in built.texts)
        self._alone = 0
        self._built = 0
        self._steps = 0
        self._judged = 0

    def count(self, steps: int, judged: int) -> None:
        """Add a trial: the steps that it took, and the number of objects that it judged."""
        self._steps += steps
        self._judged += judged

    def takes_trial(self) -> bool:
        """Return whether another trial is within the limits. It counts as one that renders all texts."""
        self._built += self._size
        is_small = self._size <= _LARGEST_BUILT and self._built <= _MOST_BUILT
        return is_small and self._steps <= _MOST_STEPS and self._judged <= _MOST_JUDGED

    def takes_trial_alone(self) -> bool:
        """Return whether another edit may be tried alone, and count it."""
        self._alone += 1
        return self._alone <= _MOST_ALONE
