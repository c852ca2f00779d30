"""Find the word that was probably meant by a misspelled word."""

from __future__ import annotations

import re
from collections.abc import Iterable

LEAST_FOR_A_GUESS = 4
"""The fewest letters of a word that is corrected: short codes are too similar to each other."""

_LETTERS = "abcdefghijklmnopqrstuvwxyz-._/"
_NO_DIGITS = re.compile(r"\D+").sub
_NO_LETTER_OR_DIGIT = re.compile(r"[^a-z0-9]").sub


class Words:
    """The possible words, with an index of those that may be near a text."""

    __slots__ = ("_by_digits", "_by_squashed", "_one_begun", "words")

    def __init__(self, words: Iterable[str]) -> None:
        self.words = tuple(dict.fromkeys(words))
        self._by_squashed: dict[str, list[str]] = {}
        self._by_digits: dict[str, list[str]] = {}
        for word in self.words:
            self._by_squashed.setdefault(squash(word), []).append(word)
            self._by_digits.setdefault(digits(word), []).append(word)
        self._one_begun: dict[str, str | None] | None = None

    def same(self, text: str) -> list[str]:
        """Return the words that differ from a text only in case and separators."""
        return self._by_squashed.get(squash(text), [])

    def nearest(self, text: str, abbreviated: bool) -> str | None:
        """Return the only word within one or two letters of a text, with equal digits. None if there are none or
        several.

        With `abbreviated`, the only word that begins with the text comes first.
        """
        word = text.strip().lower().replace("_", "-")
        if abbreviated and len(word) > 1 and (begun := self._begun_by(word)) is not None:
            return begun
        if len(word) < LEAST_FOR_A_GUESS:
            return None
        most = 1 if len(word) < 7 else 2
        best: list[str] = []
        nearest = most + 1
        for choice in self._by_digits.get(digits(word), ()):
            far = distance(word, choice, most)
            if far < nearest:
                best, nearest = [choice], far
            elif far == nearest and far <= most:
                best.append(choice)
        return best[0] if len(best) == 1 else None

    def _begun_by(self, head: str) -> str | None:
        """Return the only word that begins with a text. None if there are none or several."""
        if self._one_begun is None:
            found: dict[str, str | None] = {}
            for word in self.words:
                for end in range(2, len(word) + 1):
                    found[word[:end]] = None if word[:end] in found else word
            self._one_begun = found
        return self._one_begun.get(head)


def distance(a: str, b: str, most: int) -> int:
    """Return the number of letters dropped, added, changed or swapped between two texts; `most + 1` for anything
    above `most`.
    """
    if abs(len(a) - len(b)) > most:
        return most + 1
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        last, before, row = before, row, [i]
        for j, y in enumerate(b, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                cost = min(cost, last[j - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return most + 1
    return min(row[-1], most + 1)


def one_slip(a: str, b: str) -> bool:
    """Return whether two names differ in one letter and have equal digits. False for names below
    `LEAST_FOR_A_GUESS`.
    """
    return min(len(a), len(b)) >= LEAST_FOR_A_GUESS and digits(a) == digits(b) and distance(a, b, 1) == 1


def digits(text: str) -> str:
    """Return the digits of a text."""
    inner = text.strip(_LETTERS)
    return inner if inner.isascii() and (not inner or inner.isdigit()) else _NO_DIGITS("", text)


def squash(text: str) -> str:
    """Return a text in lower case without separators."""
    text = text.lower()
    bare = text.replace("-", "").replace(".", "").replace("_", "").replace("/", "")
    return bare if bare.isascii() and bare.isalnum() else _NO_LETTER_OR_DIGIT("", text)
