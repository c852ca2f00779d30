"""Count work, where seconds would depend on the machine and on what else it does."""

from __future__ import annotations

import cProfile
import pstats
from collections.abc import Callable


def count_calls(run: Callable[[], object]) -> int:
    """Return the number of calls that a function makes: of functions in Python, and of those of the interpreter."""
    profile = cProfile.Profile()
    profile.runcall(run)
    return int(pstats.Stats(profile).total_calls)  # type: ignore[attr-defined]
