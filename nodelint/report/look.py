"""How text is laid out where it is shown: colours, the width of the window, and links."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator

from nodelint.lint.rule import Rule
from nodelint.printable import printable
from nodelint.tuples import NamedTuple

HOME = "https://github.com/nodelint/nodelint"

WIDTH = 80
"""Columns where there is no terminal that says how many it has."""

Style = Callable[..., str]
"""`click.style`, or `plain`."""


def plain(text: str, **_: object) -> str:
    """A style that adds nothing, for output that is no terminal."""
    return text


class Look(NamedTuple):
    """What the output can show.

    `width` is in columns. `terminal` says that people read it, so that first lines are wrapped too; elsewhere a
    finding's first line stays one line, for programs that look for it. `links` says that names of rules may be
    hyperlinks.
    """

    style: Style = plain
    width: int = WIDTH
    terminal: bool = False
    links: bool = False


PLAIN = Look()


def rule_page(rule: Rule) -> str:
    """Where a rule is explained."""
    return f"{HOME}/blob/main/docs/rules/{rule.name}.md"


def cells(text: str) -> int:
    """The columns that a text takes in a terminal: two for each wide character, none for a combining one."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(2 if east_asian_width(c) in "WF" else 0 if combining(c) else 1 for c in text)


def wrapped(words: str, width: int, first: str, rest: str) -> list[str]:
    """Words on as many lines as they need, never broken within a word; `first` and `rest` are the indents."""
    return textwrap.wrap(
        printable(words),
        max(width, len(first) + 20),
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )


def said(word: str, words: str, look: Look, indent: str = "  ", **colour: object) -> Iterator[str]:
    """`note: …` or `help: …`, the text wrapped below its own beginning."""
    head = f"{indent}{word}: "
    lines = wrapped(words, look.width, head, " " * len(head)) or [head.rstrip()]
    yield f"{indent}{look.style(f'{word}:', bold=True, **colour)}{lines[0][len(head) - 1 :]}"
    yield from lines[1:]
