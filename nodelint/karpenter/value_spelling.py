"""The probable meaning of a value that its label key cannot have."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from functools import cache, cached_property

from nodelint.base.tuples import NamedTuple
from nodelint.data import table
from nodelint.ec2.catalog import Catalog
from nodelint.ec2.place_names import state_of_place
from nodelint.ec2.type_names import names_elsewhere
from nodelint.karpenter.controller.syntax import label_value_fault
from nodelint.karpenter.spelling import LEAST_FOR_A_GUESS, Words, one_slip, squash
from nodelint.model.keys import FAMILY, INSTANCE_TYPE, REGION, SIZE

_WITHOUT_LETTERS = re.compile(r"[\W\d_]*", re.ASCII).fullmatch


class Slip(NamedTuple):
    """A value that a key cannot have: what was probably meant, and the only other key that can have the value.

    `impossible` is true if no node can have it; otherwise it is only written differently. `plain` is true if nothing
    more can be said: no known value is near, no other release has it, and it is a valid label value.
    """

    near: str | None
    home: str | None
    impossible: bool
    plain: bool


_NOTHING_LIKE_IT = Slip(None, None, True, True)


class ValueSpelling:
    """The values that a label key can have, with corrections for the values that it cannot have.

    `known` are all values that the key can have; None if they are not known offline. `homes` returns a mapping of
    values to the label keys that have them.
    """

    def __init__(
        self,
        key: str,
        catalog: Catalog,
        known: Collection[str] | None,
        homes: Callable[[], Mapping[str, Sequence[str]]],
    ) -> None:
        facts = table("vocabulary")
        self._key, self._catalog, self._known, self._homes = key, catalog, known, homes
        self._synonyms: Mapping[str, str] = facts["synonyms"].get(key, {})
        self._firsts: Mapping[str, str] = facts["values"].get(key, {})
        self._form: str | None = facts["forms"].get(key)
        self._unit: Mapping[str, object] = facts["units"].get(key, {})

    def slips(self, texts: Iterable[str]) -> dict[str, Slip]:
        """Return the texts that the key cannot have, without those that another region or account may know."""
        known, synonyms = self._known, self._synonyms
        if known is not None:
            texts = [text for text in texts if text not in known or (synonyms and text.lower() in synonyms)]
        elif self._form is None and not synonyms:
            return {}
        return {text: slip for text in texts if (slip := self._slip(text)) is not None}

    def _slip(self, text: str) -> Slip | None:
        possible = self.can_have(text) if self._known is None else text in self._known
        if not possible and text in self._elsewhere:
            return None  # a retired type, or one of a region without facts
        near = self.nearest(text)
        if possible is not False:
            return None if near is None or near == text else Slip(near, None, False, False)
        home = self._home(text)
        plain = near is None and text != "" and text not in self._firsts and label_value_fault(text) is None
        return _NOTHING_LIKE_IT if plain and home is None else Slip(near, home, True, plain)

    def can_have(self, value: str) -> bool | None:
        """Return whether the key can have a value. None if the answer is not known offline."""
        if self._known is not None:
            return value in self._known or (None if value in self._elsewhere else False)
        return False if self._form is not None and state_of_place(self._key, value) == "impossible" else None

    def _home(self, value: str) -> str | None:
        form = _key_of_form(value) if "-" in value else None  # a value of each such form has a hyphen
        if form is not None:
            return form if form != self._key else None
        if self._form is not None and len(value) < LEAST_FOR_A_GUESS:
            return None  # `a`: the letter of a zone
        others = self._keys_by_value.get(value)
        if others is None:
            return None
        found = [other for other in others if other != self._key]
        return found[0] if len(found) == 1 else None

    def nearest(self, value: str) -> str | None:
        """Return the correct value that was probably meant by a misspelled one. None if the value is correct, or if
        no value or several are near.
        """
        synonym = self._synonyms.get(value.lower()) if self._synonyms else None
        if synonym is not None:
            return synonym
        known, form = self._known, self._form
        if known is None:
            spelt = () if form is None else _respelt(value)
            right = (near for near in spelt if state_of_place(self._key, near) != "impossible")
            return next(right, None) or (_nearest_region(value) if re.fullmatch(str(form), value) else None)
        if value in known:
            return None
        if _WITHOUT_LETTERS(value):
            return self._in_its_unit(value, known)
        same = self._words.same(value)
        if same:
            return same[0] if len(same) == 1 else None
        if self._key == INSTANCE_TYPE:
            return self._nearest_type(value)
        if self._key == FAMILY:
            return self._nearest_family(value)
        return self._words.nearest(value, abbreviated=self._key == SIZE)

    @cached_property
    def _elsewhere(self) -> Set[str]:
        """Return types and families that are not in this catalogue but that another one may have."""
        return names_elsewhere(self._key)

    @cached_property
    def _keys_by_value(self) -> Mapping[str, Sequence[str]]:
        return self._homes()

    @cached_property
    def _words(self) -> Words:
        """Return the values that the key can have in the catalogue, with an index for comparison."""
        return Words(self._known or ())

    @cached_property
    def _families(self) -> Mapping[str, object]:
        return self._catalog.values(FAMILY)

    @cached_property
    def _sizes(self) -> dict[str, Words]:
        """Return the sizes of each family."""
        return _words_behind(".", self._catalog.values(INSTANCE_TYPE))

    @cached_property
    def _family_words(self) -> dict[str, Words]:
        """Return the parts of family names after the hyphen, by the part before it."""
        return _words_behind("-", self._catalog.values(FAMILY))

    def _in_its_unit(self, value: str, known: Collection[str]) -> str | None:
        """Return the correct number if a number was written in another unit, such as GiB instead of MiB. None
        otherwise.
        """
        slip = self._unit.get("slip")
        if slip is None or not value.isascii() or not value.isdigit() or len(value) > 9:
            return None
        meant = str(int(value) * int(str(slip)))
        return meant if meant in known else None

    def _nearest_type(self, value: str) -> str | None:
        family, dot, size = value.lower().partition(".")
        near = family if family in self._families else self._nearest_family(family)
        if not dot or near is None:
            return None
        sizes = self._sizes.get(near, _NO_WORDS)
        meant: str | None = size
        if size not in sizes.words:
            # A size that other families have is not misspelt.
            meant = None if self._catalog.has_value(SIZE, size) else sizes.nearest(size, abbreviated=True)
        return f"{near}.{meant}" if meant is not None else None

    def _nearest_family(self, value: str) -> str | None:
        """Return the family that was probably meant by a family name with a hyphen. None if the part before the
        hyphen is unknown, or if no known family is similar.
        """
        head, hyphen, tail = value.lower().partition("-")
        if not hyphen or head == "u":
            return None
        near = self._family_words.get(head, _NO_WORDS).nearest(tail, abbreviated=False)
        return f"{head}-{near}" if near is not None else None


_NO_WORDS = Words(())


def _words_behind(mark: str, values: Iterable[str]) -> dict[str, Words]:
    """Return the parts of values after the first separator `mark`, by the part before it."""
    tails: dict[str, list[str]] = {}
    for head, found, tail in (value.partition(mark) for value in values):
        if found:
            tails.setdefault(head, []).append(tail)
    return {head: Words(words) for head, words in tails.items()}


def _key_of_form(value: str) -> str | None:
    """Return the key whose values have the form of a value: region, zone or zone id. None if it has another form."""
    return next((key for key, matches in _forms() if matches(value)), None)


@cache
def _forms() -> list[tuple[str, Callable[[str], object]]]:
    forms: Mapping[str, str] = table("vocabulary")["forms"]
    return [(key, re.compile(form).fullmatch) for key, form in forms.items()]


def _respelt(value: str) -> Iterator[str]:
    """Yield the usual spellings of a region's or zone's name: in lower case, and with correct hyphens
    (`us-east1-a`).
    """
    if value.lower() != value:
        yield value.lower()
    parts = re.fullmatch(table("vocabulary")["squashed"], squash(value))
    if parts is not None:
        geography, partition, direction, number, zone = parts.groups()
        spelt = "-".join(part for part in (geography, partition, direction, number) if part) + zone
        if spelt != value:
            yield spelt


def _nearest_region(value: str) -> str | None:
    """Return a region or zone with the one region that differs in a letter. None if that of the value can exist."""
    found = re.fullmatch("(.*-[0-9]+)([a-z]?)", value)
    if found is None or state_of_place(REGION, found[1]) != "impossible":
        return None
    near = [name for name in table("regions")["offsets"] if one_slip(found[1], name)]
    return near[0] + found[2] if len(near) == 1 else None
