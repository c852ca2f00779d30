"""The layout of text: colours, the width of the terminal, and links."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from nodelint.base import project
from nodelint.base.printable import printable
from nodelint.base.tuples import NamedTuple
from nodelint.rule.definition import Rule

WIDTH = 80
"""The width, in columns, if there is no terminal."""

Style = Callable[..., str]
"""The type of `click.style` and `plain`."""


def plain(text: str, **_: object) -> str:
    """Return the text unchanged: the style for output that is not a terminal."""
    return text


class TextStyle(NamedTuple):
    """The abilities of the output.

    `width` is in columns. `terminal`: people read the output, so all lines are wrapped; otherwise the first line of a
    finding stays one line, for programs. `links`: rule names may be hyperlinks.
    """

    style: Style = plain
    width: int = WIDTH
    terminal: bool = False
    links: bool = False


PLAIN = TextStyle()
PAGE = TextStyle(width=100)
"""The style of reports that are mostly read in files."""


def rule_page(rule: Rule) -> str | None:
    """Return the address of a rule's page; None if the project has no site."""
    return project.page(f"docs/rules/{rule.name}.md")


def cells(text: str) -> int:
    """Return the number of terminal columns of a text: two for a wide character, none for a combining one."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(2 if east_asian_width(c) in "WF" else 0 if combining(c) else 1 for c in text)


def wrap(words: str, width: int, first: str, rest: str | None = None) -> list[str]:
    """Return words on as many lines as needed; words are not broken.

    `first` is the indent of the first line, `rest` that of the others (None: two spaces more).
    """
    rest = f"{first}  " if rest is None else rest
    room, text = max(width, cells(first) + 20), printable(words).strip()
    if text and cells(first) + cells(text) <= room:
        return [first + text]
    lines: list[str] = []
    line, begun = first, False
    for word in text.split(" "):
        if begun and cells(line) + 1 + cells(word) > room:
            lines.append(line.rstrip())
            line, begun = rest, False
        line += f" {word}" if begun else word
        begun = begun or bool(word)
    return [*lines, line] if begun else lines


def fitted(line: str, look: TextStyle) -> list[str]:
    """Return a line wrapped between words for a terminal; otherwise unchanged, for programs."""
    if not look.terminal or cells(line) <= look.width:
        return [line]
    indent = line[: len(line) - len(line.lstrip())]
    return wrap(line, look.width, indent, f"{indent}  ")


def wrap_labelled(word: str, words: str, look: TextStyle, indent: str = "  ", **colour: object) -> Iterator[str]:
    """Yield a line such as `note: …` or `help: …`, wrapped below the beginning of its text."""
    head = f"{indent}{word}: "
    lines = wrap(words, look.width, head, " " * len(head)) or [head.rstrip()]
    yield f"{indent}{look.style(f'{word}:', bold=True, **colour)}{lines[0][len(head) - 1 :]}"
    yield from lines[1:]
