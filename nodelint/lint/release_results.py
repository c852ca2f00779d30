"""Adapt findings to the release of their object: severity, fixes, and the line that states the release."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from nodelint.base.types import TYPE_CHECKING
from nodelint.lint.results import Result
from nodelint.model.early_releases import lacks
from nodelint.model.finding import Finding, Span
from nodelint.model.manifest import Retired, UnknownKind
from nodelint.model.releases import FIRST_SERVING, NEWEST, OLDEST, RETIRING
from nodelint.text import Source

if TYPE_CHECKING:
    from nodelint.model.evidence import Evidence
    from nodelint.releases.release_choice import Chosen


def downgrade_severity(results: Iterable[Result], chosen: Mapping[int, Sequence[Chosen]]) -> list[Result]:
    """Return the results; an error about an object that the stated older release serves becomes a warning.

    Such an object is judged as the v1 object that it becomes: the API server accepts it today, and converting it is a
    choice. `chosen` are the releases of each object, by its id.
    """
    milder = (_milder(result, chosen.get(id(result.object), ())) for result in results)
    return [result for result in milder if result is not None]


def _without_release(result: Result, chosen: Sequence[Chosen], stating: Evidence) -> Result | None:
    """Return a result about an object whose release is unknown: no error and no conversion if it depends on the
    release.

    The object is judged for the oldest and the newest release. None for a finding that only the oldest release has.
    """
    found_for = {choice.karpenter for choice in result.holds}
    releases = {choice.karpenter for choice in chosen}
    depends = bool(result.holds) and found_for != releases
    if not (depends if len(releases) > 1 else isinstance(result.object, Retired)):
        return result
    if max(releases) not in found_for and len(releases) > 1:
        return None
    finding = result.finding
    unclear = f"{stating.place} ({stating.by}) cannot be resolved"
    note = f"it depends on the release: {unclear}; name it by --karpenter-version"
    if result.severity == "error":
        finding = finding._replace(severity="warning")
    if result.object is not None and finding.at is result.object.node.get("apiVersion"):
        finding = finding._replace(edits=(), safety=None, suggestions=())
    elif finding.edits:
        finding = finding._replace(safety="unsafe")
    finding = finding._replace(note=f"{finding.note}; {note}" if finding.note else note)
    return result._replace(finding=finding, on="")


def _without_newer(finding: Finding, stating: Evidence) -> Finding:
    """Return a finding without the edits that a release before 1.0.0 refuses."""
    release = stating.karpenter
    offers = [offer for offer in finding.suggestions if not any(lacks(release, edit.text) for edit in offer.edits)]
    if any(lacks(release, edit.text) for edit in finding.edits):
        note = f"no fix: Karpenter {stating.version}, which {stating.place} states, refuses what it would write"
        note = f"{finding.note}; {note}" if finding.note else note
        finding = finding._replace(edits=(), safety=None, note=note)
    return finding._replace(suggestions=offers)


def _milder(result: Result, chosen: Sequence[Chosen]) -> Result | None:
    stating = next((choice.not_known for choice in chosen if choice.not_known is not None), None)
    if stating is not None and result.object is not None:
        return _without_release(result, chosen, stating)
    obj, finding = result.object, result.finding
    old = next((c.karpenter_from for c in chosen if c.karpenter_from), None)
    retired = isinstance(obj, Retired)
    if obj is None or old is None or old.karpenter >= (RETIRING if retired else OLDEST):
        return result
    if result.severity == "error" and (retired or "controller" in result.rule.tags):
        finding = finding._replace(severity="warning")
    is_never_served = not retired and (obj.version not in FIRST_SERVING or isinstance(obj, UnknownKind))
    if finding.at is not obj.node.get("apiVersion") or is_never_served:
        return result._replace(finding=_without_newer(finding, old))
    note = f"Karpenter {old.version}, which {old.place} states, still serves it"
    if finding.edits:
        note += f"; `--fix --karpenter-version {NEWEST}` converts it"
    # One upgrade converts all objects of removed APIs: only the reasons that prevent a conversion differ.
    once = f"{finding.message} {finding.help}" if retired else finding.once
    return result._replace(finding=finding._replace(edits=(), safety=None, suggestions=(), note=note, once=once))


def split_stated(
    results: Iterable[Result], chosen: Mapping[int, Sequence[Chosen]], release: Chosen
) -> tuple[list[Result], list[Result]]:
    """Return the results of a run for one release: those about what a file states, with its statement, and the rest.

    `chosen` are the releases of each object, by its id.
    """
    about, others = [], []
    for result in results:
        choices = chosen.get(id(result.object), ()) if "stated-release" in result.rule.tags else ()
        choice = next((choice for choice in choices if choice.bare == release.bare), None)
        stating = None
        if choice is not None:
            about_karpenter = result.finding.message.startswith("Karpenter ")
            stating = choice.karpenter_from if about_karpenter else choice.kubernetes_from
        if stating is None:
            others.append(result)
        else:
            about.append(result._replace(stated=stating, holds=(release,)))
    return about, others


def point_to_statements(results: Iterable[Result], files: Iterable[Source]) -> list[Result]:
    """Return the results, with those about a stated release moved to the line that states it.

    They are then about this line and no object, whatever objects a run judges. A comment at the object still
    suppresses such a finding. `files` are all that may state a release.
    """
    by_path: dict[str, Source] = {}
    found = []
    for result in results:
        if result.stated is not None:
            by_path = by_path or {source.path: source for source in files}
            source = by_path.get(result.stated.path)
            result = result if source is None else _at_statement(result, result.stated, source)
        found.append(result)
    return found


def _at_statement(result: Result, stating: Evidence, source: Source) -> Result:
    lines = source.text.split("\n")
    number = stating.line - 1
    if stating.version not in "".join(lines[number : number + 1]):  # an edit of the run has moved the line
        number = next((n for n, line in enumerate(lines) if stating.version in line), -1)
    if number < 0:
        return result
    start = sum(len(line) + 1 for line in lines[:number])
    line = lines[number]
    indent = len(line) - len(line.lstrip(" \t-"))
    at = Span(source, start + indent, start + len(line.rstrip()))
    finding = result.finding._replace(at=at, also=(), once=False)
    return result._replace(finding=finding, object=None, built=None, through=(*result.through, result.span))
