"""`nodelint hash`: the hashes by which Karpenter detects drift."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from nodelint.commands import (
    CLEAN,
    FOUND,
    UNUSABLE,
    discovered,
    echo_fitted,
    echo_json,
    exclude,
    include,
    misread,
    output_format,
    say_switched_off,
    say_unknown,
    session_of,
    settings_over_paths,
    unreadable,
    versions,
)
from nodelint.commands._deadline import timeout_option
from nodelint.commands._gaps import say_gaps
from nodelint.commands._help import GroupedCommand
from nodelint.commands._live import cluster_of, live_option
from nodelint.commands._shell_completion import files
from nodelint.model.ranges import only
from nodelint.releases.release_choice import Chosen

if TYPE_CHECKING:
    from typing import Unpack

    from nodelint.commands._flags import HashFlags
    from nodelint.drift.cluster import Cluster
    from nodelint.inventory import Inventory
    from nodelint.lint.engine import Target
    from nodelint.model.manifest import Object
    from nodelint.model.releases import Version
    from nodelint.report.hash_text import Row

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
    settings = settings_over_paths(flags, paths)
    found = discovered(paths or (".",), settings)
    session = session_of(settings)
    target = session.target(choose=session.choose(found))
    cluster = cluster_of(live)
    from nodelint.inventory import read_inventory
    from nodelint.report.hash_text import hashes_json, hashes_text

    inventory = read_inventory(found)
    say_gaps(found, inventory, settings)
    say_switched_off(list(inventory.objects()), "hashed anyway")
    rows = _rows(inventory, target, cluster)
    say_unknown(row.release for row in rows if row.release is not None)
    unread = bool(found.unreadable) or any(source.problems for source in found.sources)
    if form == "json":
        echo_json(hashes_json(rows))
    elif rows or not unread:  # of what could not be read, "nothing to hash" would be no answer
        echo_fitted(hashes_text(rows, found.files))
    unreadable(found)
    if misread(found.sources) or found.unreadable:
        sys.exit(UNUSABLE)
    differs = any(status.state == "differs" for row in rows for status in row.nodes or ())
    sys.exit(FOUND if differs else CLEAN)


def _rows(inventory: Inventory, target: Target, cluster: Cluster | None) -> list[Row]:
    """The hashes of each object in every release that it is judged for; what several releases share is told once."""
    from nodelint.drift.claim_status import ca_of
    from nodelint.model.manifest import EC2NodeClass, NodePool
    from nodelint.report.hash_text import Row

    rows: list[Row] = []
    bundles: dict[Version, int | None] = {}
    for obj in inventory.objects():
        if not isinstance(obj, (NodePool, EC2NodeClass)):
            continue
        chosen = target.choose(obj) if target.choose is not None else (Chosen(only(target.karpenter)),)
        if isinstance(chosen, str):
            rows.append(Row(obj, reason=chosen))
            continue
        row_of: dict[tuple[object, ...], Row] = {}
        for choice in reversed(chosen):
            chosen_target = target.for_choice(choice)
            if chosen_target.karpenter not in bundles:
                bundles[chosen_target.karpenter] = (
                    ca_of(cluster, chosen_target.karpenter) if cluster is not None else None
                )
            stated = choice.karpenter_from.place if choice.karpenter_from is not None else None
            row = _row(obj, chosen_target, bundles[chosen_target.karpenter], cluster)._replace(stated=stated)
            row_of.setdefault((row.version, row.hashed, row.kubelet, row.reason), row)
        rows += reversed(row_of.values())
    return rows


def _row(obj: Object, target: Target, ca: int | None, cluster: Cluster | None) -> Row:
    from nodelint.apiserver import Schemas
    from nodelint.drift import Unhashable, hash_stored, stored_object
    from nodelint.drift.claim_status import standings
    from nodelint.drift.hashes import annotation, kubelet_hash, version
    from nodelint.drift.stored_form import left_out
    from nodelint.report.hash_text import Row

    release = target.karpenter
    row = Row(obj, release, annotation(obj.kind), version(obj.kind, release))
    try:
        stored = stored_object(obj, release, target.schemas or Schemas.bundled())
        hashed = hash_stored(obj.kind, stored, release, ca)
        kubelet = kubelet_hash(stored, release) if obj.kind == "EC2NodeClass" else None
    except Unhashable as error:
        return row._replace(reason=str(error))
    unknown = tuple(left_out(obj, release, target.schemas or Schemas.bundled()))
    nodes = None
    if cluster is not None and isinstance(obj.name, str) and not unknown:
        nodes = standings(obj.kind, obj.name, stored, hashed, cluster, release)
    return row._replace(hashed=hashed, kubelet=kubelet, nodes=nodes, left_out=unknown)
