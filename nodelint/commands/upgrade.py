"""`nodelint upgrade`: the effects of an upgrade of Karpenter on the manifests."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from nodelint.base.budget import RUN
from nodelint.base.types import TYPE_CHECKING
from nodelint.commands import (
    config_options,
    discovered,
    exclude,
    include,
    read_settings_for,
    unread,
    unreadable,
    values,
)
from nodelint.commands._console import CLEAN, FAULT, FOUND, UNUSABLE, echo, echo_json, say, stop
from nodelint.commands._deadline import timeout_option
from nodelint.commands._facts import facts_options
from nodelint.commands._flags import FactFlags
from nodelint.commands._gaps import say_gaps
from nodelint.commands._help import GroupedCommand, WordChoice
from nodelint.commands._lint_setup import judging
from nodelint.commands._shell_completion import files
from nodelint.commands._terminal import colour_option, look
from nodelint.model.messages import NOT_IN_TIME, PAIR, counted

if TYPE_CHECKING:
    from typing import NoReturn, Unpack

    from nodelint.commands._flags import UpgradeFlags
    from nodelint.commands._lint_setup import Judging
    from nodelint.config.settings import Settings
    from nodelint.files.folders import Discovery
    from nodelint.model.releases import KubernetesVersion, Version
    from nodelint.upgrade import Upgrade

_EXIT = """
\b
Exit codes:
  0  nothing at or above --fail-on
  1  something at or above --fail-on
  2  wrong usage or configuration, or a path that could not be read
  3  an error in nodelint itself
