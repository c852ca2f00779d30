"""One test over a table, for rows of which each takes little: it tries all of them, and names each that fails."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

Row = TypeVar("Row")


def try_each(rows: Iterable[Row], check: Callable[[Row], None], name: Callable[[Row], str] = str) -> None:
    """Check every row. Raise an ExceptionGroup of all that fails, each with the name of its row, and AssertionError
    where there is no row.
    """
    broken: list[Exception] = []
    count = 0
    for row in rows:
        count += 1
        try:
            check(row)
        except Exception as error:
            error.add_note(f"row: {name(row)}")
            broken.append(error)
    if broken:
        raise ExceptionGroup(
            f"{len(broken)} of {count} rows fail: {', '.join(e.__notes__[-1] for e in broken)}", broken
        )
    assert count, "the table is empty"
