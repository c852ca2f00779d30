"""The decisions not to report findings: comments, the configuration, a baseline. An audit lists them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nodelint.base.types import TYPE_CHECKING
from nodelint.model.messages import counted
from nodelint.rule.suppressions import suppressions

if TYPE_CHECKING:
    from nodelint.config.settings import Settings
    from nodelint.lint.baseline import Split
    from nodelint.text import Source

_MOST = 200
"""The most comments, and the most findings of a baseline, that are listed."""


def list_decisions(sources: Sequence[Source], settings: Settings, split: Split | None) -> list[str]:
    """Return a line for each decision: the profile first, then rules, paths, the baseline and comments."""
    return [*_list_settings(settings), *_list_known(settings.baseline, split), *_list_comments(sources)]


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


def _list_known(baseline: str | None, split: Split | None) -> Iterator[str]:
    if baseline is None or split is None:
        return
    yield f"Baseline {baseline}: {counted(len(split.known), 'finding')}"
    for result in split.known[:_MOST]:
        span = result.span
        line = span.source.position(span.start).line
        yield f"Known: {span.source.path}:{line}: {result.severity} `{result.rule.name}`: {result.message}"
    yield from _say_more(len(split.known))


def _list_comments(sources: Sequence[Source]) -> Iterator[str]:
    comments = [comment for source in sources for comment in suppressions(source) if comment.foreign is None]
    for comment in comments[:_MOST]:
        source, span = comment.source, comment.span
        yield f"Comment: {source.path}:{source.position(span.start).line}: {source.text[span.start : span.end]}"
    yield from _say_more(len(comments))


def _say_more(count: int) -> Iterator[str]:
    if count > _MOST:
        yield f"and {count - _MOST:,} more"