"""


@click.command(cls=GroupedCommand, epilog=_EXIT)
@click.argument("paths", nargs=-1, metavar="[PATHS]...", shell_complete=files)
@click.option(
    "--from",
    "old",
    metavar="VERSION",
    help="The release that runs now. Default: from nodelint.yaml, else what the files state.",
)
@click.option("--to", "new", metavar="VERSION", help="The release to go to, or `next`. Default: the newest known.")
@click.option("--kubernetes-version", metavar="1.MINOR", help="The cluster's version, for intermediate steps.")
@click.option("--format", "form", type=WordChoice(["text", "markdown", "json"]), default="text", show_default=True)
@click.option("--all", "everything", is_flag=True, help="List every place, and changes that manifests do not show.")
@click.option(
    "--fail-on",
    type=WordChoice(["error", "warning", "never"]),
    help="The lowest severity that makes the exit code 1. Default: error.",
)
@exclude
@include
@values
@facts_options
@timeout_option
@colour_option
@config_options
def command(
    paths: Sequence[str], old: str | None, new: str | None, form: str, everything: bool, **flags: Unpack[UpgradeFlags]
) -> None:
    """Show what an upgrade of Karpenter means for manifests, before you make it.

    PATHS are files, folders (with everything below them) or - for standard input. Default: this folder. The
    report lists, each with its place: fields, labels and values that are added, removed or change their
    meaning; images, permissions, feature gates and other settings of the controller; changes that replace
    nodes; and findings of `nodelint check` that appear or go away. Your tasks are grouped: before, with and
    after the upgrade.

    A line shows where a change matters, which need not be a mistake: an `error` is refused or stops working
    unless you change it, a `warning` behaves differently, and an `info` needs no action. VERSION is a release
    such as 1.4.0, or 1.4 for its newest patch; --from also accepts 0.32 to 0.37.

    \b
    Examples:
      nodelint upgrade --from 1.0.6 --to 1.15.1 clusters/
      nodelint upgrade --from 1.6 --kubernetes-version 1.31 --format markdown
      nodelint upgrade --from 1.0.6 --fail-on warning charts/ values/prod.yaml
    """
    from nodelint.model.releases import early

    fact_flags = FactFlags.read(flags)
    start = early(old) if old is not None else None
    settings = read_settings_for({**flags, "karpenter_version": _name_start(old, start)}, paths)
    after = _release("--to", new)
    found = discovered(paths or (".",), settings)
    ready = judging(found, fact_flags, settings._replace(release=after), paths, only_requested=True)
    before, kubernetes = _stated(settings, ready)
    if start is None and after <= before:
        _stop_at_no_upgrade(before, after)
    from nodelint.upgrade import upgrade

    # Each object is judged release by release.
    target = ready.target._replace(choose=None, kubernetes=kubernetes)
    result = upgrade(ready.inventory, start or before, ready.request._replace(target=target))
    found.unreadable += unread(found, "not looked at")
    say_gaps(found, ready.inventory)
    unreadable(found)
    _print(result, form, everything, found)
    for fault in result.faults:
        say(f"internal error, please report it: {fault}")
    if result.faults:
        sys.exit(FAULT)
    if found.unreadable:
        sys.exit(UNUSABLE)
    sys.exit(FOUND if settings.fail_on != "never" and result.at_or_above(settings.fail_on) else CLEAN)


def _stated(settings: Settings, ready: Judging) -> tuple[Version, KubernetesVersion | None]:
    """Return the release to upgrade from, and the cluster's Kubernetes version if it is the same for all objects.

    End the run if no release is known, or several are.
    """
    if settings.karpenter_named and settings.kubernetes is not None:
        return settings.karpenter, settings.kubernetes
    # What overlays, charts and modules are rendered to has the release of its cluster; their files may have several.
    choose = ready.target.choose
    each_of = [choose(obj) for obj in ready.inventory.objects() if not obj.partial] if choose is not None else []
    chosen = [choice for choices in each_of if not isinstance(choices, str) for choice in choices]
    clusters = {choice.kubernetes: choice.kubernetes_from for choice in chosen}
    kubernetes = next(iter(clusters)) if len(clusters) == 1 else settings.kubernetes
    if settings.karpenter_named:
        return settings.karpenter, kubernetes
    evidence_of = {choice.karpenter.last: choice.karpenter_from for choice in chosen if choice.is_stated}
    if not evidence_of:
        stop("the release to upgrade from is not known: set --from, or `karpenter-version` in nodelint.yaml")
    if len(evidence_of) > 1:
        named = ", ".join(
            f"{r}{f' ({by.place})' if (by := evidence_of[r]) is not None else ''}" for r in sorted(evidence_of)
        )
        stop(f"the files state several releases to upgrade from: {named}; name one by --from, or fewer PATHS")
    release, evidence = evidence_of.popitem()
    if evidence is not None:
        say(f"Karpenter {release} as {evidence.place} states it ({evidence.by})")
    return release, kubernetes


def _name_start(old: str | None, start: Version | None) -> str | None:
    """Return the release for which `check` judges the old side: --from, or the oldest known one for an early `start`.

    None if --from is not given.
    """
    from nodelint.model.releases import OLDEST

    if start is not None:
        return str(OLDEST)
    if old is not None:
        _release("--from", old)
    return old


def _stop_at_no_upgrade(before: Version, after: Version) -> NoReturn:
    """End the run because the new release is not newer than the old one."""
    way = "name an older one by --from"
    if after < before:
        way = f"name them the other way around: --from {after} --to {before}"
    stop(f"--to {after} is not newer than {before}, the release to upgrade from; {way}")


def _release(option: str, text: str | None) -> Version:
    from nodelint.model.releases import NEWEST, target

    if text is None:
        return NEWEST
    try:
        return target(text)
    except ValueError as error:
        is_early = option == "--from" and text.startswith("0.")
        stop(f"{option}: {f'Karpenter {text} is too old: upgrade takes 0.32 and newer' if is_early else error}")


def _print(result: Upgrade, form: str, everything: bool, found: Discovery) -> None:
    from nodelint.report import upgrade as report

    if not result.objects and found.unreadable and form == "text":
        return  # the unreadable files are printed; a report without objects would be misleading
    if not result.objects:
        say(NOT_IN_TIME if RUN.has_left_out else f"{PAIR} in {counted(found.files, 'file')}")
    if form == "json":
        echo_json(report.upgrade_json(result))
    elif form == "markdown":
        echo(report.upgrade_markdown(result, everything), nl=False)
    else:
        echo(report.upgrade_text(result, everything, look(page=True)))
