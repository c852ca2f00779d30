"""`nodelint plan`: what a change does to the fleet, before it is merged."""

from __future__ import annotations

import click

from nodelint.base.types import TYPE_CHECKING
from nodelint.commands import versions
from nodelint.commands._deadline import timeout_option
from nodelint.commands._help import GroupedCommand, WordChoice
from nodelint.commands._lint_setup import judging_options
from nodelint.commands._live import live_option
from nodelint.commands._output import PLAN_FORMATS, options_for
from nodelint.commands._plan_run import GATES, plan_change
from nodelint.commands._shell_completion import files, revisions
from nodelint.commands._terminal import colour_option

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Unpack

    from nodelint.commands._flags import PlanSettingFlags
    from nodelint.commands._output import Output

_EXIT = """
\b
Exit codes:
  0  nothing at or above --fail-on
  1  for `drift`: nodes are or may be replaced or deleted, or a change could
     not be compared; for `launch`: a pool can no longer launch nodes; for
     `error`: `check` has a new error, or the API server refuses an update
  2  wrong usage, or a path, document or revision that could not be read, if
     no reason for 1 was found
  3  an error in nodelint itself
"""


@click.command(cls=GroupedCommand, epilog=_EXIT)
@click.argument("paths", nargs=-1, metavar="[PATHS]...", shell_complete=files)
@click.option(
    "--against",
    metavar="REVISION",
    shell_complete=revisions,
    help="The git revision to compare with, read without touching the work tree. Default: where the branch left the"
    " default branch.",
)
@click.option("--old", metavar="DIR", shell_complete=files, help="A folder to compare with, instead of a revision.")
@live_option
@options_for(PLAN_FORMATS)
@click.option(
    "--fail-on",
    "gate",
    type=WordChoice(GATES),
    default="drift",
    show_default=True,
    help="What makes the exit code 1; see `Exit codes` below.",
)
@judging_options
@click.option(
    "--snapshot",
    metavar="FILE",
    shell_complete=files,
    help="Facts that `nodelint refresh` wrote. Default: those cached for this repository. `bundled` uses only"
    " those that ship with nodelint.",
)
@click.option("--region", metavar="NAME", help="The AWS region. Default: the snapshot's region, if it has only one.")
@colour_option
@versions
@timeout_option
def command(
    paths: Sequence[str],
    against: str | None,
    old: str | None,
    live: str | None,
    outputs: Sequence[Output],
    output: str | None,
    gate: str,
    **flags: Unpack[PlanSettingFlags],
) -> None:
    """Show what a change of manifests does to the fleet: which nodes are replaced, by which line, and why.

    The plan assumes that the cluster holds the old side and that no node has drifted. The new side is applied
    as a whole: objects that it lacks are deleted.

    \b
    Examples:
      nodelint plan                 since the branch left the default branch
      nodelint plan clusters/prod --against origin/main
      nodelint plan --old before/ after/ --karpenter-version 1.15.1 --format json
    """
    plan_change(paths, against, old, live, outputs, output, gate, **flags)
