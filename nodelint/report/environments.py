"""NodePools by environment: only pools of one environment are compared with each other in a report."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence

from nodelint.karpenter.resolve.resolution import Resolution
from nodelint.model.finding import label_of
from nodelint.model.folders import folder_of, path_below
from nodelint.model.manifest import NodePool


def group_by_environment(resolutions: Sequence[Resolution]) -> dict[str, list[Resolution]]:
    """Return the pools of each environment, in the given order, under the name of the environment.

    Rendered pools of one folder with the same inputs are one environment. Pools of plain files are one environment,
    unless a name occurs twice: then those of each folder are. The name is empty if there is only one environment.
    """
    plain = Counter(r.pool.name for r in resolutions if r.pool.source.built is None)
    by_folder = any(count > 1 for count in plain.values())
    found: dict[tuple[str, str, int], list[Resolution]] = {}
    for resolution in resolutions:
        found.setdefault(_environment(resolution.pool, by_folder), []).append(resolution)
    if len(found) == 1:
        return {"": list(resolutions)}
    named: dict[str, list[Resolution]] = {}
    for (folder, label, _), members in found.items():
        inputs = "" if os.path.basename(label) == os.path.basename(folder) else label
        name = f"{folder} with {inputs}" if inputs and folder else folder or inputs or "plain files"
        named[f"{name} ({len(named) + 1})" if name in named else name] = members
    return named


def _environment(pool: NodePool, by_folder: bool) -> tuple[str, str, int]:
    """Return the folder of a pool's environment, the further inputs, and the number of the release."""
    built = pool.source.built
    if built is None:
        return (folder_of(pool.source.path) or "." if by_folder else ""), "", 0
    folder = path_below(built.cluster, os.getcwd()) if built.cluster else ""
    return folder, label_of(pool.source) or "", -1 if built.release is None else built.release
