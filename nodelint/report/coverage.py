"""The objects of a run that were judged completely or in part, with each unknown value and its place."""

from __future__ import annotations

from nodelint.base.printable import printable
from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.inventory.switched_off import list_switched_off
from nodelint.lint.unjudged import list_unjudged
from nodelint.model.finding import Span, find_object_place, span_of, written_place
from nodelint.model.gap import CHART_ELSEWHERE, Gap
from nodelint.model.manifest import EC2NodeClass
from nodelint.model.messages import counted
from nodelint.model.partial_objects import is_unclaimed_patch, list_conditional, list_gaining
from nodelint.model.placeholder_names import by_code, namesakes_of
from nodelint.text import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from nodelint.lint.engine import Report
    from nodelint.model.manifest import Object
    from nodelint.text import Node

_MOST_LINES = 5
_MOST_FIELDS = 2
_MOST_LETTERS = 60
"""The most characters that are quoted of an unknown value."""

_DECIDES = {
    "NodePool": r"spec(?:\.template(?:\.spec)?)?|spec\.disruption(?:\.budgets)?|spec\.limits"
    r"|spec\.disruption\.(?:budgets\[.*|consolidat\w+)|spec\.limits\..*"
    r"|spec\.template\.spec\.(?:expireAfter|terminationGracePeriod|(?:requirements|taints|startupTaints)(?:\[\d+\](?:\.\w+(?:\[\d+\])?)?)?"
    r"|nodeClassRef(?:\.(?:group|kind|name))?)",
    "EC2NodeClass": r"spec|spec\.(?:amiFamily|userData|amiSelectorTerms(?:\[\d+\](?:\.alias)?)?"
    r"|(?:subnet|securityGroup|capacityReservation)SelectorTerms(?:\[\d+\])?"
    r"|(?:kubelet|metadataOptions|blockDeviceMappings)(?:[.\[].*)?)",
}
"""Patterns of fields without which a result is not known, by kind. Names, roles and tags do not decide a result."""


_BY_THEMSELVES = r"(?!spec\.).*|spec\.(?:weight|tags.*|template\.metadata.*)"


class Coverage(NamedTuple):
    """The objects of a run as clusters get them, and their unknown values.

    `in_part` are the objects that are judged in part: a value that affects findings is unknown, or a rule could not
    judge the object for a reason other than a missing fact from AWS. `files_in_part` are the paths of files that a
    rule could not judge. Every report and the exit code of `--fail-on-unjudged` read these two. `not_judged` are
    (path, line, label, reason) of parts that are no judged object. `unbuilt` are remarks on overlays: a file that is
    not in the repository, or a program that is needed. `switched_off` are judged objects of Terraform blocks without
    instances, each with the reason.
    """

    objects: tuple[Object, ...]
    unknown: tuple[Gap, ...]
    in_part: tuple[Object, ...]
    not_judged: tuple[tuple[str, int, str, str], ...]
    unbuilt: tuple[Gap, ...] = ()
    switched_off: tuple[tuple[Object, str], ...] = ()
    files_in_part: tuple[str, ...] = ()


def cover(report: Report) -> Coverage:
    """Return the coverage of a run."""
    classes = by_code(obj for obj in report.seen if isinstance(obj, EC2NodeClass))
    found = tuple(unknown for obj in report.seen for unknown in _unknown_fields(obj, classes))
    partly = {id(gap.object): gap.object for gap in found if gap.decides and gap.object is not None}
    partly.update((id(obj), obj) for obj in _list_skipped(report))
    unjudged, switched_off = tuple(list_unjudged(report)), tuple(list_switched_off(report.seen))
    files = {gap.path: None for gap in report.skipped if gap.rule is not None and gap.object is None}
    files_in_part = tuple(path for path in files if path)
    return Coverage(report.seen, found, tuple(partly.values()), unjudged, report.unbuilt, switched_off, files_in_part)


