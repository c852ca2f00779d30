"""Lay out words and sets of instance types in the columns of `nodelint explain`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nodelint.base.printable import printable
from nodelint.base.types import TYPE_CHECKING
from nodelint.ec2.catalog import Catalog
from nodelint.ec2.type_set import TypeSet
from nodelint.model.keys import FAMILY
from nodelint.report.style import cells, wrap

if TYPE_CHECKING:
    from typing import Literal

_ONE = {"types": "type", "families": "family"}
_SIZES = ("nano", "micro", "small", "medium", "large", "xlarge")


def _size_order(size: str) -> tuple[int, int, str]:
    """Return a sort key in the order of sizes: nano, ..., xlarge, 2xlarge, ..., metal."""
    if size in _SIZES:
        return 0, _SIZES.index(size), size
    number, found, _ = size.partition("xlarge")
    return (1, int(number), size) if found and number.isdigit() else (2, 0, size)


def families(catalog: Catalog, types: TypeSet, first: str, width: int) -> Iterator[str]:
    """Yield the types of a set in lines after a first column: complete families, then families with some sizes.

    Up to six types are listed by name.
    """
    names = catalog.names_in(types)
    if len(names) <= 6:
        ordered = sorted(names, key=lambda name: (name.partition(".")[0], _size_order(name.partition(".")[2])))
        yield from columns(first, ordered, width, 4, "types")
        return
    whole: list[str] = []
    partial: dict[str, list[str]] = {}
    for family, members in catalog.values(FAMILY).items():
        there, missing = members & types, members - types
        if there and not missing:
            whole.append(family)
        elif there:
            fewer = missing if len(missing) < len(there) else there
            sizes = sorted({name.partition(".")[2] for name in catalog.names_in(fewer)}, key=_size_order)
            what = f"{'without' if fewer == missing else 'only'} {', '.join(sizes)}:"
            partial.setdefault(what, []).append(family)
    if whole:
        yield from columns(first, whole, width, 4, "families")
        first = " " * len(first)
    groups = sorted(partial.items(), key=lambda item: -len(item[1]))
    shown = groups if len(groups) <= 4 else groups[:3]
    for what, families in shown:
        yield from columns(first, [*what.split(), *families], width, 2, "families")
        first = " " * len(first)
    if len(groups) > len(shown):
        rest = sum(len(families) for _, families in groups[len(shown) :])
        yield f"{first}some sizes of {rest} more families"


def columns(
    first: str, words: Sequence[str], width: int, most: int, what: Literal["types", "families"]
) -> Iterator[str]:
    """Yield words in lines after a first column, on at most `most` lines; one more line counts the rest."""
    import textwrap  # here: most output only needs `wrap`

    room = max(width - len(first), 30)
    lines = textwrap.wrap(printable(" ".join(words)), room, break_on_hyphens=False, break_long_words=False)
    if len(lines) > most:
        rest = sum(len(line.split()) for line in lines[most:])
        lines = [*lines[:most], f"… and {rest} more {_ONE[what] if rest == 1 else what}"]
    for line in lines:
        yield f"{first}{line}"
        first = " " * len(first)
    if not lines:
        yield first.rstrip()


def aside(left: str, right: str, width: int) -> Iterator[str]:
    """Yield a title with its place at the right edge, or in the next line if there is no room."""
    left, right = printable(left), printable(right)
    gap = width - cells(left) - cells(right)
    if gap >= 2:
        yield f"{left}{' ' * gap}{right}"
    else:
        yield from wrap(left, width, "")
        yield from wrap(right, width, "  ")


def type_count(members: TypeSet) -> str:
    """Return the number of instance types in a set, in words."""
    count = len(members)
    return f"{count:,} type" if count == 1 else f"{count:,} types"
