"""`nodelint migrate`: objects of Karpenter become those of EKS Auto Mode, or the other way round."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from nodelint.base.printable import screened
from nodelint.base.types import TYPE_CHECKING
from nodelint.commands import (
    discovered,
    exclude,
    include,
    output_format,
    read_settings_for,
    session_of,
    unread,
    unreadable,
    versions,
)
from nodelint.commands._console import CLEAN, FOUND, UNUSABLE, echo, echo_json, say
from nodelint.commands._deadline import timeout_option
from nodelint.commands._gaps import say_gaps
from nodelint.commands._help import GroupedCommand, WordChoice
from nodelint.commands._shell_completion import files
from nodelint.commands._terminal import colour_option, look

if TYPE_CHECKING:
    from typing import Unpack

    from nodelint.commands._flags import DiffFlags
    from nodelint.files.folders import Discovery
    from nodelint.migrate import MovedFiles, MoveTarget
    from nodelint.migrate.types import PoolTypes
    from nodelint.text import Source

_ALSO = r"eks\.amazonaws\.com/(?:instance-|compute-type|nodeclass|capacity-reservation)"
"""A pattern of labels of EKS Auto Mode. A file that uses one may not contain the name of Karpenter."""

_EXIT = """
\b
Exit codes:
  0  everything moves, or there is nothing to move
  1  a field is dropped or needs a change by hand; the report names it
  2  wrong usage, or a file that could not be read or written; then no
     file is changed
  3  an error in nodelint itself
"""


@click.command(cls=GroupedCommand, epilog=_EXIT)
@click.argument("paths", nargs=-1, metavar="[PATHS]...", shell_complete=files)
@click.option(
    "--to",
    "target",
    required=True,
    type=WordChoice(["auto-mode", "karpenter"]),
    help="What to convert the objects to.",
)
@click.option("--write", is_flag=True, help="Write the files. Default: print a diff.")
@output_format
@colour_option
@include
@exclude
@versions
@timeout_option
def command(paths: Sequence[str], target: MoveTarget, write: bool, form: str, **flags: Unpack[DiffFlags]) -> None:
    """Move NodePools, classes and selectors between Karpenter and EKS Auto Mode.

    An EC2NodeClass becomes a NodeClass of eks.amazonaws.com/v1, or the other way round. References, labels in
    requirements, and the node selectors and affinities of workloads are converted as well. Comments, order
    and layout stay. If the other side lacks a field, the report names the field, its place, whether it was
    removed, and what to do.

    Without --write, the diff is printed on standard output and the report on standard error. A value that
    comes from a chart's values file or a Terraform variable is edited where it is written. Changes that you
    have to make by hand are listed.

    \b
    Examples:
      nodelint migrate --to auto-mode clusters/prod
      nodelint migrate --to karpenter --write pool.yaml class.yaml
      nodelint migrate --to auto-mode --format json > move.json
    """
    from nodelint.inventory import build, read_inventory
    from nodelint.migrate import left_in_rendered, migrate
    from nodelint.migrate.types import list_types

    settings = read_settings_for(flags, paths)
    found = discovered(paths or (".",), settings, _ALSO)
    session_of(settings, runs_rules=False)
    inventory = read_inventory(found)
    found.unreadable += unread(found, "not moved")
    made = migrate(inventory.files, target)
    after = build(made.new, inventory.folder_files)
    gaps = say_gaps(found, inventory, providers=("auto-mode",))
    made = made._replace(notes=(*made.notes, *left_in_rendered(made, target, after)), gaps=tuple(gaps))
    types = list_types(inventory, after, settings.karpenter, target)
    written = write and not found.unreadable and _write(made, found)
    if form == "json" or made.changed or not found.unreadable:
        _show(made, target, types, form, write, written)
    unreadable(found)
    if found.unreadable:
        sys.exit(UNUSABLE)
    sys.exit(CLEAN if made.is_whole else FOUND)


def _show(
    made: MovedFiles, target: MoveTarget, types: Sequence[PoolTypes], form: str, write: bool, written: bool
) -> None:
    """Print the report. Unless files are written, the diff goes to standard output and the report to standard error.

    `json` is one document on standard output.
    """
    from nodelint.report import migrate as report

    if form == "json":
        echo_json(report.migrate_json(made, target, types, written))
        return
    shown = look(page=True)
    if not write:
        from nodelint.report.unified_diff import coloured, unified

        for old, new in made.changed:
            diff = screened("".join(unified(old, new)), commands=True)
            echo(coloured(diff, look().style), nl=False, commands=True)
    echo(report.migrate_text(made, target, types, written, shown), err=not write)


def _write(made: MovedFiles, found: Discovery) -> bool:
    """Write all files or none, and return whether this succeeded: if one cannot be written, the others are
    restored.
    """
    from nodelint.files.atomic_write import replace
    from nodelint.files.safe_read import error_reason

    done: list[tuple[Source, Source]] = []
    for old, new in made.changed:
        try:
            replace(new.path, new.data, before=old.data)
        except OSError as error:
            found.unreadable.append((new.path, f"not written, and no other file is: {error_reason(error)}"))
            for earlier_old, earlier_new in reversed(done):
                try:
                    replace(earlier_old.path, earlier_old.data, before=earlier_new.data)
                except OSError as again:
                    say(f"{earlier_old.path}: stays changed: {error_reason(again)}")
            return False
        done.append((old, new))
    return True
