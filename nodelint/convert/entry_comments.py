"""The comments of entries that are written again in another place: above an entry, and behind its value."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from nodelint.base.tuples import NamedTuple
from nodelint.convert.rewrite import Draft
from nodelint.text.nodes import MappingEntry

_BEHIND = re.compile(r"(?:[ \t]*+,)?[ \t]++((?:#|//)[^\r\n]*)")


class EntryComments(NamedTuple):
    """The comments of an entry, with its key: the lines above it, and the comment after its value."""

    key: str
    above: list[str]
    behind: str


def list_entry_comments(draft: Draft) -> list[EntryComments]:
    """Return the comments above entries of HCL and at the end of their lines."""
    found = []
    for entry in _own_lines(draft):
        begin = draft.text.rfind("\n", 0, entry.key.start) + 1
        above: list[str] = []
        while begin and (line := _line_before(draft.text, begin)).lstrip().startswith(("#", "//")):
            above.insert(0, line.strip())
            begin -= len(line)
        tail = _BEHIND.match(draft.text, entry.value.end)
        if above or tail is not None:
            found.append(EntryComments(str(entry.name), above, tail[1].strip() if tail is not None else ""))
    return found


def keep_entry_comments(draft: Draft, comments: Sequence[EntryComments]) -> None:
    """Insert the comments of an entry that was written again in another place, if only one entry has its name."""
    for comment in comments:
        have = Counter(line.strip() for line in draft.text.splitlines())
        entries = [entry for entry in _own_lines(draft) if entry.name == comment.key]
        if len(entries) != 1:
            continue
        (entry,) = entries
        begin = draft.text.rfind("\n", 0, entry.key.start) + 1
        indent = draft.text[begin : entry.key.start]
        above = [] if all(have[line] for line in comment.above) else comment.above
        lines = "".join(f"{indent}{line}{draft.newline}" for line in above)
        end = entry.value.end
        behind = comment.behind if comment.behind and comment.behind not in draft.text else ""
        while behind and draft.text[end : end + 1] == ",":
            end += 1
        tail = f" {behind}" if behind and draft.text[end : end + 1] in ("\n", "\r", "") else ""
        if lines or tail:
            draft.take(draft.text[:begin] + lines + draft.text[begin:end] + tail + draft.text[end:])


def _own_lines(draft: Draft) -> Iterator[MappingEntry]:
    """Yield the entries that begin a line."""
    for node in draft.node.walk():
        for entry in node.entries if node.kind == "mapping" else ():
            begin = draft.text.rfind("\n", 0, entry.key.start) + 1
            if not draft.text[begin : entry.key.start].strip():
                yield entry


def _line_before(text: str, at: int) -> str:
    return text[text.rfind("\n", 0, at - 1) + 1 : at]
