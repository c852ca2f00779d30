"""Move comments together with the lines that an edit moves."""

from __future__ import annotations

import re
from collections.abc import Sequence

from nodelint.edits.formatting import line_end
from nodelint.model.finding import Edit
from nodelint.text.nodes import Node


def with_comments(added: Sequence[Edit], marker: str, gone: Sequence[Edit], node: Node) -> list[Edit]:
    """Return the edits that add lines, with the comments of the entry `node`, which the edits `gone` remove.

    The comments are written above and after the first added line that contains `marker`. They are dropped if the new
    text is on one line in brackets.
    """
    above, behind = _comments(gone, node)
    if not above and not behind:
        return list(added)
    for number, edit in enumerate(added):
        newline = edit.source.newline
        lines = edit.text.split(newline)
        at = next((n for n, line in enumerate(lines) if n and marker in line), None)
        if at is not None and edit.start == edit.end:
            indent = re.match(" *", lines[at])
            lines[at:at] = [f"{indent[0] if indent else ''}{comment}" for comment in above]
            if behind:
                lines[at + len(above)] += f" {behind}"
            return [*added[:number], edit._replace(text=newline.join(lines)), *added[number + 1 :]]
    return list(added)


def _comments(gone: Sequence[Edit], node: Node) -> tuple[list[str], str]:
    """Return the comments above an entry that are removed with it, and the comment at the end of its line."""
    text = node.source.text
    start = min((edit.start for edit in gone), default=node.start)
    lines = [line.strip() for line in text[start : node.start].splitlines()]
    behind = text[node.end : line_end(text, node.end)].strip() if node.kind == "scalar" else ""
    return [line for line in lines if line.startswith("#")], behind if behind.startswith("#") else ""
