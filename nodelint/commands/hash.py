"""`nodelint hash`: the hashes by which Karpenter detects drift."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from nodelint.base.types import TYPE_CHECKING
from nodelint.commands import (
    discovered,
    exclude,
    include,
    misread,
    output_format,
    read_settings_for,
    say_stated_for_files,
    say_switched_off,
    say_unknown,
    session_of,
    unreadable,
    values,
    versions,
)
from nodelint.commands._console import CLEAN, FOUND, UNUSABLE, echo_fitted, echo_json
from nodelint.commands._deadline import timeout_option
from nodelint.commands._gaps import say_gaps
from nodelint.commands._help import GroupedCommand
from nodelint.commands._live import cluster_of, live_option
from nodelint.commands._shell_completion import files

if TYPE_CHECKING:
    from typing import Unpack

    from nodelint.commands._flags import HashFlags

_EXIT = """
\b
Exit codes:
  0  done; an object whose hash cannot be known is listed with the reason
  1  with --live: a NodeClaim carries another hash
  2  wrong usage, or a path or document that could not be read
  3  an error in nodelint itself
"""


@click.command(cls=GroupedCommand, epilog=_EXIT)
@click.argument("paths", nargs=-1, metavar="[PATHS]...", shell_complete=files)
@live_option
@output_format
@click.option(
    "--crds",
    metavar="PATH",
    shell_complete=files,
    help="CRDs of your cluster (file or folder), instead of the bundled schemas.",
)
@values
@include
@exclude
@versions
@timeout_option
def command(paths: Sequence[str], live: str | None, form: str, **flags: Unpack[HashFlags]) -> None:
    """Print the drift hash of each NodePool and EC2NodeClass, as Karpenter writes it on the object.

    Karpenter replaces a node if the hash on its NodeClaim differs from that of its NodePool or EC2NodeClass.
    nodelint hashes the object as the API server stores it: without unknown fields, and with defaults. If you
    name no release, nodelint uses the one that the files state. Since Karpenter 1.12 the hash of a class also
    covers the cluster's CA bundle. --live reads the bundle from the cluster's classes; without --live, the
    bundle is not in the hash.

    \b
    Examples:
      nodelint hash clusters/prod
      nodelint hash pool.yaml class.yaml --karpenter-version 1.6.0 --format json
      nodelint hash clusters/prod --live kubectl
    """
    settings = read_settings_for(flags, paths)
    found = discovered(paths or (".",), settings)
    say_stated_for_files(found, settings)
    session = session_of(settings, runs_rules=False)
    target = session.target(choose=session.choose(found))
    cluster = cluster_of(live)
    from nodelint.drift.object_hashes import list_hashes
    from nodelint.inventory import read_inventory
    from nodelint.report.hash_text import hashes_json, hashes_text

    inventory = session.keep_requested(read_inventory(found), found)
    gaps = say_gaps(found, inventory)
    say_switched_off(list(inventory.objects()), "hashed anyway")
    rows = list_hashes(inventory.objects(), target, cluster)
    say_unknown(row.release for row in rows if row.release is not None)
    unread = bool(found.unreadable) or any(source.problems for source in found.sources)
    if form == "json":
        echo_json(hashes_json(rows))
    elif rows or not unread:  # of what could not be read, "nothing to hash" would be no answer
        echo_fitted(hashes_text(rows, found.files, gaps))
    unreadable(found)
    if misread(found.sources) or found.unreadable:
        sys.exit(UNUSABLE)
    differs = any(status.state == "differs" for row in rows for status in row.nodes or ())
    sys.exit(FOUND if differs else CLEAN)
