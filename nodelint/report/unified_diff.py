"""The changes of a fix as a unified diff that git and patch can apply."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from io import StringIO

from nodelint.base.printable import printable
from nodelint.base.types import TYPE_CHECKING
from nodelint.edits import line_diff
from nodelint.report.style import Style
from nodelint.text import Source

if TYPE_CHECKING:
    from nodelint.lint.results import Result


def unified(old: Source, new: Source) -> Iterator[str]:
    """Yield the lines of the diff, each with its line break; nothing if the texts are equal."""
    path = old.path.lstrip("/")
    names = _quoted(f"a/{path}"), _quoted(f"b/{path}")
    for line in line_diff.unified(_lines(old.text), _lines(new.text), names):
        # A runner passes over the blank of a line that stays, and obeys what follows: it is taken out and put back.
        obeyed = line.startswith(" ") and line.lstrip().startswith(("::", "##["))
        for shown in (f"-{line[1:]}", f"+{line[1:]}") if obeyed else (line,):
            yield shown if shown.endswith("\n") else f"{shown}\n\\ No newline at end of file\n"


def effect_notes(old: Source, results: Sequence[Result], chosen: bool = False) -> Iterator[str]:
    """Yield lines above the diff of a file that name its unsafe or chosen fixes and their effect on nodes.

    git and patch ignore these lines.
    """
    from nodelint.lint.fix_effects import describe_chosen_edit, describe_unsafe_fix

    word, describe = ("chosen", describe_chosen_edit) if chosen else ("unsafe", describe_unsafe_fix)

    for result in results:
        edits = [edit for edit in result.finding.edits if edit.source.path == old.path]
        if edits:
            first = min(edits, key=lambda edit: edit.start)
            line = _find_old_line(old, first.source.text, first.source.position(first.start).line)
            yield f"# {word}: {result.rule.name}, line {line}: {printable(describe(result))}\n"


def _find_old_line(old: Source, text: str, line: int) -> int:
    """Return the line number before all fixes that corresponds to a line of a later text."""
    if text == old.text:
        return line
    for _, i1, i2, j1, j2 in line_diff.fewest(_lines(old.text), _lines(text)):
        if j1 <= line - 1 < j2:
            return min(i1 + line - 1 - j1, max(i2 - 1, i1)) + 1
    return line


def coloured(diff: str, style: Style) -> str:
    """Return a diff in the colours of git."""
    lines = []
    for line in _lines(diff):
        shown = next((shown for mark, shown in _COLOURS if line.startswith(mark)), None)
        lines.append(line if shown is None else f"{style(line.removesuffix(chr(10)), **shown)}\n")
    return "".join(lines)


_COLOURS: tuple[tuple[str, dict[str, object]], ...] = (
    ("---", {"bold": True}),
    ("+++", {"bold": True}),
    ("# unsafe", {"fg": "yellow"}),
    ("# chosen", {"fg": "yellow"}),
    ("@@", {"fg": "cyan"}),
    ("-", {"fg": "red"}),
    ("+", {"fg": "green"}),
)


def _quoted(path: str) -> str:
    """Return a path as git quotes it: unprintable characters as octal bytes within double quotes."""
    if path.isprintable():
        return path
    escaped = (
        {'"': '\\"', "\\": "\\\\"}.get(c, c)
        if c.isprintable()
        else "".join(f"\\{byte:03o}" for byte in c.encode("utf-8", "surrogateescape"))
        for c in path
    )
    return f'"{"".join(escaped)}"'


def _lines(text: str) -> list[str]:
    # As git and patch count them: splitlines() breaks at six more characters.
    return list(StringIO(text, newline="\n"))
