"""What a run did not judge, counted in few words."""

from __future__ import annotations

from collections.abc import Sequence

from nodelint.lint.engine import Report
from nodelint.lint.results import Skipped
from nodelint.model.messages import counted


def unjudged_text(report: Report) -> str:
    """`1 class not judged, 2 pools not judged in full`; empty where all was judged by every rule."""
    asked = {id(obj) for obj in report.objects}
    groups: dict[str, list[Skipped]] = {"not judged": [], "not judged in full": []}
    for skip in report.skipped:
        if skip.object is not None or skip.path:
            unread = skip.rule is None and (skip.object is None or id(skip.object) not in asked)
            groups["not judged" if unread else "not judged in full"].append(skip)
    return ", ".join(f"{_counts(skips)} {how}" for how, skips in groups.items() if skips)


def _counts(skips: Sequence[Skipped]) -> str:
    seen: dict[str, set[object]] = {}
    for skip in skips:
        if skip.object is not None:
            seen.setdefault(_word(skip.object.kind), set()).add((skip.path, skip.object.label, id(skip.object)))
        else:
            seen.setdefault("file", set()).add(skip.path)
    said = [_several(len(things), word) for word, things in seen.items()]
    return " and ".join(filter(None, [", ".join(said[:-1]), said[-1]]))


def _word(kind: str) -> str:
    return "class" if kind.endswith("NodeClass") else "pool" if kind == "NodePool" else "object"


def _several(number: int, word: str) -> str:
    return f"{number:,} classes" if word == "class" and number > 1 else counted(number, word)
