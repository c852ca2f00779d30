"""`nodelint snapshot`: show a snapshot, or the differences between two."""

from __future__ import annotations

import os

import click

from nodelint.base.types import TYPE_CHECKING
from nodelint.commands import exclude, include, now, output_format, versions
from nodelint.commands._console import CLEAN, FOUND, UNUSABLE, echo, echo_fitted, echo_json, stop
from nodelint.commands._help import GroupedCommand, WholeHelp
from nodelint.commands._shell_completion import files

if TYPE_CHECKING:
    from typing import Unpack

    from nodelint.commands._flags import DiffFlags


class _Commands(WholeHelp):
    def suggest(self, word: str, commands: list[str]) -> str:
        """Return the end of a message about an unknown command, such as the name of a snapshot."""
        if word.endswith(".json"):
            return f"; to see what it holds: `nodelint snapshot show {word}`"
        return super().suggest(word, commands)


@click.group(cls=_Commands)
def command() -> None:
    """Show or compare the facts that `nodelint refresh` keeps."""


@command.command()
@click.argument("file", required=False, shell_complete=files)
@output_format
def show(file: str | None, form: str) -> None:
    """Show what a snapshot holds, and how old each fact is.

    Without FILE: what is cached for this repository, and what comes with nodelint.
    """
    from nodelint.ec2 import cache
    from nodelint.report import snapshot as report

    try:
        if file is None:
            _in_use(cache.find_cached(os.curdir), form)
            return
        snapshot = cache.read(file)
    except cache.UnusableSnapshot as error:
        stop(*error.messages)
    if form == "json":
        echo_json(report.show_json(snapshot, file, now(), {}))
    else:
        echo_fitted(report.show_text(snapshot, file, now(), {}))


def _in_use(file: str | None, form: str) -> None:
    """Print the facts that a check without --snapshot uses. Raise UnusableSnapshot for a broken cached file."""
    from nodelint.ec2 import cache
    from nodelint.report import bundled_facts
    from nodelint.report import snapshot as report

    cached = None if file is None else cache.read_kept(file)
    if form == "json":
        shown = {} if file is None or cached is None else report.show_json(cached, file, now(), cache.time_to_live())
        echo_json({"version": 1, **shown, "bundled": bundled_facts.bundled_json(now())})
        return
    if file is None or cached is None:
        echo("Nothing is cached for this repository; `nodelint refresh` asks AWS.")
    else:
        echo_fitted(report.show_text(cached, file, now(), cache.time_to_live()))
    echo_fitted(f"\n{bundled_facts.bundled_text(now())}")


_EXIT = """
\b
Exit codes:
  0  the facts are the same
  1  they differ
  2  wrong usage, or a file that could not be read
  3  an error in nodelint itself
"""


@command.command(cls=GroupedCommand, epilog=_EXIT)
@click.argument("old", shell_complete=files)
@click.argument("new", shell_complete=files)
@click.argument("paths", nargs=-1, metavar="[PATHS]...", shell_complete=files)
@output_format
@include
@exclude
@versions
def diff(old: str, new: str, paths: tuple[str, ...], form: str, **flags: Unpack[DiffFlags]) -> None:
    """Show what changed between two snapshots: images, subnets, instance types, answers.

    The times of the questions are not compared. With PATHS, the manifests of a cluster, also show which NodePools get
    other images, by which EC2NodeClass: their nodes drift.
    """
    from nodelint.ec2 import cache
    from nodelint.report import snapshot as report

    unread = False
    try:
        before, after = cache.read(old), cache.read(new)
    except cache.UnusableSnapshot as error:
        stop(*error.messages)
    found = report.differences(before, after)
    if paths:
        from nodelint.commands._image_changes import moved

        pools, unread = moved(before, after, paths, flags)
        found += pools
        found.sort(key=lambda difference: difference.region)
    if form == "json":
        echo_json(report.diff_json(found))
    else:
        echo_fitted(report.diff_text(found))
    raise SystemExit(UNUSABLE if unread else FOUND if found else CLEAN)