def _list_skipped(report: Report) -> Iterator[Object]:
    """Yield the objects that a rule could not judge, except because a fact from AWS is missing."""
    judged = {id(obj) for obj in report.objects}
    skipped = [
        gap.object
        for gap in report.skipped
        if gap.object is not None and (gap.rule is not None or id(gap.object) in judged)
    ]
    if not skipped:
        return
    seen: dict[object, list[Object]] = {}
    for obj in report.seen:
        seen.setdefault(_identify_written(obj), []).append(obj)
    for obj in skipped:
        yield from seen.get(_identify_written(obj), (obj,))


def _identify_written(obj: Object) -> object:
    """Return what identifies an object of the files, in whichever rendering it is."""
    place = span_of(written_place(obj.name_node))
    return obj.label, place.source.path, place.start


_GAINS = "may have more fields, which template code prints"
_CONDITIONAL = "depends on a condition of the template"
_REPEATED = "depends on a loop of the template"
_UNCLAIMED = "is only patched here, and no kustomization.yaml in its folder or above names it"


def _unknown(obj: Object, field: str, node: Node, decides: bool, reason: str = "has no value yet") -> Gap:
    """Return a gap for a value of an object that is unknown until the object is installed."""
    return Gap(span_of(written_place(node)), "field", reason, decides, object=obj, subject=field)


def _unknown_fields(obj: Object, classes: Mapping[str, Sequence[EC2NodeClass]]) -> Iterator[Gap]:
    if is_unclaimed_patch(obj.node, obj.kind, obj.document):
        yield _unknown(obj, "spec", obj.name_node, True, _UNCLAIMED)
    if obj.of_values:
        yield _unknown(obj, "spec", obj.name_node, True, CHART_ELSEWHERE)
    yield from _template_fields(obj)
    pending = [("", obj.node)]
    while pending:
        field, node = pending.pop()
        if node.kind == "mapping":
            for entry in reversed(node.entries):
                name = entry.name if entry.name is not None else entry.key.unquoted
                below = f"{field}.{name}" if field else name
                pending.append((below, entry.value))
                if entry.name is None:
                    decides = _decides(obj.kind, field)  # it may be any field
                    yield _unknown(obj, below, entry.key, decides)
        elif node.kind == "sequence":
            pending += [(f"{field}[{n}]", node.items[n]) for n in reversed(range(len(node.items)))]
        elif node.value is UNKNOWN:
            known = field.endswith("nodeClassRef.name") and bool(namesakes_of(node, classes))
            yield _unknown(obj, field, node, not known and _decides(obj.kind, field))


def _template_fields(obj: Object) -> Iterator[Gap]:
    """Yield gaps for fields that depend on template code: fields in a condition or loop, and fields that
    code adds.
    """
    for field, value, at, is_loop in list_conditional(obj.node, obj.document):
        if value.value is not UNKNOWN and _may_matter(obj.kind, field):
            reason = _REPEATED if is_loop else _CONDITIONAL
            yield Gap(Span(obj.source, at, at), "field", reason, True, object=obj, subject=field)
    if obj.source.masked:
        for field, _, at in list_gaining(obj.node, obj.document):
            if _decides(obj.kind, field):
                yield Gap(Span(obj.source, at, at), "field", _GAINS, True, object=obj, subject=field)


def _decides(kind: str, field: str) -> bool:
    import re

    return kind in _DECIDES and re.fullmatch(_DECIDES[kind], field) is not None


def _may_matter(kind: str, field: str) -> bool:
    """Return whether it matters that an object has the field. Labels, tags and a weight do not matter."""
    import re

    return kind in _DECIDES and re.fullmatch(_BY_THEMSELVES, field) is None


def _excerpt_of(field: Gap) -> str:
    """Return the text in place of an unknown value; empty if there is no value."""
    if field.reason in (_UNCLAIMED, _GAINS, _CONDITIONAL, _REPEATED, CHART_ELSEWHERE):
        return ""
    at = field.at
    text = " ".join(at.source.text[at.start : at.end].split())
    return text if len(text) <= _MOST_LETTERS else text[: _MOST_LETTERS - 3] + "..."


