"""The source of a run's facts: a snapshot that is named or cached, or AWS."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence

from nodelint.base.types import TYPE_CHECKING
from nodelint.commands import now
from nodelint.commands._console import say, stop
from nodelint.commands._flags import FactFlags

if TYPE_CHECKING:
    from datetime import timedelta
    from typing import Any, TypeVar

    import click

    from nodelint.config.release_selection import Choose
    from nodelint.config.session import Session
    from nodelint.ec2.facts import AwsFacts
    from nodelint.model.manifest import EC2NodeClass
    from nodelint.report.run_info import Basis

    _F = TypeVar("_F", bound=Callable[..., Any])

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


def _age(_: click.Context, __: click.Parameter, value: str | None) -> timedelta | None:
    if value is None:
        return None
    from datetime import timedelta

    parts = re.fullmatch(r"([0-9]{1,6})([smhd])", value)
    if not parts:
        import click

        raise click.BadParameter(f"`{value}` is not a length of time such as 30m, 12h or 7d")
    return timedelta(**{_UNITS[parts[2]]: int(parts[1])})


def facts_options(command: _F) -> _F:
    """Add the options for facts from AWS to a command."""
    import click

    from nodelint.commands._shell_completion import files

    for option in (
        click.option(
            "--max-age",
            callback=_age,
            metavar="AGE",
            help="Use no older facts: 30m, 12h, 7d. Default: no limit for a snapshot that you name, a limit for each"
            " kind of fact in the cache.",
        ),
        click.option("--aws-profile", metavar="NAME", help="The AWS profile that --live uses."),
        click.option(
            "--region", metavar="NAME", help="The AWS region. Default: the snapshot's region, if it has only one."
        ),
        click.option("--live", is_flag=True, help="Ask AWS first for facts that are missing or too old."),
        click.option(
            "--snapshot",
            metavar="FILE",
            shell_complete=files,
            help="Facts that `nodelint refresh` wrote. Default: those cached for this repository."
            " `bundled` uses only those that ship with nodelint.",
        ),
    ):
        command = option(command)
    return command


def facts_for(
    fact_flags: FactFlags,
    session: Session,
    paths: Sequence[str],
    classes: Sequence[EC2NodeClass],
    choose: Choose | None,
) -> tuple[AwsFacts, str | None]:
    """Return the facts of a run, and their file; `choose` returns the releases of a class.

    End the run if a snapshot cannot be read.
    """
    from nodelint.ec2 import cache

    try:
        if not fact_flags.live:
            facts, file = session.facts(home(paths), now, fact_flags.max_age)
            _say_region_without_facts(session.settings.region, facts)
            return facts, file
        from nodelint.commands._aws import live

        path, limits = cache.place(home(paths)), session.limits(fact_flags.max_age, live=True)
        snapshot, file, region = live(fact_flags, session.settings, path, session.classes_at(classes, choose), limits)
    except cache.UnusableSnapshot as error:
        stop(*error.messages)
    return cache.facts_of(snapshot, file or "what AWS said", region, now(), limits), file


def _say_region_without_facts(region: str | None, facts: AwsFacts) -> None:
    """Print that there are no facts for the named region, so that rules about it do not run."""
    if region is not None and (facts.region is None or not facts.region.answers):
        what = "what depends on the region (its zones, subnets, images and instance types) is not judged"
        say(f"there are no facts of {region}: {what}; `nodelint refresh --region {region}` asks AWS for them")


def home(paths: Sequence[str]) -> str:
    """Return the folder whose repository has the cached facts: that of the first path, else the working folder."""
    first = next((path for path in paths if path and path != "-"), os.curdir)
    return first if os.path.isdir(first) else os.path.dirname(first) or os.curdir


def basis(facts: AwsFacts, path: str | None) -> Basis:
    """Return the source of the run's facts, for its report."""
    from nodelint.report.run_info import Basis, SnapshotSummary

    catalog = facts.catalog
    region = facts.region
    of = None
    if region is not None and region.answers:
        times = sorted(answer.at for answer in region.answers.values())
        of = SnapshotSummary(path, region.name, region.account, times[0], times[-1])
    return Basis(catalog.origin, catalog.date, len(catalog.names), of)
