"""Find the objects that deploy a NodePool or EC2NodeClass, and whether two files are for different clusters.

An Argo CD Application, Flux Kustomization or HelmRelease deploys a folder or chart that several clusters may share.
Its own file belongs to one cluster, so a release that stands next to it holds for what it deploys.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.files.gate import gate
from nodelint.model.folders import list_environments

if TYPE_CHECKING:
    from nodelint.forms.rendered import Built
    from nodelint.forms.requests import FolderUse
    from nodelint.model.evidence import Evidence

_OF_CLUSTERS = frozenset({"clusters", "env", "environments", "envs", "overlays", "stages"})
"""Folders with one folder for each cluster."""
_SHARED = frozenset(
    {
        *("all", "base", "bases", "common", "default", "global", "shared"),
        *("argocd", "flux", "hub", "management", "mgmt"),
        *("addons", "apps", "controller", "infra", "infrastructure", "karpenter", "nodepool", "nodepools", "nodes"),
        *("platform", "pools", "system"),
    }
)
"""Words in the names of folders among them that are for several clusters, or for a part of one."""
_SAME = {
    **dict.fromkeys(("live", "prd", "production"), "prod"),
    **dict.fromkeys(("staging", "stg"), "stage"),
    **dict.fromkeys(("testing", "tst"), "test"),
    "development": "dev",
    "integration": "int",
}
"""Names of one environment."""
_YAML = (".yaml", ".yml", ".json")


def folders_of(path: str) -> tuple[str, ...]:
    """Return the folders of a file's path, from the root of the file system on. A path with `/` at its end is a
    folder.
    """
    return tuple(os.path.abspath(os.path.dirname(path)).split(os.sep))


class Deployer(NamedTuple):
    """An object that deploys a folder or chart: the absolute path of its file, and the clusters to which it deploys.

    `clusters` has their names or addresses. It is empty for the cluster of the object itself.
    """

    path: str
    clusters: frozenset[str] = frozenset()

    @property
    def folder(self) -> str:
        return os.path.dirname(self.path)


class Deployers:
    """The objects that deploy folders and charts of a repository. `list_uses` reads them, at the first look-up."""

    def __init__(self, list_uses: Callable[[], Iterable[FolderUse]] = tuple) -> None:
        self._list_uses = list_uses
        self._of_file: dict[str, tuple[Deployer, ...]] = {}

    @cached_property
    def _by_folder(self) -> dict[str, list[FolderUse]]:
        found: dict[str, list[FolderUse]] = {}
        for use in self._list_uses():
            if "{{" not in use.folder:
                found.setdefault(use.folder, []).append(use)
        return found

    def of_file(self, path: str) -> tuple[Deployer, ...]:
        """Return what deploys a file: the deployers of the deepest folder around it."""
        if path not in self._of_file:
            self._of_file[path] = _list_deployers(self._find_uses(os.path.dirname(os.path.abspath(path))))
        return self._of_file[path]

    def of_built(self, built: Built) -> tuple[Deployer, ...]:
        """Return what deploys a rendered manifest. Several deployers give it to several clusters. Empty if none is
        known.
        """
        appliers = [self._read_applier(*by) for by in (built.applied_by, *built.also_applied_by)]
        if known := dict.fromkeys(filter(None, appliers)):
            return tuple(known)
        own = self._by_name.get(built.cluster) or self._by_name.get(built.cluster.rpartition(":")[0])
        if own:
            return _list_deployers(own)
        uses = self._find_uses(built.cluster)
        if not uses and built.given:  # values outside of the chart's folder
            uses = next(filter(None, (self._find_uses(os.path.dirname(part)) for part in built.parts)), [])
        return _list_deployers(_keep_for_values(uses, built))

    def _read_applier(self, path: str, name: str) -> Deployer | None:
        """Return the deployer that a rendered manifest names. None if it is no file."""
        if path.endswith(_YAML):
            named = frozenset(name.split())
            clusters = [use.clusters for use in self._by_file.get(path, ()) if use.clusters & named]
            return Deployer(path, frozenset[str]().union(*clusters))
        return Deployer(path) if name and gate.is_file(path) else None  # a command in a script

    def deploys(self, path: str) -> bool:
        """Return whether an object in a file deploys a folder or chart. The path is absolute."""
        return path in self._by_file

    @cached_property
    def _by_file(self) -> dict[str, list[FolderUse]]:
        found: dict[str, list[FolderUse]] = {}
        for uses in self._by_folder.values():
            for use in uses:
                found.setdefault(os.path.abspath(use.at.source.path), []).append(use)
        return found

    @cached_property
    def _by_name(self) -> dict[str, list[FolderUse]]:
        """Return the uses by file and name of their object, which is the cluster of what a controller changes."""
        found: dict[str, list[FolderUse]] = {}
        for path, uses in self._by_file.items():
            for use in uses:
                found.setdefault(f"{path}:{use.name.partition(' ')[2]}", []).append(use)
        return found

    def _find_uses(self, folder: str) -> list[FolderUse]:
        if not self._by_folder:
            return []
        while folder not in self._by_folder:
            if folder == (folder := os.path.dirname(folder)):
                return []
        return self._by_folder[folder]


def _keep_for_values(uses: Sequence[FolderUse], built: Built) -> Sequence[FolderUse]:
    """Return the uses of a chart that are for the cluster of the values files with which it is rendered.

    They name one of the files, or are in no folder of another environment. All uses, if that leaves none.
    """
    paths = [source.path for source in built.given]
    for parts in (2, 1):
        tails = ["/".join(os.path.abspath(path).split(os.sep)[-parts:]) for path in paths]
        naming = [use for use in uses if any(tail in _text_of(use) for tail in tails)]
        if naming and len(naming) < len(uses):
            return naming
    near = [
        use
        for use in uses
        if not any(are_for_different_clusters(os.path.abspath(path), use.at.source.path) for path in paths)
    ]
    return near or uses


def _text_of(use: FolderUse) -> str:
    return use.at.source.text[use.at.start : use.at.end]


def _list_deployers(uses: Iterable[FolderUse]) -> tuple[Deployer, ...]:
    return tuple(dict.fromkeys(Deployer(os.path.abspath(use.at.source.path), use.clusters) for use in uses))


def are_for_different_clusters(path: str, other: str) -> bool:
    """Return whether the paths of two files show that they are for different clusters.

    They do if they part below a folder such as `clusters`, or name different environments or regions.
    """
    both = [[*folders_of(place.lower()), os.path.basename(place.lower())] for place in (path, other)]
    common = _count_common(*both)
    ours, theirs = both[0][common:], both[1][common:]
    if len(ours) > 1 and len(theirs) > 1 and both[0][common - 1] in _OF_CLUSTERS:
        words = re.split(r"[^a-z0-9]+", f"{ours[0]}/{theirs[0]}")
        if _SHARED.isdisjoint(words):
            return True
    named = [{_SAME.get(word, word) for word in list_environments(parts)} for parts in (ours, theirs)]
    for is_region in (False, True):
        of_kind = [{word for word in words if ("-" in word) is is_region} for words in named]
        if all(of_kind) and not of_kind[0] & of_kind[1]:
            return True
    return False


def _count_common(ours: list[str], theirs: list[str]) -> int:
    count = 0
    while count < min(len(ours), len(theirs)) - 1 and ours[count] == theirs[count]:
        count += 1
    return count


def is_for_destination(evidence: Evidence, deployer: Deployer) -> bool | None:
    """Return whether a statement is for the cluster to which an object deploys. None if the destinations do not show
    it.
    """
    return _share_cluster(evidence.clusters, deployer.clusters)


def _share_cluster(texts: Iterable[str], others: Iterable[str]) -> bool | None:
    """Return whether names or addresses of clusters have one in common. None if they cannot be compared."""
    result = None
    for is_address in (False, True):
        ours, theirs = ({text for text in both if ("://" in text) is is_address} for both in (texts, others))
        if ours & theirs:
            return True
        if ours and theirs:
            result = False
    return result


def is_for_another(evidence: Evidence, by: tuple[Deployer, ...], path: str, deployer: Deployer | None) -> bool:
    """Return whether a statement is for another cluster than an object.

    `by` is what deploys the file with the statement. `path` is that of the object, `deployer` is what deploys it.
    """
    place = path
    if deployer is not None:
        place = deployer.path
        same = is_for_destination(evidence, deployer)
        if same is None and by:
            answers = {_share_cluster(other.clusters, deployer.clusters) for other in by}
            same = True if True in answers else False if answers == {False} else None
        if same is not None:
            return not same
    if are_for_different_clusters(evidence.path, place):
        return True
    return bool(by) and all(are_for_different_clusters(other.path, place) for other in by)
