"""`nodelint check`: find mistakes and fix them."""

from __future__ import annotations

import click

from nodelint.base.types import TYPE_CHECKING
from nodelint.commands import versions
from nodelint.commands._check_run import check
from nodelint.commands._deadline import timeout_option
from nodelint.commands._facts import facts_options
from nodelint.commands._help import GroupedCommand, WordChoice
from nodelint.commands._lint_setup import judging_options
from nodelint.commands._output import output_options
from nodelint.commands._shell_completion import files
from nodelint.commands._terminal import colour_option

if TYPE_CHECKING:
    from typing import Unpack

    from nodelint.commands._flags import CheckFlags

_EXIT = """
\b
Exit codes:
  0  nothing at or above --fail-on
  1  something at or above --fail-on; with --fail-on-unjudged: something could
     not be judged; with --timeout: something was not judged in time
  2  wrong usage or configuration, a path that could not be read, or a rule of
     your own that raised an error
  3  an error in nodelint itself
  4  with --require-facts: a fact is missing; a retry may help
  5  with --require-facts: a fact is missing; a retry does not help
"""


@click.command(cls=GroupedCommand, epilog=_EXIT)
@click.argument("paths", nargs=-1, metavar="[PATHS]...", shell_complete=files)
@click.option("--fix", "fixing", is_flag=True, help="Write the safe fixes, which replace no running node.")
@click.option("--unsafe-fixes", is_flag=True, help="Also write the unsafe fixes (implies --fix).")
@click.option(
    "--apply",
    "chosen",
    multiple=True,
    metavar="WHAT",
    help="Write only the fix or suggestion that you choose: by rule, by place (pools.yaml:12), or by number if a"
    " finding has several suggestions (pools.yaml:12=2). May be repeated.",
)
@click.option("--diff", is_flag=True, help="Write nothing; print what would change as a unified diff.")
@output_options
@click.option("--show-fixes", is_flag=True, help="List every finding that --fix fixes, or with --diff would fix.")
@click.option("--statistics", is_flag=True, help="Print the number of findings of each rule, not the findings.")
@click.option(
    "--show-files",
    "show",
    flag_value="files",
    help="Print how each file is read, and its release with the line that states it; judge nothing.",
)
@click.option(
    "--show-settings",
    "show",
    flag_value="settings",
    help="Print the settings from flags and configuration; judge nothing.",
)
@click.option("--quiet", "-q", is_flag=True, help="Print only findings.")
@click.option(
    "--verbose", "-v", is_flag=True, help="List everything that was not judged, and the rules that lack facts."
)
@click.option(
    "--stdin-filename",
    metavar="PATH",
    shell_complete=files,
    help="The name of the file on standard input, for findings and globs. Editors use it.",
)
@colour_option
@judging_options
@click.option(
    "--fail-on",
    type=WordChoice(["error", "warning", "never"]),
    help="The lowest severity that makes the exit code 1. Default: error.",
)
@click.option(
    "--baseline",
    metavar="FILE",
    shell_complete=files,
    help="Hide the findings that `nodelint baseline` recorded.",
)
@facts_options
@click.option(
    "--require-facts", is_flag=True, help="Fail if a rule could not run because a fact from AWS is missing."
)
@click.option(
    "--fail-on-unjudged", is_flag=True, help="Fail if an object, or a value that matters, could not be judged."
)
@click.option("--watch", is_flag=True, help="Check again whenever a file changes, until Ctrl-C.")
@timeout_option
@versions
def command(watch: bool, **options: Unpack[CheckFlags]) -> None:
    """Find what is wrong in manifests, and fix it.

    PATHS are files, folders (with everything below them) or - for standard input. Default: this folder.

    \b
    Examples:
      nodelint check clusters/ --karpenter-version 1.4 --kubernetes-version 1.32
      nodelint check --diff --unsafe-fixes pool.yaml
      nodelint check --diff --apply pool.yaml:12 pool.yaml
      nodelint check --format text --format sarif=nodelint.sarif
      kubectl get nodepools,ec2nodeclasses -o yaml | nodelint check -

    A comment silences a rule: `# nodelint: ignore[rule] why`, at the end of a line, or on the line
    above a field or an object.
    """
    if watch:
        import sys

        from nodelint.commands._watch import watch_check

        watch_check(options["paths"], sys.argv[1:])
    check(**options)
