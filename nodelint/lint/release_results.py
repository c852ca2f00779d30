"""Adapt findings to the release of their object: severity, fixes, and the line that states the release."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from nodelint.base.types import TYPE_CHECKING
from nodelint.lint.results import Result
from nodelint.model.early_releases import lacks
from nodelint.model.finding import Also, Finding, Span
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
    # One upgrade converts all of them: of what is gone, what is to be done differs by what hinders it alone.
    once = f"{finding.message} {finding.help}" if retired else finding.once
    return result._replace(finding=finding._replace(edits=(), safety=None, suggestions=(), note=note, once=once))


def point_to_statements(
    results: Iterable[Result], chosen: Mapping[int, Sequence[Chosen]], files: Iterable[Source]
) -> list[Result]:
    """Return the results, with those about a release moved to the line that states it, if that file is judged.

    A comment at the object still suppresses such a finding.
    """
    by_path: dict[str, Source] = {}
    found = []
    for result in results:
        stating = None
        if "stated-release" in result.rule.tags:
            by_path = by_path or {source.path: source for source in files}
            choice = next(iter(result.holds or chosen.get(id(result.object), ())), None)
            about_karpenter = result.finding.message.startswith("Karpenter ")
            if choice is not None:
                stating = choice.karpenter_from if about_karpenter else choice.kubernetes_from
        source = by_path.get(stating.path) if stating is not None else None
        found.append(result if stating is None or source is None else _at_statement(result, stating, source))
    return found


def _at_statement(result: Result, stating: Evidence, source: Source) -> Result:
    lines = source.text.split("\n")
    start = sum(len(line) + 1 for line in lines[: stating.line - 1])
    line = lines[stating.line - 1]
    indent = len(line) - len(line.lstrip(" \t-"))
    at = Span(source, start + indent, start + len(line.rstrip()))
    note = Also(result.finding.at, "is judged for it")
    finding = result.finding._replace(at=at, also=[*result.finding.also, note])
    return result._replace(finding=finding, through=(*result.through, result.span))
