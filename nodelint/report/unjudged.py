"""What a run did not judge, counted in few words."""

from __future__ import annotations

from collections.abc import Sequence

from nodelint.model.messages import counted
from nodelint.tuples import NamedTuple

TYPE_CHECKING = False

if TYPE_CHECKING:
    from nodelint.lint.engine import Report, Skipped

_RENDERED = ("--kustomize", "--helm")
_MOST = 3
"""Paths that a line names."""

_PLACES = {"script": "a heredoc", "Markdown file": "a code block"}
"""Where texts have their manifests."""

_DOES = {"overlay": ("patches", "patch"), "chart": ("makes", "make")}

_INSTEAD = {"chart": ", judged by templates and default values"}
"""What is judged of things that are not rendered."""


class Unread(NamedTuple):
    """Files of one kind that hold, or change, Karpenter objects, and were not read; or not rendered.

    `kind` is `script`, `Markdown file`, `overlay`, `chart`, or the name of a programming language. `objects` is their
    number as far as it was counted. `way` is the flag that judges them, None where there is none: of programs, and of
    texts whose objects are no YAML where a text has it.
    """

    kind: str
    files: tuple[str, ...]
    objects: int
    way: str | None


def unjudged_text(report: Report, unread: Sequence[Unread] = ()) -> str:
    """`1 class not judged, 2 pools not judged in full`; empty where all was judged by every rule."""
    asked = {id(obj) for obj in report.objects}
    groups: dict[str, list[Skipped]] = {"not judged": [], "not judged in full": []}
    for skip in report.skipped:
        if skip.object is not None or skip.path:
            passed_over = skip.rule is None and (skip.object is None or id(skip.object) not in asked)
            groups["not judged" if passed_over else "not judged in full"].append(skip)
    said = [f"{_counts(skips)} {how}" for how, skips in groups.items() if skips]
    said += [f"{_files(each)} not {'rendered' if each.way in _RENDERED else 'read'}" for each in unread]
    return ", ".join(said)


def unread_lines(unread: Sequence[Unread]) -> list[str]:
    """What was not read or rendered, and what judges it."""
    lines = []
    programs = [each for each in unread if each.way is None and each.kind not in _PLACES]
    for each in unread:
        one = len(each.files) == 1
        if each.way in _RENDERED:
            what = f"{_files(each)} {_DOES[each.kind][not one]} Karpenter objects{_INSTEAD.get(each.kind, '')}"
            lines.append(f"Not rendered: {what}; {each.way} judges the result.")
        elif each.way is not None:
            objects = counted(each.objects, "Karpenter object")
            lines.append(f"Not read: {_files(each)} {'holds' if one else 'hold'} {objects}; {each.way} reads them.")
        elif each.kind in _PLACES:
            objects, what = counted(each.objects, "Karpenter object"), "that is" if each.objects == 1 else "that are"
            holds = f"{_files(each)} {'holds' if one else 'hold'} {objects}"
            lines.append(f"Not read: {holds} {what} not YAML in {_PLACES[each.kind]}: {_named(each.files)}.")
    if programs:
        objects = counted(sum(each.objects for each in programs), "Karpenter object")
        where = ", ".join(map(_files, programs))
        lines.append(f"Not read: {objects} in {where}; pipe what they generate into `nodelint check -`.")
    return lines


def _named(files: Sequence[str]) -> str:
    return ", ".join(files[:_MOST]) + (f" and {len(files) - _MOST} more" if len(files) > _MOST else "")


def _files(unread: Unread) -> str:
    return counted(len(unread.files), unread.kind)


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
