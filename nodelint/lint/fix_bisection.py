"""Find by bisection which of many fixes break the file that they change."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence

from nodelint.lint.results import Result
from nodelint.model.finding import Edit
from nodelint.text import Source
from nodelint.text.source import YAML_NAMES

Broken = Callable[[Sequence[Source], Sequence[Result]], str | None]
"""A function that returns why sources are worse with some fixes. None if they are not."""


def find_breaking_fixes(sources: Sequence[Source], chosen: Sequence[Result], why_broken: Broken) -> dict[int, str]:
    """Return the fixes that break a file which the fixes before them do not break: the reason, by index.

    Fixes are tried document by document and halved until the breaking ones are found.
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
    """Return groups of indexes of fixes; fixes that change the same part of a file are in one group."""
    group_of: dict[_Part, int] = {}
    groups: dict[int, list[int]] = {}
    for number, parts in enumerate(_parts(chosen)):
        met = sorted({group_of[part] for part in parts if part in group_of})
        home = met[0] if met else number
        groups.setdefault(home, []).append(number)
        for other in met[1:]:
            groups[home] += groups.pop(other)
            group_of = {part: home if group == other else group for part, group in group_of.items()}
        group_of |= dict.fromkeys(parts, home)
    return [sorted(numbers) for numbers in groups.values()]


def _parts(chosen: Sequence[Result]) -> list[set[_Part]]:
    """Return the parts that each fix changes: (source id, document number), or -1 if an edit is not within one
    document.
    """
    found = [{(id(e.source), document_number(e)) for e in result.finding.edits} for result in chosen]
    whole = {source for parts in found for source, number in parts if number < 0}
    return [{(source, -1 if source in whole else number) for source, number in parts} for parts in found]


def document_number(edit: Edit) -> int:
    """Return the number of the document that contains an edit and is parsed on its own; -1 if there is none."""
    source = edit.source
    if source.masked or source.tabbed or not source.path.endswith(YAML_NAMES):
        return -1
    number = bisect_right(source.documents, edit.start, key=lambda document: document.start) - 1
    document = source.documents[number] if number >= 0 else None
    if document is None or document.root is None:
        return -1
    return number if document.start < edit.start and edit.end < document.end else -1


def find_document(edit: Edit) -> int:
    """Return the number of the document that an edit lies within, in a file of documents or in code; -1 for none."""
    documents = edit.source.documents
    number = document_number(edit)
    if number < 0 and edit.source.built is None:
        number = bisect_right(documents, edit.start, key=lambda document: document.start) - 1
        document = documents[number] if number >= 0 else None
        if document is None or document.host is None or not document.start < edit.start <= edit.end < document.end:
            return -1
    return number


_Part = tuple[int, int]
