"""Rules with several checks: if two checks report one place, the finding of the most specific check stays."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.ec2.facts import Missing
from nodelint.model.finding import SEVERITIES, Finding, Safety, Severity, span_of
from nodelint.model.gap import Findings
from nodelint.model.releases import releases_match
from nodelint.model.span_index import SpanIndex
from nodelint.rule.context import Context

if TYPE_CHECKING:
    from typing import Any


class RuleCheck(NamedTuple):
    """A function like a rule's check, with the severity and safety of its findings if they differ from the rule's.

    Findings of a `strict` check are shown only in the strict profile, those of a check `on_request` only if
    `--select` or `--extend-select` names the rule. A check is skipped for other `releases`, and if it `needs_facts`
    and no AWS facts are available.
    """

    check: Callable[[Any, Context], Findings]
    severity: Severity | None = None
    safety: Safety | None = None
    strict: bool = False
    on_request: bool = False
    releases: str = ">=1.0.0"
    needs_facts: bool = False


def run_checks(subject: object, context: Context, *checks: RuleCheck) -> Findings:
    """Yield the findings of the checks. The most specific check comes first: a later finding at its place is dropped
    unless it is more severe.

    If a check misses an AWS fact, the other checks still run. The first `Missing` is raised at the end.
    """
    reported: list[Finding] = []
    missing: Missing | None = None
    for part in checks:
        if (part.strict or part.on_request) and not context.strict:
            continue
        if not releases_match(part.releases, context.karpenter) or (part.needs_facts and not context.facts):
            continue
        found = []
        try:
            for finding in part.check(subject, context):
                if isinstance(finding, Finding):
                    found.append(_complete(part, finding))
                else:
                    yield finding
        except Missing as error:
            missing = missing or error
        new = [finding for finding in found if not _is_explained(finding, reported)]
        yield from new
        reported += new
    if missing is not None:
        raise missing


def _complete(part: RuleCheck, finding: Finding) -> Finding:
    return finding._replace(
        severity=finding.severity or part.severity,
        safety=finding.safety or part.safety,
        strict=finding.strict or part.strict,
        on_request=finding.on_request or part.on_request,
    )


def _is_explained(finding: Finding, reported: Iterable[Finding]) -> bool:
    """Return whether an earlier finding contains the place of this one, or touches what this one covers, and is at
    least as severe.
    """
    better = [other for other in reported if _as_grave(other, finding)]
    if not better:
        return False
    places = SpanIndex((span, span) for other in better for span in (other.span, *map(span_of, other.covers)))
    if any(place.holds(finding.span) for place in places.near(finding.span)):
        return True
    covered = map(span_of, finding.covers)
    return any(place.touches(span) for span in covered for place in places.near(span))


def _as_grave(other: Finding, finding: Finding) -> bool:
    """Return whether `other` may replace `finding`: it is at least as severe and shown at least as often."""
    if (other.strict and not finding.strict) or (other.on_request and not finding.on_request):
        return False
    if other.severity is None or finding.severity is None:
        return other.severity == finding.severity or finding.severity is not None
    return SEVERITIES.index(other.severity) <= SEVERITIES.index(finding.severity)
