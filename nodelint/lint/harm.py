"""Which of many fixes break the file that they change, found in few tries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from nodelint.lint.results import Result
from nodelint.source import Source

Broken = Callable[[Sequence[Source], Sequence[Result]], str | None]
"""Why some sources are worse with some fixes in them; None when they are not."""


def harmful(sources: Sequence[Source], chosen: Sequence[Result], why_broken: Broken) -> dict[int, str]:
    """Which fixes break a file that those before them leave whole, by their number, and how.

    Fixes are tried file by file, and halved until those to blame are alone: few of many break anything.
    """
    places = {id(source): n for n, source in enumerate(sources)}
    found: dict[int, str] = {}
    for numbers in _in_the_same_files(chosen):
        touched = {places[id(edit.source)] for n in numbers for edit in chosen[n].finding.edits}
        before = [sources[n] for n in sorted(touched)]
        whole: list[int] = []
        pending = [numbers]
        while pending:
            tried = pending.pop()
            why = why_broken(before, [chosen[n] for n in (*whole, *tried)])
            if why is None:
                whole += tried
            elif len(tried) == 1:
                found[tried[0]] = why
            else:
                half = len(tried) // 2
                pending += [tried[half:], tried[:half]]
    return found


def _in_the_same_files(chosen: Sequence[Result]) -> Iterable[list[int]]:
    """The numbers of fixes, together where they change a file in common."""
    group_of: dict[int, int] = {}
    groups: dict[int, list[int]] = {}
    for number, result in enumerate(chosen):
        files = {id(edit.source) for edit in result.finding.edits}
        met = sorted({group_of[file] for file in files if file in group_of})
        home = met[0] if met else number
        groups.setdefault(home, []).append(number)
        for other in met[1:]:
            groups[home] += groups.pop(other)
            group_of = {file: home if group == other else group for file, group in group_of.items()}
        group_of |= dict.fromkeys(files, home)
    return [sorted(numbers) for numbers in groups.values()]
