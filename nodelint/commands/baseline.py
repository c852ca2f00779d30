"""`nodelint baseline`: record today's findings, which later checks hide."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import click

from nodelint.base.printable import printable
from nodelint.base.types import TYPE_CHECKING
from nodelint.commands import discovered, read_settings_for, unreadable, versions
from nodelint.commands._console import CLEAN, FAULT, echo, say, stop, unusable
from nodelint.commands._facts import facts_options
from nodelint.commands._flags import FactFlags
from nodelint.commands._help import GroupedCommand
from nodelint.commands._lint_setup import judge_of, judging, judging_options
from nodelint.commands._shell_completion import files
from nodelint.files.safe_read import is_below, repository, write_error_reason
from nodelint.model.messages import counted

if TYPE_CHECKING:
    from typing import Unpack

    from nodelint.commands._flags import BaselineFlags
    from nodelint.commands._lint_setup import Judging
    from nodelint.config.settings import Settings
    from nodelint.lint.baseline import KnownFinding, Split
    from nodelint.lint.engine import Report

FILE = "nodelint.baseline.json"

_EXIT = """
\b
Exit codes:
  0  the file is written, or is already up to date
  2  wrong usage or configuration, or a file that could not be read or written
  3  an error in nodelint itself
"""


@click.command(cls=GroupedCommand, epilog=_EXIT)
@click.argument("paths", nargs=-1, metavar="[PATHS]...", shell_complete=files)
@click.option(
    "--baseline",
    metavar="FILE",
    shell_complete=files,
    help=f"The file to write. Default: the one of the configuration, else {FILE}.",
)
@click.option("--prune", is_flag=True, help="Only remove fixed findings; add no new ones.")
@judging_options
@facts_options
@versions
def command(paths: Sequence[str], prune: bool, **flags: Unpack[BaselineFlags]) -> None:
    """Record today's findings, so that later checks report only new ones.

    `nodelint check --baseline FILE` (or `baseline:` in the configuration) hides the findings in the file. A
    finding is recognised by its rule and field, not by its line. If you run the command again, it removes
    fixed findings and adds new ones; with --prune it adds none. Findings that this run could not judge stay.
    With PATHS, only findings in these files and folders are added or removed. If the file also has findings
    elsewhere, nodelint still reads the other files, because a finding may depend on them. Use the same flags as
    for the check.

    \b
    Examples:
      nodelint baseline clusters/
      nodelint check --baseline nodelint.baseline.json clusters/
      nodelint baseline --prune clusters/
    """
    fact_flags = FactFlags.read(flags)
    settings = read_settings_for(flags, paths)
    path = settings.baseline or FILE
    if prune and not os.path.exists(path):
        stop(f"{path}: there is no baseline to prune; `nodelint baseline` without --prune writes one")
    from nodelint.config.file import ConfigError
    from nodelint.config.session import Session

    try:
        old = Session(settings).baseline(path) if os.path.exists(path) else ()
    except ConfigError as error:
        unusable(error)
    named = paths or (os.curdir,)
    around = _find_around(named, path, settings, old)
    if around:  # globs match the paths of a run in this folder
        settings = settings._replace(seen_as=(os.getcwd(), os.curdir))
    found = discovered(_list_read(around, named) if around else named, settings)
    ready = judging(found, fact_flags, settings, paths)
    if found.unreadable:
        unreadable(found)
        stop(f"{path} is not changed: not everything could be read")
    report = judge_of(settings.jobs, ready.inventory)(found.sources, ready.request)
    _stop_at(report.faults)
    _write(path, prune, report, _compare(path, report, old, named, bool(around), ready))
    sys.exit(CLEAN)


def _compare(
    path: str, report: Report, old: Sequence[KnownFinding], named: Sequence[str], has_all: bool, ready: Judging
) -> Split:
    """Return the comparison of a report with an older baseline. `has_all`: the run also read the other files."""
    from nodelint.lint import baseline

    root = os.path.dirname(os.path.abspath(path))
    if has_all:
        return baseline.keep_part(baseline.split(report, old, root, (), ready.reported), root, named)
    comparing = ready.list_comparing({entry.rule for entry in old})
    return baseline.split(report, old, root, named, ready.reported, comparing)


def _write(path: str, prune: bool, report: Report, parts: Split) -> None:
    """Write the file, and print how many findings are new and gone. End the run if it cannot be written."""
    from nodelint.files.atomic_write import replace
    from nodelint.lint import baseline

    known_findings = parts.kept if prune or parts.is_part else parts.unjudged
    written = report._replace(results=()) if prune else parts.new if parts.is_part else report
    try:
        replace(path, baseline.write(written, os.path.dirname(os.path.abspath(path)), known_findings).encode())
    except OSError as error:
        stop(f"{path}: not written: {write_error_reason(path, error)}")
    total = len(written.places) + len(known_findings)
    new = "" if prune else f"{len(parts.new.places):,} new, "
    changed = f"{new}{len(parts.gone):,} gone"
    echo(printable(f"{path}: {counted(total, 'finding')} ({changed}). Next: nodelint check --baseline {path}"))


def _find_around(paths: Sequence[str], file: str, settings: Settings, old: Sequence[KnownFinding]) -> list[str]:
    """Return the folders to read in addition to paths that are only a part of what the baseline `file` is about.

    A finding may depend on files outside of the part: only a run over all files shows what to add and what to remove.
    Empty if the paths cover all findings of the older baseline, which is then about these paths alone. Empty also for
    standard input and --values.
    """
    if settings.values or "-" in paths:
        return []
    home = os.path.dirname(os.path.abspath(file))
    places = {os.path.normpath(os.path.join(home, entry.path)) for entry in old}
    if all(any(is_below(place, os.path.abspath(path)) for path in paths) for place in places):
        return []
    folders = (os.path.abspath(path if os.path.isdir(path) else os.path.dirname(path)) for path in paths)
    tops = {_find_whole(folder, home) for folder in folders}
    named = [os.path.abspath(path) for path in paths]
    return sorted(os.path.relpath(top) for top in tops if top and not any(is_below(top, path) for path in named))


def _list_read(around: Sequence[str], paths: Sequence[str]) -> list[str]:
    """Return the folders, and the named files below them, each file by the same path as in its folder."""
    files = [os.path.abspath(path) for path in paths if not os.path.isdir(path)]
    named = (os.path.join(top, os.path.relpath(file, top)) for top in around for file in files)
    return [*around, *map(os.path.normpath, named)]


def _find_whole(folder: str, home: str) -> str | None:
    """Return the folder around `folder` that a baseline in the folder `home` is about.

    It never leaves the repository, nor the working folder outside of a repository. None if there is none.
    """
    top = repository(folder)
    if is_below(folder, home) and is_below(home, top or os.getcwd()):
        return home
    return top


def _stop_at(faults: Sequence[str]) -> None:
    """End the run if a rule raised an error, because its findings are not known."""
    for fault in faults:
        say(f"internal error, please report it: {fault}")
    if faults:
        sys.exit(FAULT)
