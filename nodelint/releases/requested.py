"""Keep of an inventory what belongs to the requested files.

A run over one cluster's folder also reads the files that are rendered with it, and those render objects of other
clusters.
"""

from __future__ import annotations

import os

from nodelint.base.types import TYPE_CHECKING
from nodelint.inventory import Inventory

if TYPE_CHECKING:
    from nodelint.files.folders import Discovery
    from nodelint.forms.rendered import Built
    from nodelint.releases.deployers import Deployers
    from nodelint.text import Source


def keep_requested(inventory: Inventory, found: Discovery, deployers: Deployers) -> Inventory:
    """Return an inventory without the objects of other clusters than the requested files.

    These are rendered from no requested file, and no object in a requested file deploys them. If nothing else is
    there, they are kept.
    """
    if not found.read_with:
        return inventory
    read_with = {os.path.abspath(path) for path in found.read_with}
    requested = {path for path in map(os.path.abspath, found.seen) if path not in read_with}
    folders = {os.path.dirname(path) for path in requested}

    def is_requested(built: Built) -> bool:
        places = (*built.parts, built.applied_by[0], built.cluster, *(os.path.abspath(s.path) for s in built.given))
        return (
            not requested.isdisjoint(places)
            or built.cluster in folders
            or any(by.path in requested for by in deployers.of_built(built))
        )

    own_builds = [built for built in inventory.built if is_requested(built)]
    parts = {part for built in own_builds for part in built.parts}

    def belongs_here(source: Source) -> bool:
        path = os.path.abspath(source.path)
        if path not in read_with or path in parts:
            return True
        if source.built_in or deployers.deploys(path):
            return False
        by = deployers.of_file(source.path)
        return not by or any(deployer.path in requested for deployer in by)

    made = inventory._replace(
        files=[source for source in inventory.files if belongs_here(source)], built=tuple(own_builds)
    )
    return made if next(made.objects(), None) is not None else inventory
