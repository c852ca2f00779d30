"""The number of files and objects that a run did not judge."""

from __future__ import annotations

from collections.abc import Sequence

from nodelint.base.budget import is_spent
from nodelint.base.types import TYPE_CHECKING
from nodelint.model.finding import span_of, written_place
from nodelint.model.messages import counted, list_first

if TYPE_CHECKING:
    from nodelint.inventory.unread_forms import UnreadGroup
    from nodelint.lint.engine import Report
    from nodelint.model.manifest import Object
    from nodelint.report.coverage import Coverage

_MOST = 3
"""The most paths that a line names."""

_PLACES = {"script": "a heredoc", "Markdown file": "a code block"}
"""The part of a text that contains manifests, by the kind of the text."""

_FORMS = {"file": "in a form that nodelint does not read", "set-aside file": "that no tool applies by this name"}
"""The reason why a file without another language is not read, by its kind."""

UNREADABLE = "path"
"""The kind of files that cannot be read. The reasons are on standard error."""

_NOT_RENDERED = {
    "overlay": ("that patches Karpenter objects", "that patch Karpenter objects"),
    "chart": ("with its values", "with their values"),
}
"""The words for one overlay or chart, and for several, that nodelint judges without rendering."""

_HOW = {"overlay": "not rendered", "chart": "rendered without helm"}


def unjudged_text(report: Report, coverage: Coverage, unread: Sequence[UnreadGroup] = ()) -> str:
    """Return `1 class not judged, 2 pools not judged in full`; empty if every rule judged everything."""
    object_ids = {id(obj) for obj in report.objects}
    passed_over = [
        (skip.path, skip.object)
        for skip in report.skipped
        if skip.rule is None and (skip.object is not None or skip.path) and id(skip.object) not in object_ids
    ]
    parts = [f"{_counts(passed_over)} not judged"] if passed_over else []
    parts += [text] if (text := in_part_text(coverage)) else []
    parts += [f"{_files(place)} {_HOW.get(place.kind, 'not read')}" for place in unread]
    if report.unbuilt:
        parts.append(f"{counted(len(report.unbuilt), 'remark')} on overlays")
    return ", ".join(parts)


def in_part_text(coverage: Coverage) -> str:
    """Return a text such as `2 pools not judged in full`; empty if there is no such object or file."""
    things: list[tuple[str, Object | None]] = [(obj.source.path, obj) for obj in coverage.in_part]
    things += [(path, None) for path in coverage.files_in_part]
    return f"{_counts(things)} not judged in full" if things else ""


def gaps_text(report: Report, unread: Sequence[UnreadGroup] = ()) -> str:
    """Return why a run did not judge everything; empty if it did.

    A rule without AWS facts and a chart that helm did not render are no gaps. A rule that ran out of its budget is
    one.
    """
    from nodelint.report.coverage import cover

    coverage = cover(report)
    left_out = [(path, None) for path, *_ in coverage.not_judged]
    parts = [f"{_counts(left_out)} not judged"] if left_out else []
    parts += [text] if (text := in_part_text(coverage)) else []
    if not coverage.not_judged and report.unjudged:
        parts.append(f"{counted(report.unjudged, 'document')} not read")
    parts += [f"{_files(place)} not read" for place in unread if place.kind != "chart"]
    if cut_off := {gap.rule for gap in report.skipped if gap.rule is not None and is_spent(gap.reason)}:
        parts.append(f"{counted(len(cut_off), 'rule')} not run in full")
    return ", ".join(parts)


_JINJA = "Jinja template"
_OWN_LINE = (*_PLACES, *_FORMS, UNREADABLE, _JINJA)
"""Kinds with a line of their own."""


def unread_lines(unread: Sequence[UnreadGroup]) -> list[str]:
    """Return a line for each kind of unread or unrendered file, with the flag that makes nodelint judge it."""
    lines = []
    programs = [place for place in unread if place.way is None and place.kind not in _OWN_LINE]
    for place in unread:
        single = len(place.files) == 1
        if place.kind in _NOT_RENDERED:
            values = f" and {list_first(place.values, _MOST)}" if place.values else ""
            what = f"{_files(place)} {_NOT_RENDERED[place.kind][not single]}{values}"
            lines.append(f"{_HOW[place.kind].capitalize()}: {what}; to judge the result: {place.way}.")
        elif place.kind == _JINJA:
            what = "a template of Terraform" if single else "templates of Terraform"
            lines.append(f"Not read: {_files(place)}, {what}: {list_first(place.files, _MOST)}.")
        elif place.way is not None:
            objects = counted(place.objects, "Karpenter object")
            holds = f"{_files(place)} {'holds' if single else 'hold'} {objects}"
            lines.append(f"Not read: {holds} ({list_first(place.files, _MOST)}); {place.way} reads them.")
        elif place.kind in _FORMS:
            objects = counted(place.objects, "Karpenter object")
            holds = f"{_files(place)} {'holds' if single else 'hold'} {objects} {_FORMS[place.kind]}"
            lines.append(f"Not read: {holds}: {list_first(place.files, _MOST)}.")
        elif place.kind in _PLACES:
            objects, what = (
                counted(place.objects, "Karpenter object"),
                "that is" if place.objects == 1 else "that are",
            )
            holds = f"{_files(place)} {'holds' if single else 'hold'} {objects}"
            lines.append(
                f"Not read: {holds} {what} not YAML in {_PLACES[place.kind]}: {list_first(place.files, _MOST)}."
            )
    if programs:
        number = sum(unread.objects for unread in programs)
        where = ", ".join(f"{_files(place)} ({list_first(place.files, _MOST)})" for place in programs)
        what = f"{counted(number, 'Karpenter object')} in {where}" if number else where
        them = "it generates" if sum(len(place.files) for place in programs) == 1 else "they generate"
        lines.append(f"Not read: {what}; pipe what {them} into `nodelint check -`.")
    return lines


def _files(unread: UnreadGroup) -> str:
    return counted(len(unread.files), unread.kind)


def _counts(things: Sequence[tuple[str, Object | None]]) -> str:
    seen: dict[str, set[object]] = {}
    for path, obj in things:
        if obj is not None:
            place = span_of(written_place(obj.node.get("kind") or obj.node))
            seen.setdefault(_word(obj.kind), set()).add((path, obj.label, place.start))
        else:
            seen.setdefault("file", set()).add(path)
    parts = [_several(len(members), word) for word, members in seen.items()]
    return " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))


def _word(kind: str) -> str:
    return "class" if kind.endswith("NodeClass") else "pool" if kind == "NodePool" else "object"


def _several(number: int, word: str) -> str:
    return f"{number:,} classes" if word == "class" and number > 1 else counted(number, word)
