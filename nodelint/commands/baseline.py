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
from nodelint.files.safe_read import write_error_reason
from nodelint.model.messages import counted

if TYPE_CHECKING:
    from typing import Unpack

    from nodelint.commands._flags import BaselineFlags

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
    Use the same flags as for the check.

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
    found = discovered(paths or (".",), settings)
    from nodelint.config.file import ConfigError
    from nodelint.files.atomic_write import replace
    from nodelint.lint import baseline

    ready = judging(found, fact_flags, settings, paths)
    if found.unreadable:
        unreadable(found)
        stop(f"{path} is not changed: not everything could be read")
    report = judge_of(settings.jobs, ready.inventory)(found.sources, ready.request)
    _stop_at(report.faults)
    root = os.path.dirname(os.path.abspath(path))
    try:
        old = ready.session.baseline(path) if os.path.exists(path) else ()
    except ConfigError as error:
        unusable(error)
    parts = baseline.split(report, old, root, paths or (os.curdir,), ready.reported, ready.comparing)
    known_findings = parts.kept if prune or parts.is_part else parts.unjudged
    written = report._replace(results=()) if prune else parts.new if parts.is_part else report
    try:
        replace(path, baseline.write(written, root, known_findings).encode())
    except OSError as error:
        stop(f"{path}: not written: {write_error_reason(path, error)}")
    total = len(written.places) + len(known_findings)
    new = "" if prune else f"{len(parts.new.places):,} new, "
    changed = f"{new}{len(parts.gone):,} gone"
    echo(printable(f"{path}: {counted(total, 'finding')} ({changed}). Next: nodelint check --baseline {path}"))
    sys.exit(CLEAN)


def _stop_at(faults: Sequence[str]) -> None:
    """End the run if a rule raised an error, because its findings are not known."""
    for fault in faults:
        say(f"internal error, please report it: {fault}")
    if faults:
        sys.exit(FAULT)
