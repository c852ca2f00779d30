"""The releases for which the objects of a run were judged, and the lines that state them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.lint.engine import Report
from nodelint.model.evidence import NO_RELEASE
from nodelint.model.finding import find_object_place
from nodelint.model.messages import counted
from nodelint.model.releases import OLDEST, judged_as

if TYPE_CHECKING:
    from nodelint.model.evidence import Evidence
    from nodelint.model.manifest import Object
    from nodelint.releases.release_choice import Chosen


class TargetGroup(NamedTuple):
    """Objects that are judged for the same releases because of the same statements."""

    chosen: tuple[Chosen, ...]
    objects: tuple[Object, ...]


def groups(report: Report) -> list[TargetGroup]:
    """Return the objects of a run by their releases; empty if all are judged for the release of the run."""
    if report.target.choose is None:
        return []
    found: dict[tuple[Chosen, ...], list[Object]] = {}
    for obj in report.objects:
        chosen = report.target.choose(obj)
        if not isinstance(chosen, str):
            found.setdefault(chosen, []).append(obj)
    return [TargetGroup(chosen, tuple(objs)) for chosen, objs in found.items()]


def versions_text(report: Report) -> str:
    """Return all releases for which objects were judged: `Karpenter 1.2.1 and 1.8.1, Kubernetes 1.33`."""
    chosen = [choice for group in groups(report) for choice in group.chosen]
    if not chosen:
        target = report.target
        return f"Karpenter {target.karpenter}" + (f", Kubernetes {target.kubernetes}" if target.kubernetes else "")
    known = [choice for choice in chosen if choice.not_known is None]
    unclear = " and a release that is not known" if len(known) < len(chosen) else ""
    text = f"Karpenter {karpenter_text(known)}{unclear}" if known else "a release of Karpenter that is not known"
    kubernetes = sorted({choice.kubernetes for choice in chosen if choice.kubernetes is not None})
    return text + (f", Kubernetes {_listed(map(str, kubernetes))}" if kubernetes else "")


def assumed(report: Report) -> bool:
    """Return whether no file or flag states the release of any object, so that the newest one is assumed."""
    found = groups(report)
    return bool(found) and all(choice.assumed for group in found for choice in group.chosen)


def judged(report: Report) -> int:
    """Return how many of the requested objects were judged; others state a release that is too old."""
    return len(report.objects) if report.target.choose is None else sum(len(g.objects) for g in groups(report))


def objects_text(report: Report) -> str:
    """Return `8 objects`, or `3 of 8 objects` if the others were not judged."""
    count, all_ = judged(report), len(report.objects) + report.unjudged
    return counted(all_, "object") if count == all_ else f"{count:,} of {counted(all_, 'object')}"


def count_by_severity(report: Report) -> str:
    """Return `2 errors, 1 warning`; empty if there are no findings."""
    counts = [counted(n, noun) for noun in ("error", "warning") if (n := report.number_of(noun))]
    infos = report.number_of("info")
    return ", ".join([*counts, f"{infos:,} info"] if infos else counts)


def broken_text(report: Report) -> str:
    """Return a sentence if no file could be parsed, so that nothing was judged; empty if an object was judged."""
    if judged(report) or not report.unjudged or any("syntax" not in result.rule.tags for result in report.results):
        return ""
    broken = len({result.span.source.path for result in report.results})
    return f"{counted(broken, 'file')} could not be read, and nothing in {'it' if broken == 1 else 'them'} was judged"


def karpenter_text(chosen: Sequence[Chosen]) -> str:
    """Return the releases in few words; consecutive ones are joined to a range."""
    from nodelint.model.ranges import joined

    return _listed(map(str, joined({choice.karpenter for choice in chosen})))


def target_lines(report: Report) -> list[str]:
    """Return one line for each group: the releases, the number of objects, and the lines that state the releases."""
    lines = []
    found = groups(report)
    if len(found) == 1 and not any(
        c.karpenter_from or c.kubernetes_from or c.passed_over or c.not_known for c in found[0].chosen
    ):
        return []
    for group in found:
        unclear = next((choice.not_known for choice in group.chosen if choice.not_known is not None), None)
        if unclear is not None:
            count = counted(len(group.objects), "object")
            lines.append(
                f"Target of {count}: not known. {unclear.place} ({unclear.by}) states a release that nodelint cannot "
                f"resolve. Judged for {karpenter_text(group.chosen)}: findings that depend on the release are no "
                "errors. Name it with --karpenter-version."
            )
            continue
        text = karpenter_text(group.chosen)
        older = [f for f in (c.karpenter_from for c in group.chosen) if f is not None and f.karpenter < OLDEST]
        by = _cite_evidence(c.karpenter_from for c in group.chosen if c.karpenter_from not in older)
        if by:
            text += f", by {by}"
        elif not older and any(choice.assumed for choice in group.chosen):
            text += " (newest known)"
        elif not older:
            text += " (as named)"
        versions = dict.fromkeys(str(choice.kubernetes) for choice in group.chosen if choice.kubernetes is not None)
        if versions and (by := _cite_evidence(choice.kubernetes_from for choice in group.chosen)):
            text += f"; Kubernetes {_listed(versions)}, by {by}"
        line = f"Target of {counted(len(group.objects), 'object')}: Karpenter {text}"
        if len({choice.karpenter for choice in group.chosen if choice.karpenter_from}) > 1:
            line += f"; {_explain_several(group)}"
        if older and any(choice.later for choice in group.chosen):
            line += f"; {_cite_older(older)}: they are judged as converted to v1"
        elif older:
            line += f"; {_cite_older(older)}: judged by the oldest known"
        for evidence in dict.fromkeys(evidence for c in group.chosen for evidence in c.passed_over):
            why = "no release of Karpenter" if evidence.weight == NO_RELEASE else "too old for these objects"
            line += f"; {evidence.version} at {evidence.place} ({evidence.by}) is {why} and does not count"
        newer = dict.fromkeys(filter(None, (judged_as(choice.karpenter.last) for choice in group.chosen)))
        lines.append(line + "".join(f"; judged as {release}" for release in newer) + ".")
    return lines


def _explain_several(group: TargetGroup) -> str:
    """Return why the objects of a group have several releases."""
    sources = [obj.source for obj in group.objects]
    is_rendered = all(source.built is not None or source.built_in or source.roots for source in sources)
    if is_rendered and not any(choice.contested for choice in group.chosen):
        return "each cluster's values are judged for the release of this cluster"
    return "each of these releases may run, so each object is judged for all of them"


def _cite_older(evidence: Sequence[Evidence]) -> str:
    return f"{_cite_evidence(evidence[:1])} states {evidence[0].version}, which is older than nodelint knows"


def _cite_evidence(evidence: Iterable[Evidence | None]) -> str:
    return _listed(f"{item.place} ({item.by})" for item in dict.fromkeys(evidence) if item is not None)


def _listed(words: Iterable[str]) -> str:
    known = list(words)
    return f"{', '.join(known[:-1])} and {known[-1]}" if len(known) > 1 else "".join(known)


def targets_json(report: Report) -> list[dict[str, object]]:
    """Return the releases for which objects were judged, as plain values for JSON."""
    return [
        {
            "karpenter": releases_json(group.chosen),
            "kubernetes": list(dict.fromkeys(str(c.kubernetes) for c in group.chosen if c.kubernetes is not None)),
            "assumed": any(choice.assumed for choice in group.chosen),
            "notKnown": next(
                (
                    {"path": choice.not_known.path, "line": choice.not_known.line, "by": choice.not_known.by}
                    for choice in group.chosen
                    if choice.not_known is not None
                ),
                None,
            ),
            "evidence": [
                {
                    "about": evidence.about,
                    "version": evidence.version,
                    "path": evidence.path,
                    "line": evidence.line,
                    "by": evidence.by,
                }
                for evidence in dict.fromkeys(e for c in group.chosen for e in (c.karpenter_from, c.kubernetes_from))
                if evidence is not None
            ],
            "passedOver": [
                {"version": evidence.version, "path": evidence.path, "line": evidence.line, "by": evidence.by}
                for evidence in dict.fromkeys(evidence for c in group.chosen for evidence in c.passed_over)
            ],
            "objects": [
                {"kind": o.kind, "name": o.name if isinstance(o.name, str) else None, "path": find_object_place(o)[0]}
                for o in group.objects
            ],
        }
        for group in groups(report)
    ]


def releases_json(chosen: Iterable[Chosen]) -> list[dict[str, str]]:
    """Return ranges of releases as plain values for JSON, oldest first."""
    from nodelint.model.ranges import joined

    return [
        {"from": str(releases.first), "to": str(releases.last)} for releases in joined({c.karpenter for c in chosen})
    ]
