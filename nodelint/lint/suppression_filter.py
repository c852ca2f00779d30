"""Remove findings that comments suppress, and check these comments."""

from __future__ import annotations

from collections.abc import Sequence, Set

from nodelint.base.tuples import NamedTuple
from nodelint.lint.results import Result, Suppressed
from nodelint.model.finding import Finding, Span
from nodelint.model.span_index import SpanIndex
from nodelint.rule.context import Context
from nodelint.rule.definition import Rule
from nodelint.rule.suppressions import Suppression, suppressions
from nodelint.text import Source


class Suppressing(NamedTuple):
    """The files whose comments suppress findings.

    `sources` are the files of the run. `beside` are other files: their comments suppress findings as well, but no
    rule checks these comments. `is_part`: the files of the run are a part of their repository.
    """

    sources: Sequence[Source]
    beside: Sequence[Source] = ()
    is_part: bool = False


def apply_suppressions(
    results: Sequence[Result],
    files: Suppressing,
    running: Sequence[Rule],
    reporting: Set[str],
    context: Context,
) -> tuple[list[Result], list[Suppressed]]:
    """Return the results that no comment suppresses, with those about comments, and the suppressed results.

    `reporting` are the requested rules.
    """
    about_comments = [rule for rule in running if rule.on is Suppression]
    if not results and not about_comments:
        return [], []
    comments = [comment for source in files.sources for comment in suppressions(source)]
    suppressing = [*comments, *(comment for source in files.beside for comment in suppressions(source))]
    scopes = SpanIndex((comment.scope, comment) for comment in suppressing if comment.scope is not None)
    unsuppressed, suppressed = [], []
    for result in results:
        comment_span = _suppress(result, scopes) if suppressing else None
        if comment_span is None:
            unsuppressed.append(result)
        else:
            suppressed.append(Suppressed(result, comment_span))
    for comment in comments:
        if comment.foreign is not None and about_comments:
            comment.near = tuple(dict.fromkeys(r.rule.name for r in unsuppressed if _is_about(comment, r)))
    ran = {rule.name for rule in running if rule.name in reporting}
    if files.is_part:
        ran -= {rule.name for rule in running if not _ABOUT_OTHER_FILES.isdisjoint(rule.tags)}
    about = _check_suppressions(comments, about_comments, context, ran)
    return unsuppressed + (list(map(_without_removal, about)) if files.is_part else about), suppressed


_ABOUT_OTHER_FILES = {"workloads", "stated-release"}
"""The tags of rules whose findings depend on files of the whole repository."""


def _without_removal(result: Result) -> Result:
    """Return a finding about a comment; its fix is unsafe if it removes names of rules from the comment.

    A run over the whole repository, in which more files use the value, may need the comment.
    """
    finding = result.finding
    if not finding.edits or finding.severity == "info":  # of an old name the new one is written
        return result
    note = "only a part of the repository is judged, and a run over all of it may need the comment"
    return result._replace(finding=finding._replace(safety="unsafe", note=note))


def _is_about(comment: Suppression, result: Result) -> bool:
    """Return whether a finding is in the scope of a comment."""
    scope, at = comment.scope, result.span
    return scope is not None and at.source is comment.source and scope.start <= at.start < scope.end


def _suppress(result: Result, scopes: SpanIndex) -> Span | None:
    """Return the first comment that suppresses a result, and mark all that do as used. None if there is none."""
    first = None
    for place in (result.span, *result.through):
        for comment in scopes.near(place):
            if comment.matches(result.rule.names, result.finding._replace(at=place)):
                comment.used.update(result.rule.names)
                first = first or comment.span
    return first


def _check_suppressions(
    comments: Sequence[Suppression], rules: Sequence[Rule], context: Context, ran: set[str]
) -> list[Result]:
    """Return the results of the rules about suppressions. A comment for a rule that did not run is skipped."""
    not_run = set(context.rule_names) - ran
    results = []
    for rule in rules:
        for comment in comments:
            if not_run.isdisjoint(comment.rules):
                results += [Result(rule, f, None) for f in rule.check(comment, context) if isinstance(f, Finding)]
    return results
