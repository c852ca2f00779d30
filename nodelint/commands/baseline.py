"""`nodelint baseline`: the findings of today, which later checks pass over."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

import click

from nodelint.commands import (
    CLEAN,
    FAULT,
    discovered,
    echo,
    say,
    settings_of,
    stop,
    unreadable,
    versions,
    why,
)
from nodelint.commands._completing import files
from nodelint.commands._facts import FactFlags, facts_options
from nodelint.commands._judging import judge_of, judging, judging_options, rendered
from nodelint.model.messages import counted
from nodelint.printable import printable

FILE = "nodelint.baseline.json"

_EXIT = """
\b
Exit codes:
  0  the file is written, or says already what is found
  2  wrong usage or configuration, or a file that could not be read or written
  3  a fault of nodelint itself
"""


@click.command(epilog=_EXIT)
@click.argument("paths", nargs=-1, metavar="[PATHS]...", shell_complete=files)
@click.option(
    "--baseline",
    metavar="FILE",
    shell_complete=files,
    help=f"The file to write. Default: that of the configuration, else {FILE}.",
)
@judging_options
@facts_options
@versions
def command(paths: Sequence[str], kustomize: bool, helm: bool, **flags: Any) -> None:
    """Write down what is found today, so that checks tell only what is new.

    `nodelint check --baseline FILE` (or `baseline:` in the configuration) then passes over what the file
    holds. A finding is known by what it says of which field, not by its line. Run again, this drops what
    is fixed and adds what is new; what was not judged this time stays. Give it the flags of the check.

    \b
    Examples:
      nodelint baseline clusters/
      nodelint check --baseline nodelint.baseline.json clusters/
    """
    asked = FactFlags.taken(flags)
    settings = settings_of(flags)
    path = settings.baseline or FILE
    found = discovered(paths or (".",), settings)
    built = rendered(paths, kustomize, helm, found, settings)
    if found.unreadable:
        unreadable(found)
        stop(f"{path} is left as it is: not everything could be read")
    from nodelint.lint import baseline
    from nodelint.lint.config import ConfigError
    from nodelint.source.files import replace

    ready = judging(found, asked, settings, paths)
    report = judge_of(built)(found.sources, *ready.how)
    if report.faults:
        for fault in report.faults:
            say(f"a fault of ours, please report it: {fault}")
        sys.exit(FAULT)
    root = os.path.dirname(os.path.abspath(path))
    try:
        old = ready.session.baseline(path) if os.path.exists(path) else ()
    except ConfigError as error:
        stop(str(error))
    parts = baseline.split(report, old, root, paths, ready.reported)
    try:
        replace(path, baseline.write(report, root, parts.unjudged).encode())
    except OSError as error:
        stop(f"{path}: not written: {why(error)}")
    total = len(report.results) + len(parts.unjudged)
    changed = f"{len(parts.new.results):,} new, {len(parts.gone):,} gone"
    echo(printable(f"{path}: {counted(total, 'finding')} ({changed}). Next: nodelint check --baseline {path}"))
    sys.exit(CLEAN)
