"""The time of a run, and messages about releases that nodelint does not know; each is made once.

A run over files without Karpenter objects does not load this module: a cache needs functools and collections, and
these are a quarter of such a run's instructions.
"""

from __future__ import annotations

from functools import cache

from nodelint.base.types import TYPE_CHECKING
from nodelint.commands._console import say, stop

if TYPE_CHECKING:
    from datetime import datetime

    from nodelint.model.releases import KubernetesVersion, Version


@cache
def say_unknown_release(release: Version, day: int) -> None:
    """Say how a release that is not known is judged; `day` is that of the run, in days since 1970."""
    from nodelint.model.releases import is_newer, judged_as

    instead = judged_as(release)
    if instead is None:
        return
    if is_newer(release):
        from nodelint.report.age import known_releases_text

        known = known_releases_text(day)
        how = f"it is judged as {instead}, and what that would refuse is a warning; a newer nodelint may know it"
        say(f"Karpenter {release} is newer than the releases that nodelint knows ({known}): {how}")
    else:
        say(f"Karpenter {release} is not a release that nodelint knows; it is judged as {instead}")


@cache
def say_unknown_kubernetes(version: KubernetesVersion) -> None:
    """Say that a version of Kubernetes is newer than all that are known."""
    from nodelint.model.releases import NEWEST, supported

    most = supported(NEWEST).most
    if version > most:
        say(
            f"Kubernetes {version} is newer than the versions that nodelint knows (to {most}): images for it are "
            "not known"
        )


@cache
def read_time(given: str | None) -> datetime:
    """Return a time that is written as in ISO 8601; without one, the time of the run."""
    from datetime import UTC, datetime

    if not given:
        return datetime.now(UTC).replace(microsecond=0)
    try:
        time = datetime.fromisoformat(given).astimezone(UTC).replace(microsecond=0)
    except (ValueError, OverflowError, OSError):  # the latter two: a zone moves it out of the years that there are
        stop(f"NODELINT_NOW: `{given}` is not a time such as 2026-11-20T12:00:00Z")
    if time.year < 1970:  # years of fewer than four digits would be written as no time of ISO 8601
        stop(f"NODELINT_NOW: `{given}` is before 1970")
    return time