def coverage_lines(coverage: Coverage, verbose: bool = False) -> list[str]:
    """Return a line for each object that is judged in part, and for remarks on overlays; a few, or all if `verbose`.

    Each line names the unknown fields of the object and the text in their place.
    """
    most_fields, most_lines = (None, None) if verbose else (_MOST_FIELDS, _MOST_LINES)
    lines: dict[str, None] = {}
    for obj in coverage.in_part:
        fields = [field for field in coverage.unknown if field.object is obj and field.decides]
        if not fields:
            continue  # a rule could not judge the object: `Skipped` names the reason
        shown = []
        for field in fields[:most_fields]:
            written = _excerpt_of(field)
            what = f"is `{written}`" if written else field.reason
            shown.append(f"{field.subject} {what} ({field.file_place})")
        left = len(fields) - len(shown)
        more = f" and {counted(left, 'more field')}" if left else ""
        lines[printable(f"Not known: {obj.label}: {', '.join(shown)}{more}.")] = None
    shown_lines = list(lines)[:most_lines]
    if len(lines) > len(shown_lines):
        rest = counted(len(lines) - len(shown_lines), "more object")
        shown_lines.append(f"Not known: fields of {rest}; --verbose lists them.")
    return [
        *switched_off_lines(coverage.switched_off, most_lines),
        *shown_lines,
        *_unbuilt_lines(coverage.unbuilt, most_lines),
    ]


def switched_off_lines(
    switched_off: Iterable[tuple[Object, str]], most: int | None, done: str = "judged anyway"
) -> list[str]:
    """Return at most one line with the objects that Terraform does not create, and why.

    `done` says how they are treated, `most` limits the named objects (None: all).
    """
    places = [(obj.label, find_object_place(obj), reason) for obj, reason in switched_off]
    few = list(dict.fromkeys(f"{label} ({path}:{line}): {reason}" for label, (path, line), reason in places))
    if not few:
        return []
    more = f" and {counted(len(few) - len(few[:most]), 'more object')}" if len(few) > len(few[:most]) else ""
    listed = printable("; ".join(few[:most]) + more)
    return [f"Not created by Terraform, {done}: {listed}."]


def _unbuilt_lines(unbuilt: Sequence[Gap], most: int | None) -> list[str]:
    lines = [printable(f"Overlay: {overlay.path}:{overlay.line}: {overlay.reason}.") for overlay in unbuilt[:most]]
    if len(unbuilt) > len(lines):
        lines.append(f"Overlay: {counted(len(unbuilt) - len(lines), 'more remark')}; --verbose lists them.")
    return lines


def coverage_json(coverage: Coverage) -> dict[str, Any]:
    """Return the judged and unjudged objects as plain values for JSON."""
    partly = set(map(id, coverage.in_part))
    return {
        "objects": len(coverage.objects),
        "judged": len(coverage.objects) - len(partly),
        "switchedOff": [
            {"path": path, "line": line, "object": obj.label, "reason": reason}
            for obj, reason in coverage.switched_off
            for path, line in [find_object_place(obj)]
        ],
        "inPart": [_object_json(obj, coverage.unknown) for obj in coverage.in_part],
        "notJudged": [
            {"path": path, "line": line, "object": label or None, "reason": reason}
            for path, line, label, reason in coverage.not_judged
        ],
        "notBuilt": [
            {"path": overlay.path, "line": overlay.line, "reason": overlay.reason} for overlay in coverage.unbuilt
        ],
        "unknown": [_field_json(field) for field in coverage.unknown],
    }


def _object_json(obj: Object, unknown: Sequence[Gap]) -> dict[str, Any]:
    at = span_of(written_place(obj.name_node))
    fields = [_field_json(field) for field in unknown if field.object is obj and field.decides]
    return {
        "kind": obj.kind,
        "name": obj.name if isinstance(obj.name, str) else None,
        "path": at.source.path,
        "line": at.source.position(at.start).line,
        "unknown": fields,
    }


def _field_json(field: Gap) -> dict[str, Any]:
    obj, place = field.object, field.file_place
    assert obj is not None
    return {
        "kind": obj.kind,
        "name": obj.name if isinstance(obj.name, str) else None,
        "field": field.subject,
        "path": place.path,
        "line": place.line,
        "written": _excerpt_of(field),
        "decides": field.decides,
    }
