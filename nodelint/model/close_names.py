"""Which of some names another text is most like, as difflib measures it, without a comparison with each."""

from __future__ import annotations

from collections.abc import Iterable


class CloseNames:
    """Names to choose from, with the letters of each. A name that shares too few letters with a text is left out."""

    __slots__ = ("_masks", "_names")

    def __init__(self, names: Iterable[str]) -> None:
        ordered = tuple(names)
        self._masks: dict[str, list[int]] = {}
        """Of each letter, bits for none of it, for one, for two: the second `a` of a name is a letter of its own."""
        first = 0
        for letter in sorted(set("".join(ordered))):
            most = max(name.count(letter) for name in ordered)
            self._masks[letter] = [((1 << count) - 1) << first for count in range(most + 1)]
            first += most
        self._names = [(name, len(name), self._letter_bits(name)) for name in ordered]

    def closest(self, text: str, cutoff: float) -> str | None:
        """Return the name that difflib finds closest, its ratio `cutoff` or more."""
        bits, size = self._letter_bits(text), len(text)
        close = [
            name
            for name, length, known in self._names
            # As many letters in common, in whatever order, as difflib's ratio can count: it never exceeds that.
            if 2.0 * (bits & known).bit_count() / (size + length or 1) >= cutoff
        ]
        if not close:
            return None
        from difflib import get_close_matches

        return next(iter(get_close_matches(text, close, 1, cutoff)), None)

    def _letter_bits(self, text: str) -> int:
        """Return the letters that a text shares with the names."""
        bits = 0
        for letter in self._masks.keys() & text:
            masks = self._masks[letter]
            bits |= masks[min(text.count(letter), len(masks) - 1)]
        return bits
