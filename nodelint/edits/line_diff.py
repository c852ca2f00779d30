"""Compare the lines of two texts in time that grows with their number."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence

Opcode = tuple[str, int, int, int, int]
"""An opcode of difflib: `equal`, `replace`, `delete` or `insert`, and the ranges of lines in both texts."""

_SMALL = 200 * 200
"""The largest number of pairs of lines for which difflib compares all pairs, to find the fewest changes."""


def opcodes(old: Sequence[str], new: Sequence[str]) -> list[Opcode]:
    """Return the changes from old to new lines, as opcodes of difflib.

    In long texts, the lines that occur once in each are matched first. difflib compares only the lines between two
    matches.
    """
    steps: list[Opcode] = []
    for tag, a, b, c, d in _steps(old, new):
        if a == b and c == d:
            continue
        if steps and (steps[-1][0] == "equal") == (tag == "equal"):
            _, a, _, c, _ = steps.pop()
        steps.append((_tag(tag, a, b, c, d), a, b, c, d))
    return steps


def fewest(old: Sequence[str], new: Sequence[str]) -> Sequence[Opcode]:
    """Return the opcodes between two lists of lines.

    If the lists are short, they are the fewest that difflib finds.
    """
    if len(old) * len(new) > _SMALL:
        return opcodes(old, new)
    from difflib import SequenceMatcher

    return SequenceMatcher(None, old, new, autojunk=False).get_opcodes()


def _tag(tag: str, a: int, b: int, c: int, d: int) -> str:
    if tag == "equal":
        return tag
    return "insert" if a == b else "delete" if c == d else "replace"


def _steps(old: Sequence[str], new: Sequence[str]) -> Iterator[Opcode]:
    pending = [(0, len(old), 0, len(new), True)]
    while pending:
        a, b, c, d, anchored = pending.pop()
        head, tail = _ends(old, new, a, b, c, d)
        yield "equal", a, a + head, c, c + head
        low, high, lower, upper = a + head, b - tail, c + head, d - tail
        ties = (
            _ties(old, new, low, high, lower, upper) if anchored and (high - low) * (upper - lower) > _SMALL else []
        )
        if ties:
            pending.append((b - tail, b, d - tail, d, False))
            for n in reversed(range(len(ties) + 1)):
                i, j = ties[n - 1] if n else (low, lower)
                k, m = ties[n] if n < len(ties) else (high, upper)
                pending.append((i, k, j, m, True))
            continue
        yield from _between(old, new, low, high, lower, upper)
        yield "equal", b - tail, b, d - tail, d


def _ends(old: Sequence[str], new: Sequence[str], a: int, b: int, c: int, d: int) -> tuple[int, int]:
    """Return how many lines are equal at the beginning of the two ranges, and how many at the end."""
    most = min(b - a, d - c)
    head = next((n for n in range(most) if old[a + n] != new[c + n]), most)
    most -= head
    return head, next((n for n in range(most) if old[b - 1 - n] != new[d - 1 - n]), most)


def _ties(old: Sequence[str], new: Sequence[str], a: int, b: int, c: int, d: int) -> list[tuple[int, int]]:
    """Return pairs of lines that occur once in each text: the longest sequence with the same order in both."""
    places = {line: j for j, line in enumerate(new[c:d], c)}
    once, there = Counter(old[a:b]), Counter(new[c:d])
    pairs = [(i, places[line]) for i, line in enumerate(old[a:b], a) if once[line] == there.get(line) == 1]
    last: list[int] = []  # for each length: the least end in `new`, and its pair
    ends: list[int] = []
    before: list[int] = []
    for n, (_, j) in enumerate(pairs):
        at = bisect_left(last, j)
        before.append(ends[at - 1] if at else -1)
        last[at : at + 1], ends[at : at + 1] = [j], [n]
    row = []
    n = ends[-1] if ends else -1
    while n >= 0:
        row.append(pairs[n])
        n = before[n]
    return row[::-1]


def _between(old: Sequence[str], new: Sequence[str], a: int, b: int, c: int, d: int) -> Iterator[Opcode]:
    if (b - a) * (d - c) > _SMALL * 25:
        yield "replace", a, b, c, d  # long, and without a common unique line: replace all of it
        return
    if a == b or c == d:
        yield "replace", a, b, c, d
        return
    from difflib import SequenceMatcher

    for tag, i, k, j, m in SequenceMatcher(None, old[a:b], new[c:d], autojunk=False).get_opcodes():
        yield tag, a + i, a + k, c + j, c + m


def unified(
    old: Sequence[str], new: Sequence[str], names: tuple[str, str], around: int = 3, end: str = "\n"
) -> Iterator[str]:
    """Yield the lines of a unified diff for texts of any length. `around` is the number of context lines."""
    if len(old) * len(new) <= _SMALL:
        from difflib import unified_diff

        yield from unified_diff(old, new, *names, n=around, lineterm=end)
        return
    for number, hunk in enumerate(_hunks(opcodes(old, new), around)):
        if not number:
            yield f"--- {names[0]}{end}"
            yield f"+++ {names[1]}{end}"
        (_, a, _, c, _), (_, _, b, _, d) = hunk[0], hunk[-1]
        yield f"@@ -{_range(a, b)} +{_range(c, d)} @@{end}"
        for tag, i, k, j, m in hunk:
            if tag == "equal":
                yield from (f" {line}" for line in old[i:k])
                continue
            yield from (f"-{line}" for line in old[i:k])
            yield from (f"+{line}" for line in new[j:m])


def _hunks(steps: Sequence[Opcode], around: int) -> Iterator[list[Opcode]]:
    """Yield groups of changes with their context lines. Changes near each other form one group."""
    hunk: list[Opcode] = []
    for number, (tag, a, b, c, d) in enumerate(steps):
        if tag != "equal":
            hunk.append((tag, a, b, c, d))
            continue
        first, last = not number, number == len(steps) - 1
        if not first and (last or b - a > 2 * around):
            yield [*hunk, (tag, a, min(b, a + around), c, min(d, c + around))]
            hunk = []
        if not last and (first or b - a > 2 * around):
            a, c = max(a, b - around), max(c, d - around)
        if not last:
            hunk.append((tag, a, b, c, d))
    if hunk and any(tag != "equal" for tag, *_ in hunk):
        yield hunk


def _range(start: int, stop: int) -> str:
    """Return a range of lines as a diff header writes it: first line and length. For no lines, the line before."""
    length = stop - start
    return f"{start + 1}" if length == 1 else f"{start + bool(length)},{length}"
