"""Comments next to a value: what an author wrote about the value."""

from __future__ import annotations

from nodelint.base.types import TYPE_CHECKING

if TYPE_CHECKING:
    from nodelint.model.manifest_terms import RequirementLine


def of_requirement(line: RequirementLine) -> str:
    """Return the comments inside a requirement and those right above it."""
    return around(line.node.source.text, line.node.start, line.values_node.end)


def around(text: str, start: int, end: int) -> str:
    """Return the comments from `start` to the end of the line of `end`, and those right above."""
    start = text.rfind("\n", 0, start) + 1
    end = text.find("\n", end)
    found = [_behind_hash(comment_line) for comment_line in text[start : end if end >= 0 else len(text)].split("\n")]
    while start > 0:
        before = text.rfind("\n", 0, start - 1) + 1
        above = text[before : start - 1].strip()
        if not above.startswith("#"):
            break
        found.append(above)
        start = before
    return " ".join(comment_line for comment_line in found if comment_line)


def _behind_hash(line: str) -> str:
    _, mark, comment = line.partition(" #") if not line.lstrip().startswith("#") else ("", "#", line)
    return comment if mark else ""
