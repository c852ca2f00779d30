"""A set of instance types of one catalogue."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import compress

from nodelint.base.types import T


class TypeSet:
    """An immutable set of instance types, with the operators of Python's sets. An empty set is false.

    It is stored as one integer: bit i represents the i-th name of a catalogue. An operation on a thousand types is
    therefore a single step. The catalogue has the names (`Catalog.names_in`).
    """

    __slots__ = ("_bits",)

    def __init__(self, bits: int = 0) -> None:
        self._bits = bits

    @classmethod
    def span(cls, begin: int, end: int) -> TypeSet:
        """Return the types at the positions from `begin` up to but without `end`."""
        return cls((1 << end) - (1 << begin))

    @classmethod
    def from_positions(cls, positions: Sequence[int]) -> TypeSet:
        """Return the types at some positions, which are in ascending order."""
        if len(positions) < 2:
            return cls(1 << positions[0]) if positions else NONE
        data = bytearray((positions[-1] >> 3) + 1)
        for position in positions:
            data[position >> 3] |= 1 << (position & 7)
        return cls(int.from_bytes(data, "little"))

    def __and__(self, other: TypeSet) -> TypeSet:
        return TypeSet(self._bits & other._bits)

    def __or__(self, other: TypeSet) -> TypeSet:
        return TypeSet(self._bits | other._bits)

    def __sub__(self, other: TypeSet) -> TypeSet:
        return TypeSet(self._bits & ~other._bits)

    def isdisjoint(self, other: TypeSet) -> bool:
        """Return whether two sets have no type in common. No intersection is built."""
        return not self._bits & other._bits

    def __bool__(self) -> bool:
        return self._bits != 0

    def __len__(self) -> int:
        return self._bits.bit_count()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TypeSet) and self._bits == other._bits

    def __hash__(self) -> int:
        return hash(self._bits)

    def __repr__(self) -> str:
        return f"TypeSet({self._bits:#x})"

    def select(self, column: Sequence[T]) -> list[T]:
        """Return the items of a column that belong to the types of the set. A column has one item for each type, in
        the order of names.
        """
        return list(compress(column, f"{self._bits:b}"[::-1].encode().translate(_DIGITS)))

    def iterate_names(self, names: Sequence[str]) -> Iterator[str]:
        """Yield the names of the types one by one, for a caller that may stop early."""
        bits = self._bits
        while bits:
            lowest = bits & -bits
            yield names[lowest.bit_length() - 1]
            bits ^= lowest


_DIGITS = bytes.maketrans(b"01", b"\0\1")

NONE = TypeSet()
"""The empty set."""


def union(sets: Iterable[TypeSet]) -> TypeSet:
    """Return the types that are in at least one of some sets."""
    bits = 0
    for types in sets:
        bits |= types._bits
    return TypeSet(bits)
