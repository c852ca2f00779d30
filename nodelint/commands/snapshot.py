"""`nodelint snapshot`: what a snapshot holds, and what differs between two."""

from __future__ import annotations

import os

import click

from nodelint.commands import CLEAN, FOUND, UNUSABLE, echo, echo_json, now, output_format, stop
from nodelint.commands._completing import files


@click.group()
def command() -> None:
    """Look into the facts that `nodelint refresh` keeps."""


@command.command()
@click.argument("file", required=False, shell_complete=files)
@output_format
def show(file: str | None, form: str) -> None:
    """Say what is in a snapshot, and how old it is; default: what is cached for this repository."""
    from nodelint.ec2 import cache
    from nodelint.report import snapshot as report

    try:
        if file is not None:
            snapshot, limits = cache.read(file), {}
        else:
            file = cache.kept(os.curdir)
            if file is None:
                stop("nothing is cached for this repository; `nodelint refresh` asks AWS")
            snapshot, limits = cache.read_kept(file), cache.time_to_live()
    except cache.Unusable as error:
        stop(str(error))
    if form == "json":
        echo_json(report.show_json(snapshot, file, now(), limits))
    else:
        echo(report.show_text(snapshot, file, now(), limits))


_EXIT = """
\b
Exit codes:
  0  the facts are the same
  1  they differ
  2  wrong usage, or a file that could not be read
"""


@command.command(epilog=_EXIT)
@click.argument("old", shell_complete=files)
@click.argument("new", shell_complete=files)
@output_format
def diff(old: str, new: str, form: str) -> None:
    """Say what changed from one snapshot to another: images, subnets, instance types, answers.

    When each was asked is no difference.
    """
    from nodelint.ec2 import cache
    from nodelint.report import snapshot as report

    try:
        found = report.differences(cache.read(old), cache.read(new))
    except cache.Unusable as error:
        stop(str(error), UNUSABLE)
    if form == "json":
        echo_json(report.diff_json(found))
    else:
        echo(report.diff_text(found))
    raise SystemExit(FOUND if found else CLEAN)
