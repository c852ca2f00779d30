"""Find files that a pipe has joined without a `---` line between them."""

from __future__ import annotations

import re

from nodelint.base.types import TYPE_CHECKING

if TYPE_CHECKING:
    from nodelint.text import Source

_INSIDE = r"(?<=\S)(?:(?:apiVersion|kind|metadata|spec)[ \t]*:[ \t]|---[ \t]*$)"
"""The beginning of a second file behind the last line of a file without a final line break."""


def find_joined_line(source: Source) -> int | None:
    """Return the number of the line in which a second file begins. None if there is no sign of a second file."""
    if not source.problems:
        return None
    offset = source.problems[0].offset
    at = source.position(offset)
    joined = at.column == 1 and _names_two_objects(source, offset)
    joined = joined or _is_second_json(source.text, offset) or re.search(_INSIDE, source.line(at.line)) is not None
    return at.line if joined else None


def _names_two_objects(source: Source, offset: int) -> bool:
    """Return whether the YAML document around an offset has several top-level `apiVersion` keys.

    Then two objects are joined.
    """
    before, behind = source.text[:offset], source.text[offset:]
    document = re.split(r"(?m)^---", before)[-1] + re.split(r"(?m)^---", behind)[0]
    return len(re.findall(r"(?m)^apiVersion[ \t]*:", document)) > 1


def _is_second_json(text: str, offset: int) -> bool:
    return text.lstrip()[:1] == text[offset : offset + 1] == "{" and text[:offset].rstrip().endswith("}")
