"""Find the field, key or enum value that was probably meant by a misspelled name."""

from __future__ import annotations

from collections.abc import Iterable

from nodelint.model.close_names import CloseNames

_ALIKE = 0.8
"""The least similarity of two words, as difflib computes it, for one to be a misspelling of the other."""


class NearNames:
    """The possible names, with indexes to find the one that a misspelled name means."""

    def __init__(self, names: Iterable[object]) -> None:
        texts = [name for name in names if isinstance(name, str)]
        self._by_plain: dict[str, str] = {}
        self._by_lower: dict[str, str] = {}
        self._by_letters: dict[str, list[str]] = {}
        for text in texts:
            self._by_plain.setdefault(_plain(text), text)
            self._by_lower.setdefault(text.lower(), text)
            self._by_letters.setdefault(_sorted_letters(text.lower()), []).append(text)
        self._parted = [text for text in texts if "." in text]
        self._close = CloseNames(self._by_lower)

    def nearest(self, name: object) -> str | None:
        """Return the name that was probably meant: it differs only in case and separators, or in a letter or two.
        None if there is none.
        """
        if not isinstance(name, str) or not name:
            return None
        plain = _plain(name)
        if plain in self._by_plain:
            return self._by_plain[plain]
        begun = [text for text in self._parted if text.lower().startswith(f"{name.lower()}.")]
        if len(begun) == 1:
            return begun[0]
        close = self._close.closest(plain, _ALIKE)
        if close is not None:
            return self._by_lower[close]
        swapped = self._by_letters.get(_sorted_letters(plain), ()) if len(plain) > 3 else ()
        return swapped[0] if len(swapped) == 1 else None


def _sorted_letters(text: str) -> str:
    return "".join(sorted(text))


def _plain(text: str) -> str:
    """Return a text in lower case without separators."""
    return text.replace("-", "").replace("_", "").replace(" ", "").lower()
