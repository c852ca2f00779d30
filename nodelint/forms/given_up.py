"""Record files that exceed the limits of rendering: they are judged without their values, and the summary says so."""

from __future__ import annotations

from nodelint.base.budget import BudgetSpent
from nodelint.text import Source
from nodelint.text.syntax_errors import SyntaxProblem

_NOT_FILLED = "values are not filled in: "


def give_up(source: Source, limit: BudgetSpent) -> None:
    """Record that a file is judged as it is written, with the reason."""
    if not is_given_up(source):
        start = next((document.start for document in source.documents if document.root is not None), 0)
        source.set_aside.append(SyntaxProblem(start, f"{_NOT_FILLED}{limit}"))


def is_given_up(source: Source) -> bool:
    """Return whether a file is judged as it is written, because its values exceed a limit."""
    return any(aside.message.startswith(_NOT_FILLED) for aside in source.set_aside)
