"""`nodelint clean`: remove the files that nodelint stores on this machine."""

from __future__ import annotations

import os
import sys

import click

from nodelint.base.printable import printable
from nodelint.commands._console import CLEAN, UNUSABLE, echo, say
from nodelint.commands._help import GroupedCommand
from nodelint.files.safe_read import error_reason
from nodelint.model.messages import counted

_EXIT = """
\b
Exit codes:
  0  the cache is removed, or there was none
  2  wrong usage, or a file that could not be removed
  3  an error in nodelint itself
"""


@click.command(cls=GroupedCommand, epilog=_EXIT)
@click.option("--dry-run", is_flag=True, help="Remove nothing; print what would be removed.")
def command(dry_run: bool) -> None:
    """Remove the facts from AWS that `nodelint refresh` and --live have cached for all repositories.

    nodelint keeps nothing else on this machine. Files that --output or `nodelint init` wrote stay in your
    repositories. Files of other programs in the cache folder stay as well. NODELINT_CACHE_DIR names another
    cache folder.
    """
    from nodelint.ec2 import cache

    folder, files = cache.list_kept()
    failed = False
    removed = 0
    for path in files:
        try:
            if not dry_run:
                os.unlink(path)
        except OSError as error:
            say(f"{path}: not removed: {error_reason(error)}")
            failed = True
            continue
        removed += 1
        echo(printable(f"{'Would remove' if dry_run else 'Removed'} {path}"))
    if not files:
        echo(printable(f"Nothing to remove: no cached facts in {folder}."))
    elif not dry_run:
        cache.remove_empty_folder(folder)
        echo(f"Removed {counted(removed, 'file')}.")
    sys.exit(UNUSABLE if failed else CLEAN)
