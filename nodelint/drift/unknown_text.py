"""Compare texts with placeholders: do they differ for all values of the placeholders?

`Karpenter-${c}` and `KarpenterNodeRole-${c}` do, because both get the same value. `${a}` and `${b}` may be equal.
"""

from __future__ import annotations

import re

from nodelint.base.tuples import NamedTuple
from nodelint.drift.stored_form import Placeholder

_FORMS = (
    r"\$\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}|\$\([A-Za-z_][\w.]*\)|\$[A-Z_][A-Z0-9_]*(?!\w)"
    r"|\{\{[^{}]*\}\}|<%[^%]*%>|\{%[^%]*%\}|%\{[^{}]*\}|<{1,2}[A-Za-z0-9][^<>\n]*>{1,2}"
)
_BLOCK = r"(?:\{\{|\{%|%\{|<%)[-~+=]?\s*(?:if|else|unless|with|range|for|define|block|end\w*)\b"


class Pattern(NamedTuple):
    """A text as alternating literals and placeholders: there is one literal more than placeholders."""

    literals: tuple[str, ...]
    placeholders: tuple[str, ...]

    @property
    def shortest(self) -> int:
        """Return the smallest number of characters that the text can have."""
        return sum(map(len, self.literals))


def pattern_of(value: str | Placeholder) -> Pattern:
    """Return the pattern of a value. If it contains a condition, or no known form of placeholder, it may be any
    text.
    """
    if not isinstance(value, Placeholder):
        return Pattern((value,), ())
    text = value.text
    found = [match.span() for match in re.finditer(_FORMS, text)]
    if not found or is_conditional(value):
        return Pattern(("", ""), (text,))
    ends = [0, *(end for _, end in found)]
    starts = [*(start for start, _ in found), len(text)]
    literals = tuple(text[end:start] for end, start in zip(ends, starts, strict=True))
    return Pattern(literals, tuple(text[start:end] for start, end in found))


def texts_differ(old: str | Placeholder, other: str | Placeholder) -> bool:
    """Return whether two texts certainly differ. False if they are, or may be, equal."""
    left, right = pattern_of(old), pattern_of(other)
    if left.placeholders == right.placeholders:
        if left.shortest != right.shortest:
            return True
        if list(map(len, left.literals)) == list(map(len, right.literals)):
            return left.literals != right.literals
    first = left.literals[0], right.literals[0]
    last = left.literals[-1], right.literals[-1]
    if not (first[0].startswith(first[1]) or first[1].startswith(first[0])):
        return True
    if not (last[0].endswith(last[1]) or last[1].endswith(last[0])):
        return True
    for fixed, open_ended in ((left, right), (right, left)):
        if not fixed.placeholders and fixed.shortest < open_ended.shortest:
            return True
    return False


def may_be_empty(value: str | Placeholder) -> bool:
    """Return whether a text may be empty."""
    return pattern_of(value).shortest == 0


def is_conditional(value: Placeholder) -> bool:
    """Return whether the placeholder holds template control flow, so that the text may be absent."""
    return re.search(_BLOCK, value.text) is not None
