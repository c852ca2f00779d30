"""`nodelint baseline`: record today's findings, which later checks hide."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import click

from nodelint.base.printable import printable
from nodelint.base.tuples import NamedTuple
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
    With PATHS, only findings in these files and folders are added or removed; nodelint reads the other files as
    well if a finding may depend on them. Use the same flags as for the check.

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
    run = _Run(path, old, paths or (os.curdir,), settings, fact_flags)
    report, parts = run.compare()
    _write(path, prune, report, parts)
    sys.exit(CLEAN)


class _Run(NamedTuple):
    """The input of a run: the path of the baseline with its older findings, and what is judged."""

    path: str
    old: Sequence[KnownFinding]
    named: Sequence[str]
    settings: Settings
    fact_flags: FactFlags

    def compare(self) -> tuple[Report, Split]:
        """Return the report, and its comparison with the older findings. End the run if a path cannot be read.

        A finding may depend on files outside of the paths: only a run over all files shows whether it is gone. If the
        baseline has no finding outside of the paths, it is about them alone: what they show alone is new.
        """
        from nodelint.lint import baseline

        around = self._find_around()
        if around and self._has_findings_elsewhere():
            return self._compare_all(around)
        report, ready = self._judge(self.named, self.settings)
        root, comparing = self._root, ready.list_comparing({entry.rule for entry in self.old})
        parts = baseline.split(report, self.old, root, self.named, ready.reported, comparing)
        if around and parts.unjudged:
            _, whole = self._compare_all(around)
            parts = parts.without_gone(whole.gone)
        return report, parts

    def _compare_all(self, around: Sequence[str]) -> tuple[Report, Split]:
        """Return the report on all files, and the comparison of what is in the paths."""
        from nodelint.lint import baseline

        # Globs match the paths of a run in this folder.
        settings = self.settings._replace(seen_as=(os.getcwd(), os.curdir))
        report, ready = self._judge(_list_read(around, self.named), settings)
        whole = baseline.split(report, self.old, self._root, (), ready.reported)
        return report, baseline.keep_part(whole, self._root, self.named)

    def _judge(self, paths: Sequence[str], settings: Settings) -> tuple[Report, Judging]:
        found = discovered(paths, settings)
        ready = judging(found, self.fact_flags, settings, paths)
        if found.unreadable:
            unreadable(found)
            stop(f"{self.path} is not changed: not everything could be read")
        report = judge_of(settings.jobs, ready.inventory)(found.sources, ready.request)
        _stop_at(report.faults)
        return report, ready

    @property
    def _root(self) -> str:
        return os.path.dirname(os.path.abspath(self.path))

    def _has_findings_elsewhere(self) -> bool:
        """Return whether the baseline has a finding outside of the paths."""
        places = {os.path.normpath(os.path.join(self._root, entry.path)) for entry in self.old}
        return not all(any(is_below(place, os.path.abspath(path)) for path in self.named) for place in places)

    def _find_around(self) -> list[str]:
        """Return the folders to read in addition to the paths. Empty if the paths cover everything.

        Empty also for standard input and --values, which are about the named paths alone.
        """
        if self.settings.values or "-" in self.named:
            return []
        folders = (os.path.abspath(path if os.path.isdir(path) else os.path.dirname(path)) for path in self.named)
        tops = {_find_whole(folder, self._root) for folder in folders}
        named = [os.path.abspath(path) for path in self.named]
        return sorted(os.path.relpath(top) for top in tops if top and not any(is_below(top, path) for path in named))


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
