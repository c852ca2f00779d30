"""The decisions not to report findings: comments, the configuration, a baseline. An audit lists them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.model.messages import counted
from nodelint.report.locations import place_line
from nodelint.rule.suppressions import suppressions

if TYPE_CHECKING:
    from typing import Any

    from nodelint.config.settings import Settings
    from nodelint.lint.engine import Report, Result
    from nodelint.model.finding import Span
    from nodelint.text import Source

_MOST = 200
"""Comments, and findings of a baseline or a configuration, that the page lists each."""


class Decisions(NamedTuple):
    """The settings that choose what a run reports, the findings that its baseline has, and the files' comments.

    `known` is None if the run has no baseline.
    """

    settings: Settings
    known: Sequence[Result] | None
    sources: Sequence[Source]


def list_decisions(decisions: Decisions, report: Report) -> list[str]:
    """Return a line for each decision: the profile first, then rules, paths, the baseline, and comments."""
    settings, known, sources = decisions
    lines = [*_list_settings(settings), *_list_ignored(report), *_list_known(settings.baseline, known)]
    return [*lines, *_list_comments(sources, report)]


def settings_json(decisions: Decisions) -> dict[str, Any]:
    """Return the settings that choose which findings a run reports."""
    settings = decisions.settings
    return {
        "profile": settings.profile,
        "select": None if settings.select is None else sorted(settings.select),
        "extendSelect": sorted(settings.extend_select),
        "ignore": sorted(settings.ignore),
        "perPathIgnores": {pattern: sorted(names) for pattern, names in settings.per_path.items()},
        "exclude": list(settings.exclude),
        "baseline": settings.baseline,
    }


def list_suppressed(report: Report, known: Sequence[Result]) -> Iterator[tuple[Result, str, Span | None]]:
    """Yield (finding, decision, comment) for each finding that is not reported. The comment is None unless it is the
    decision.
    """
    for result, comment in report.suppressed:
        yield result, "comment" if comment is not None else "per-path-ignores", comment
    for result in known:
        yield result, "baseline", None


def _list_settings(settings: Settings) -> Iterator[str]:
    profile = f"Profile: {settings.profile}"
    if settings.select is not None:
        profile = f"Rules that run: {_names(settings.select)}"
    yield profile
    if settings.extend_select:
        yield f"Rules that run as well: {_names(settings.extend_select)}"
    if settings.ignore:
        yield f"Rules that are ignored: {_names(settings.ignore)}"
    for pattern, names in settings.per_path.items():
        yield f"Rules that are ignored in `{pattern}`: {_names(names)}"
    if settings.exclude:
        yield f"Paths that are not read: {', '.join(f'`{pattern}`' for pattern in settings.exclude)}"


def _names(names: frozenset[str]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(names))


def _list_ignored(report: Report) -> Iterator[str]:
    ignored = [result for result, comment in report.suppressed if comment is None]
    yield from (f"Ignored by its path: {_say_finding(result)}" for result in ignored[:_MOST])
    yield from _say_more(len(ignored))


def _list_known(baseline: str | None, known: Sequence[Result] | None) -> Iterator[str]:
    if baseline is None or known is None:
        return
    yield f"Baseline {baseline}: {counted(len(known), 'finding')}"
    yield from (f"Known: {_say_finding(result)}" for result in known[:_MOST])
    yield from _say_more(len(known))


def _list_comments(sources: Sequence[Source], report: Report) -> Iterator[str]:
    """Yield each comment, and the findings that it suppresses."""
    comments = [comment.span for source in sources for comment in suppressions(source) if comment.foreign is None]
    for span in comments[:_MOST]:
        yield f"Comment: {place_line(span)}: {span.source.text[span.start : span.end]}"
        hidden = [result for result, comment in report.suppressed if comment is not None and _is_same(comment, span)]
        yield from (f"Suppressed by it: {_say_finding(result)}" for result in hidden)
    yield from _say_more(len(comments))


def _is_same(first: Span, second: Span) -> bool:
    return (first.source.path, first.start) == (second.source.path, second.start)


def _say_finding(result: Result) -> str:
    return f"{place_line(result.span)}: {result.severity} `{result.rule.name}`: {result.message}"


def _say_more(count: int) -> Iterator[str]:
    if count > _MOST:
        yield f"and {count - _MOST:,} more; `--format json` lists them"
