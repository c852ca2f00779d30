"""The time of a run, and messages about unknown releases; each message is printed once.

A run over files without Karpenter objects does not load this module: a cache needs functools and collections, which
are a quarter of such a run's instructions.
"""

from __future__ import annotations

from functools import cache

from nodelint.base.types import TYPE_CHECKING
from nodelint.commands._console import say, stop

if TYPE_CHECKING:
    from datetime import datetime

    from nodelint.config.settings import Settings
    from nodelint.files.folders import Discovery
    from nodelint.model.releases import KubernetesVersion, Version


@cache
def say_unknown_release(release: Version, day: int) -> None:
    """Print how an unknown release is judged; `day` is the date of the run in days since 1970-01-01."""
    from nodelint.model.releases import is_newer, judged_as

    instead = judged_as(release)
    if instead is None:
        return
    if is_newer(release):
        from nodelint.report.age import known_releases_text

        known = known_releases_text(day)
        say(
            f"Karpenter {release} is newer than the releases that nodelint knows ({known}). It judges for {instead}, "
            f"and reports what {instead} would refuse as a warning. A newer nodelint may know {release}."
        )
    else:
        say(f"Karpenter {release} is not a release that nodelint knows; it is judged as {instead}")


@cache
def say_unknown_kubernetes(version: KubernetesVersion) -> None:
    """Print that a Kubernetes version is newer than all known ones."""
    from nodelint.model.releases import NEWEST, supported

    most = supported(NEWEST).most
    if version > most:
        say(
            f"Kubernetes {version} is newer than the versions that nodelint knows (to {most}): images for it are "
            "not known"
        )


@cache
def read_time(given: str | None) -> datetime:
    """Return the time of an ISO 8601 text; without a text, the current time. End the run if it is not valid."""
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


def say_release_of_repository(found: Discovery, settings: Settings) -> None:
    """Print that the release of the repository is not used for standard input, and how to name it.

    Objects from a cluster need not belong to the repository of the working folder.
    """
    is_piped = any(source.path == "-" for source in found.sources)
    if not is_piped or settings.karpenter_named or settings.per_path_versions:
        return
    from nodelint.files.release_files import list_release_files
    from nodelint.model.releases import NEWEST
    from nodelint.releases import evidence_of

    stated = evidence_of(list_release_files(settings.paths_left_out))
    by_release = {evidence.karpenter: evidence for evidence in reversed(stated.all) if evidence.about == "karpenter"}
    if not by_release or list(by_release) == [NEWEST]:
        return
    release, evidence = max(by_release.items(), key=lambda pair: pair[0])
    more = f", and {len(by_release) - 1} other" if len(by_release) > 1 else ""
    say(
        f"standard input is judged for Karpenter {NEWEST}, the newest known: what is piped need not be of this"
        f" repository, which states {release} ({evidence.place}{more}); if it is: --karpenter-version {release}"
    )
