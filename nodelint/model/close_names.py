"""Which of some names another text is most like, as difflib measures it, without a comparison with each."""

from __future__ import annotations

from collections.abc import Iterable


class CloseNames:
    """Names to choose from, with the letters of each: names that share too few with a text are not compared."""

    __slots__ = ("_bits", "_letters", "_longest", "_names")

    def __init__(self, names: Iterable[str]) -> None:
        self._names = tuple(names)
        self._letters = frozenset("".join(self._names))
        self._longest = max(map(len, self._names), default=0)
        self._bits = [self._letter_bits(name) if name.isascii() else None for name in self._names]

    def closest(self, text: str, cutoff: float) -> str | None:
        """The name that difflib finds closest, its ratio `cutoff` or more."""
        bits, size = self._letter_bits(text), len(text)
        close = [
            name
            for name, known in zip(self._names, self._bits, strict=True)
            # As many letters in common, in whatever order, as difflib's ratio can count: it never exceeds that.
            if known is None or 2.0 * (bits & known).bit_count() / (size + len(name) or 1) >= cutoff
        ]
        if not close:
            return None
        from difflib import get_close_matches

        return next(iter(get_close_matches(text, close, 1, cutoff)), None)

    def _letter_bits(self, text: str) -> int:
        """The letters that a text shares with the names, each a bit of its own; the second `a` is another letter."""
        bits = 0
        for letter in self._letters.intersection(text):
            if letter.isascii():  # no other is in a name that has bits
                for nth in range(min(text.count(letter), self._longest)):
                    bits |= 1 << (nth * 128 + ord(letter))
        return bits
