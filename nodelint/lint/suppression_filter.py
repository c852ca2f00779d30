"""Remove findings that comments suppress, and check these comments."""

from __future__ import annotations

from collections.abc import Sequence, Set

from nodelint.lint.results import Result, Suppressed
from nodelint.model.finding import Finding, Span
from nodelint.model.span_index import SpanIndex
from nodelint.rule.context import Context
from nodelint.rule.definition import Rule
from nodelint.rule.suppressions import Suppression, suppressions
from nodelint.text import Source


def apply_suppressions(
    results: Sequence[Result],
    sources: Sequence[Source],
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
    comments = [comment for source in sources for comment in suppressions(source)]
    scopes = SpanIndex((comment.scope, comment) for comment in comments if comment.scope is not None)
    unsuppressed, suppressed = [], []
    for result in results:
        comment_span = _suppress(result, scopes) if comments else None
        if comment_span is None:
            unsuppressed.append(result)
        else:
            suppressed.append(Suppressed(result, comment_span))
    for comment in comments:
        if comment.foreign is not None and about_comments:
            comment.near = tuple(dict.fromkeys(r.rule.name for r in unsuppressed if _is_about(comment, r)))
    ran = {rule.name for rule in running if rule.name in reporting}
    return unsuppressed + _check_suppressions(comments, about_comments, context, ran), suppressed


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
