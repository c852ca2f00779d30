"""Write values, counts and suggestions of similar names in messages."""

from __future__ import annotations

from nodelint.base.budget import RUN
from nodelint.base.types import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

LONGEST_MESSAGE = 120
"""The most characters of a finding's message."""


def short(value: str, most: int = 48) -> str:
    """Return a value on one line, shortened to `most` characters, if possible after a whole word."""
    flat = " ".join(value.split())
    if len(flat) <= most:
        return flat
    head = flat[: most - 1]
    at = max(head.rfind(separator) for separator in " ,-._/:@")
    if at < most // 2:
        return f"{head}…"
    return f"{head[:at].rstrip(' ,')}, …" if head[at] in " ," and ", " in flat else f"{head[: at + 1]}…"


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: `1 file`, `2,000 files`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def list_first(names: Sequence[str], most: int) -> str:
    """Return the first `most` names, and the number of the others: `a, b and 3 more`."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def first_fitting(*messages: str) -> str:
    """Return the first message that is short enough, else the last one."""
    return next((message for message in messages if len(message) <= LONGEST_MESSAGE), messages[-1])


def did_you_mean(name: str, known: Iterable[str], least: float = 0.6) -> str:
    """Return a message's end that suggests a known name similar to `name`. Empty if there is none.

    `least` is the required similarity, as a ratio of difflib.
    """
    near = nearest_name(name, known, least)
    return f" (did you mean `{near}`?)" if near is not None else ""


def nearest_name(name: str, known: Iterable[str], least: float = 0.6) -> str | None:
    """Return the known name most similar to `name`. None if none is similar enough (see `did_you_mean`)."""
    from difflib import get_close_matches

    return next(iter(get_close_matches(name, list(known), 1, least)), None)


NOT_IN_TIME = "Not all was read in time, and nothing of what was read is judged"
PAIR = "no NodePool or EC2NodeClass"
"""What is missing in files without anything to judge."""


def say_nothing(verb: str, missing: str, where: str, gaps: Collection[object]) -> str:
    """Return that there is nothing to do, as far as files could be read: `Nothing to check: no ... in 1 file`.

    If the deadline passed while files were read, the text says that instead. `report.all_clear` uses it, and runs
    that find no Karpenter object, which do not load `report`.
    """
    if RUN.has_left_out:
        return NOT_IN_TIME
    rest = " in what could be read" if gaps else ""
    if where == "in 0 files":
        return f"Nothing to {verb}{rest}: there is no file that nodelint reads"
    return f"Nothing to {verb}{rest}: {missing} {where}"
