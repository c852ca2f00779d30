"""Find fixes that would break a file, or that change files which the user did not name: they are not offered."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Set

from nodelint.base.budget import RUN
from nodelint.edits import reread_edited
from nodelint.lint.engine import Report, Target
from nodelint.lint.fix_bisection import find_breaking_fixes
from nodelint.lint.results import OccupiedSpans, Result
from nodelint.model.documents import objects
from nodelint.model.finding import Edit, Withheld, by_source
from nodelint.model.manifest import Object, served
from nodelint.model.releases import Version
from nodelint.rule.context import Context
from nodelint.rule.suppressions import Suppression
from nodelint.text import Source, SourceText


def mark_fix(result: Result) -> tuple[str, str, str]:
    """Return the key of a fix: rule, file and message."""
    return result.rule.name, result.span.source.path, result.finding.message


class EditedTexts:
    """A cache of edited and parsed sources, because several checks try the same edits."""

    def __init__(self) -> None:
        self._read: dict[tuple[int, tuple[Edit, ...]], Source] = {}
        self._dropped = 0

    def read(self, source: Source, edits: Sequence[Edit]) -> Source:
        """Return the source with the edits applied, for judging only.

        Documents that no edit touches are shared with the old source, so the result must not be edited further.
        """
        key = id(source), tuple(sorted(dict.fromkeys(edits), key=lambda edit: (edit.start, edit.end)))
        if key not in self._read:
            self._read[key] = reread_edited(source, key[1])
        return self._read[key]

    def list_keys(self) -> frozenset[object]:
        """Return the keys of the cached sources."""
        return frozenset(self._read)

    def keep_only(self, keys: frozenset[object]) -> None:
        """Keep no more than some of the texts: each has a tree of its own, many times as large as it."""
        dropped = [key for key in self._read if key not in keys]
        self._dropped += sum(len(self._read.pop(key).text) for key in dropped)
        if self._dropped > _MOST_DROPPED:
            self._dropped = 0
            gc.collect()  # a tree is a cycle: its nodes know their source, which knows them


_MOST_DROPPED = 4_000_000
"""The number of characters of dropped texts from which their memory is freed. Less is not worth the time."""


def applicable(
    sources: Sequence[Source],
    report: Report,
    texts: EditedTexts | None = None,
    leave_firsts: Callable[[Sequence[Result]], Sequence[Result]] | None = None,
) -> Report:
    """Return the report with only the fixes that `fix` would apply; other findings say why their fix is withheld.

    `leave_firsts` keeps one of several fixes with equal edits: the others are tried only if this one breaks its file.
    A fix that breaks a file only together with others is tried in a later round. Safe fixes are tried without and
    with the unsafe ones, because the user may ask for either.
    """
    if RUN.is_over():
        late = (_drop_refused_fix(result, RUN.late_reason if result.fixable else None) for result in report.results)
        return report._replace(results=tuple(late))
    why: dict[int, str] = {}
    # Without a block scalar no line below a comment can become a line of a text once the comment is gone.
    plain = {id(source) for source in sources if not (source.masked or "|" in source.text or ">" in source.text)}
    known = {id(source): source for source in sources}
    for safety in {result.safety for result in report.results if result.fixable}:
        refused: dict[tuple[str, str, str], tuple[Result, str]] = {}
        chosen = choose_compatible(report.results, sources, safety == "unsafe", refused)
        chosen = [result for result in chosen if id(result.span.source) not in plain or not _edits_comment(result)]
        why.update((id(result), reason) for result, reason in refused.values())
        firsts = leave_firsts(chosen) if leave_firsts is not None and len(chosen) > 1 else chosen
        if len(firsts) < len(chosen) and not find_broken(
            sources, firsts, report.target, make_edits(sources, firsts, texts)
        ):
            continue
        for n, reason in find_broken(sources, chosen, report.target, make_edits(sources, chosen, texts)).items():
            alone = [known[source_id] for source_id in {id(edit.source): None for edit in chosen[n].finding.edits}]
            if why_broken(alone, make_edits(alone, [chosen[n]]), report.target, sources) is not None:
                why[id(chosen[n])] = reason
    if not why:
        return report
    return report._replace(results=tuple(_drop_refused_fix(result, why.get(id(result))) for result in report.results))


def _edits_comment(result: Result) -> bool:
    """Return whether a fix changes only a suppression comment, which no parser of the file sees."""
    if result.rule.on is not Suppression:
        return False
    source, comment, text = result.span.source, result.span, result.span.source.text
    for edit in result.finding.edits:
        if edit.source is not source or edit.end < edit.start or "\n" in edit.text:
            return False
        within = comment.start < edit.start and edit.end <= comment.end
        before, behind = text[edit.start : comment.start], text[comment.end : edit.end]
        whole_line = behind in ("\n", "\r\n") and text[edit.start - 1 : edit.start] in ("", "\n")
        gone = edit.text == "" and before.strip(" \t") == "" and (behind == "" or whole_line)
        if not (within or (gone and edit.start <= comment.start and comment.end <= edit.end)):
            return False
    return True


def _drop_refused_fix(result: Result, why: str | None) -> Result:
    """Return the finding, without its fix if there is a reason against it."""
    if why is None:
        return result
    withheld = Withheld("not-editable", detail=why)
    return result._replace(finding=result.finding._replace(edits=(), safety=None, withheld=withheld))


def find_broken(
    sources: Sequence[Source], chosen: Sequence[Result], target: Target, tried: Sequence[Source]
) -> dict[int, str]:
    """Return the fixes that would break a file: the reason, by index in `chosen`.

    `tried` are the sources with all fixes.
    """
    if not chosen or not why_broken(sources, tried, target):
        return {}
    found = find_breaking_fixes(
        sources, chosen, lambda old, results: why_broken(old, make_edits(old, results), target, sources)
    )
    # What each leaves whole may break what others change: two files that come to hold objects of one name.
    rest = [n for n in range(len(chosen)) if n not in found]
    while rest and (why := why_broken(sources, make_edits(sources, [chosen[n] for n in rest]), target)):
        whole, broken = 0, len(rest)
        while broken - whole > 1:
            half = (whole + broken) // 2
            bad = why_broken(sources, make_edits(sources, [chosen[n] for n in rest[:half]]), target)
            whole, broken = (whole, half) if bad else (half, broken)
        found[rest.pop(broken - 1)] = why
    return found


def choose_compatible(
    results: Sequence[Result],
    sources: Sequence[Source],
    unsafe: bool,
    refused: dict[tuple[str, str, str], tuple[Result, str]],
) -> list[Result]:
    """Return the fixes of one round in the order of their places, without those that touch an accepted one.

    A fix that changes a file which the user did not name is added to `refused`.
    """
    chosen: list[Result] = []
    taken = OccupiedSpans()
    requested = {id(source) for source in sources if source.is_editable}
    for result in results:
        spans = [edit.span for edit in result.finding.edits]
        if not spans or (result.safety == "unsafe" and not unsafe) or (refused and mark_fix(result) in refused):
            continue
        beyond = [span.source.path for span in spans if id(span.source) not in requested]
        if beyond:
            files = " and ".join(dict.fromkeys(beyond))
            refused[mark_fix(result)] = (result, f"it changes {files}, which was not named: name it as well")
            continue
        if [span for span in spans if not span.source.whole]:
            refused[mark_fix(result)] = (result, "the file is too long to rewrite")
            continue
        if not any(map(taken.touches, spans)):
            chosen.append(result)
            taken.add(spans)
    return chosen


def make_edits(
    sources: Sequence[Source], results: Sequence[Result], texts: EditedTexts | None = None
) -> list[Source]:
    """Return the sources with the edits applied, for judging only: untouched documents are shared with the old
    sources.
    """
    texts = texts or EditedTexts()
    edits = edits_by_source(results)
    return [texts.read(source, edits[id(source)]) if id(source) in edits else source for source in sources]


def edits_by_source(results: Sequence[Result]) -> dict[int, list[Edit]]:
    """Return the edits of fixes, by the id of the source that they change."""
    groups = by_source(edit for result in results for edit in result.finding.edits)
    return {id(group[0].source): group for group in groups}


def why_broken(
    before: Sequence[SourceText], after: Sequence[SourceText], target: Target, texts: Sequence[SourceText] = ()
) -> str | None:
    """Return why the new texts are worse than the old ones, considering the other `texts`.

    None if they are not worse.
    """
    for old, new in zip(before, after, strict=True):
        if new is old:
            continue
        if len(new.problems) > len(old.problems) or len(new.set_aside) > len(old.set_aside):
            return "the file would no longer parse"
        # What both texts share is as faulty in the one as in the other.
        same = {id(document) for document in old.documents}.intersection(map(id, new.documents))
        rewritten = [obj for obj in objects(new) if id(obj.document) not in same]
        targets = _release_targets([*objects(old), *rewritten], target)
        fresh = _schema_faults(new, targets, same) - _schema_faults(old, targets, same)
        gone = [o for o in objects(old) if any(not served(o, release) for release in targets)]
        if fresh and not gone:
            return f"the API server would refuse the file: {next(iter(fresh))}"
    return _explain_duplicates(before, after, texts)


def _explain_duplicates(
    before: Sequence[SourceText], after: Sequence[SourceText], other_texts: Sequence[SourceText]
) -> str | None:
    """Return a sentence if the new texts, but not the old ones, contain two objects of one kind and name that are
    applied together. Else None.
    """
    gained: set[tuple[str, object]] = set()
    for old, new in zip(before, after, strict=True):
        if new is not old:
            gained |= (_names(new) - _names(old)).keys()
    if not gained:
        return None
    from nodelint.rule.clusters import namesakes

    known = set(map(id, before))
    texts = (*after, *(text for text in other_texts if id(text) not in known))
    for same in namesakes([obj for text in texts for obj in objects(text)]).values():
        if (same[0].kind, same[0].name) in gained:
            return f"there would be two objects {same[0].label}"
    return None


def _names(source: SourceText) -> Counter[tuple[str, object]]:
    """Return how often each (kind, name) of v1 objects occurs in a text."""
    return Counter((obj.kind, obj.name) for obj in objects(source) if obj.version == "v1")


def _release_targets(objs: Sequence[Object], target: Target) -> dict[Version, Target]:
    """Return the targets for which the objects are judged, by release.

    The texts before and after a fix are judged for the same releases.
    """
    return {chosen.karpenter: chosen for obj in objs for chosen in target.for_object(obj)}


def _schema_faults(source: SourceText, targets: Mapping[Version, Target], but: Set[int]) -> Counter[str]:
    """Return how often the API server would give each reason. Objects of the documents `but` (by id) do not count."""
    found: Counter[str] = Counter()
    for obj in objects(source):
        if id(obj.document) in but:
            continue
        for release, release_target in targets.items():
            if served(obj, release):
                context = Context([obj], release_target)
                found.update(p.message for p in context.problems(obj) if p.layer != "unjudged")
    return found
