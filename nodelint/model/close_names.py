"""Find the name that is most similar to a text, as difflib does, without a comparison with each name."""

from __future__ import annotations

from collections.abc import Iterable


class CloseNames:
    """Names to choose from, with the letters of each.

    Names that share too few letters with a text are not compared.
    """

    __slots__ = ("_masks", "_names")

    def __init__(self, names: Iterable[str]) -> None:
        ordered = tuple(names)
        self._masks: dict[str, list[int]] = {}
        """For each letter, bit masks for its number of occurrences: none, one, two, and so on."""
        first = 0
        for letter in sorted(set("".join(ordered))):
            most = max(name.count(letter) for name in ordered)
            self._masks[letter] = [((1 << count) - 1) << first for count in range(most + 1)]
            first += most
        self._names = [(name, len(name), self._letter_bits(name)) for name in ordered]

    def closest(self, text: str, cutoff: float) -> str | None:
        """Return the name that difflib finds most similar, with a ratio of at least `cutoff`.

        None if there is none.
        """
        bits, size = self._letter_bits(text), len(text)
        close = [
            name
            for name, length, known in self._names
            # The number of common letters, in any order, is an upper bound for difflib's ratio.
            if 2.0 * (bits & known).bit_count() / (size + length or 1) >= cutoff
        ]
        if not close:
            return None
        from difflib import get_close_matches

        return next(iter(get_close_matches(text, close, 1, cutoff)), None)

    def _letter_bits(self, text: str) -> int:
        """Return the letters that a text shares with the names, as bits."""
        bits = 0
        for letter in self._masks.keys() & text:
            masks = self._masks[letter]
            bits |= masks[min(text.count(letter), len(masks) - 1)]
        return bits
