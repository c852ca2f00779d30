"""Which NodePools of a run are in one cluster, as far as the paths of their files show."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache

from nodelint.data import table
from nodelint.forms.registry import TABLE
from nodelint.model.folders import REGION, folder_of, is_named_for_environment, is_of_examples, path_in_repository
from nodelint.model.manifest import EC2NodeClass, NodePool, Object
from nodelint.model.manifest_terms import text
from nodelint.text import UNKNOWN, Node

_MOST = 50
"""The most NodePools of a folder that are taken for one cluster. A larger folder is a collection."""

_MOST_VERSIONS = 4
"""The most objects of one name in a folder that are duplicates. If there are more, each file is an example of its
own.
"""

_READ_BY_NAME = (".tpl", *TABLE.templates)
"""File name endings of templates that a program reads by their name."""

_ELSEWHERE = frozenset(
    {
        *("archive", "archived", "backup", "base", "bases", "components", "deprecated", "disabled", "legacy", "old"),
        *("overlay", "overlays", "patch", "patches"),
    }
)
"""Words in paths of files that are parts of an overlay, or not in use."""

ClassOf = Callable[[NodePool], EC2NodeClass | None]


def pools_by_cluster(objects: Sequence[Object], class_of: ClassOf) -> dict[int, list[NodePool]]:
    """Return for each NodePool (by `id`) the NodePools of its cluster, itself among them. Pools that share no cluster
    with another are absent.

    Pools of one file are in one cluster. Those of one folder are if no name occurs twice, no file is named for an
    environment, and their classes do not name different clusters. Partial objects, the objects that they change, and
    excerpts in documentation belong to no cluster.
    """
    changed = {o.name for o in objects if isinstance(o, NodePool) and o.partial}
    pools = [
        o
        for o in objects
        if type(o) is NodePool and not o.partial and isinstance(o.name, str) and o.name not in changed
        if o.version == "v1"
    ]
    by_folder: dict[str, list[NodePool]] = {}
    for pool in pools:
        by_folder.setdefault(folder_of(pool.source.path), []).append(pool)
    ambiguous, region_of = cache(lambda: _ambiguous(objects)), cache(lambda: _regions(objects))
    found: dict[int, list[NodePool]] = {}
    for folder, members in by_folder.items():
        if len(members) < 2:
            continue
        files = all(pool.document.host in APPLIED for pool in members)
        whole = len(members) <= _MOST and files and folder not in ambiguous()
        for part in [members] if whole else _by_region(members, region_of()):
            for group in _by_cluster(part, class_of):
                if len(group) > 1 and len({pool.name for pool in group}) == len(group):
                    found.update((id(pool), group) for pool in group)
    return found


def share_names(objects: Sequence[Object]) -> list[list[Object]]:
    """Return the objects that have the same kind and name as others, in groups."""
    names = [(o.kind, o.name) for o in objects]
    if len(set(names)) == len(names):
        return []
    named: dict[tuple[str, object], list[Object]] = {}
    for name, o in zip(names, objects, strict=True):
        if isinstance(o.name, str):
            named.setdefault(name, []).append(o)
    return [same for same in named.values() if len(same) > 1]


def namesakes(objects: Sequence[Object]) -> dict[int, list[Object]]:
    """Return for an object (by `id`) all objects with its kind and name that the same command would apply, itself
    among them. The first of them is absent.

    They are in one file; or in one folder, if few have the name, no file is named for an environment, and the folder
    has no examples. Terraform reads each template by its name, and may choose one of several, so a folder of
    templates shows nothing.
    """
    alike = [o for same in share_names(objects) for o in same if not o.partial and o.version == "v1"]
    if len(alike) < 2:
        return {}
    region_of = _regions(objects)
    files: dict[tuple[object, str, object], list[Object]] = {}
    folders: dict[tuple[str, str, object], list[Object]] = {}
    for o in alike:
        files.setdefault((region_of[id(o)], o.kind, o.name), []).append(o)
        if o.document.host is None and not o.source.path.endswith(_READ_BY_NAME):
            folders.setdefault((folder_of(o.source.path), o.kind, o.name), []).append(o)
    found = {id(later): same for same in files.values() for later in same[1:]}
    for same in folders.values():
        if not 1 < len(same) <= _MOST_VERSIONS or any(is_named_for_environment(o.source.path) for o in same):
            continue
        for later in same[1:]:
            if id(later) not in found and not is_of_examples(later.source.path):
                found[id(later)] = same
    return found


def definitions_elsewhere(objects: Sequence[Object]) -> dict[int, Object]:
    """Return for an object of a YAML file (by `id`) the object of its kind and name that is defined elsewhere with
    another spec.

    The other definition is in Terraform, or in a YAML file of another folder if the tags of both classes name one
    cluster. The run must hold only these two objects of the name, no folder of their paths may be for an environment,
    a region, overlays or examples, and no overlay may change them. A value with a placeholder counts as equal.
    """
    found = {}
    for same in share_names(objects):
        if len(same) != 2 or any(map(_stands_alone, same)):
            continue
        written = [o for o in same if o.document.host is None and not o.source.path.endswith(_OF_FORMS)]
        made = [o for o in same if o.source.path.endswith(TABLE.endings)]
        if len(written) == 2 and _folders_of_one_cluster(written[0], written[1], objects):
            made = [written.pop(0)]
        if len(written) == len(made) == 1:
            obj, other = written[0], made[0]
            if _differ(obj.node.get("spec"), other.node.get("spec")):
                found[id(obj)] = other
    return found


def _folders_of_one_cluster(a: Object, b: Object, objects: Sequence[Object]) -> bool:
    """Return whether two objects in different folders are certainly for the same cluster."""
    clusters = []
    for obj in (a, b):
        folder = os.path.dirname(obj.source.path)
        name = text(obj.node.find("spec", "template", "spec", "nodeClassRef", "name")) or obj.name
        classes = (
            o for o in objects if isinstance(o, EC2NodeClass) and o.name == name and o.source.path.startswith(folder)
        )
        node_class = obj if isinstance(obj, EC2NodeClass) else next(classes, None)
        clusters.append((folder, _cluster(node_class) if node_class is not None else None))
    (folder, cluster), (other_folder, other_cluster) = clusters
    named = cluster is not None and re.fullmatch(r"[A-Za-z][\w-]*", cluster) and cluster not in ("true", "owned")
    return folder != other_folder and cluster == other_cluster and bool(named)


_OF_FORMS = (*TABLE.endings, *_READ_BY_NAME)


def _stands_alone(o: Object) -> bool:
    """Return whether an object may be for another cluster, or is only a part of an object."""
    path = path_in_repository(o.source.path)
    words = _ELSEWHERE.union(table("vocabulary")["environments"])
    of_another = not words.isdisjoint(re.split(r"[^a-z0-9]+", path.lower())) or re.search(REGION, path)
    return o.partial or o.version != "v1" or is_of_examples(path) or bool(of_another)


def _differ(node: Node | None, other: Node | None) -> bool:
    """Return whether two values certainly differ."""
    if node is None or other is None:
        return node is not other
    if node.value is UNKNOWN or other.value is UNKNOWN:
        return False
    if node.kind == "mapping" == other.kind:
        if any(entry.name is None for node in (node, other) for entry in node.entries):
            return False
        names = {entry.name for node in (node, other) for entry in node.entries if entry.name is not None}
        return any(_differ(node.get(name), other.get(name)) for name in names)
    if node.kind == "sequence" == other.kind:
        pairs = zip(node.items, other.items, strict=False)
        return len(node.items) != len(other.items) or any(_differ(*pair) for pair in pairs)
    return node.kind == other.kind == "scalar" and node.value != other.value


class NamelessClasses:
    """The classes of a run whose names are placeholders, and the NodePools that may mean each.

    These are the pools of the class's cluster: those rendered with it, else those below the nearest folder around its
    file that has any pool.
    """

    def __init__(self, objects: Sequence[Object]) -> None:
        kinds = ("EC2NodeClass", "AWSNodeTemplate", "NodeClass")
        self._classes = [o for o in objects if o.kind in kinds and not isinstance(o.name, str)]
        self._folders: set[str] = set()
        for o in objects if self._classes else ():
            folder = folder_of(o.source.path) if isinstance(o, NodePool) else ""
            while folder and folder not in self._folders and folder != os.path.dirname(folder):
                self._folders.add(folder)
                folder = os.path.dirname(folder)

    def may_be_meant(self, pool: NodePool) -> bool:
        """Return whether a class whose name is a placeholder may be the class of a pool."""
        return any(self._may_serve(node_class, pool) for node_class in self._classes)

    def _may_serve(self, node_class: Object, pool: NodePool) -> bool:
        if node_class.source.cluster or pool.source.cluster:
            return node_class.source.cluster == pool.source.cluster
        folder = os.path.dirname(node_class.source.path)
        while folder and folder not in self._folders and folder != os.path.dirname(folder):
            folder = os.path.dirname(folder)
        return not folder or f"{folder_of(pool.source.path)}/".startswith(f"{folder.rstrip('/')}/")


APPLIED = (None, *TABLE.host_names)
"""Hosts of documents that are applied as a whole. A script or a Markdown file has several texts that are applied one
by one.
"""


def _regions(objects: Iterable[Object]) -> dict[int, tuple[str, int]]:
    """Return for each object (by `id`) the text with which it is applied: its file, or the heredoc or Markdown fence
    that contains it.
    """
    found: dict[int, tuple[str, int]] = {}
    last: tuple[str, int] | None = None
    end = -1
    for o in objects:
        document, path = o.document, o.source.path
        if document.host in APPLIED:
            found[id(o)] = path, -1
            continue
        follows = last is not None and last[0] == path and document.start <= end
        last = last if follows and last is not None else (path, document.start)
        end = document.end
        found[id(o)] = last
    return found


def _by_region(pools: Iterable[NodePool], region_of: dict[int, tuple[str, int]]) -> Iterable[list[NodePool]]:
    found: dict[tuple[str, int], list[NodePool]] = {}
    for pool in pools:
        found.setdefault(region_of[id(pool)], []).append(pool)
    return [pools for pools in found.values() if len(pools) <= _MOST]


def _ambiguous(objects: Sequence[Object]) -> set[str]:
    """Return the folders whose files are not for one cluster: a name occurs twice, or files are named for
    environments.
    """
    names = Counter((folder_of(o.source.path), o.kind, o.name) for o in objects)
    found = {folder for (folder, _, name), times in names.items() if times > 1 and isinstance(name, str)}
    found.update(os.path.dirname(path) for path in {o.source.path for o in objects} if is_named_for_environment(path))
    return found


def _by_cluster(pools: Sequence[NodePool], class_of: ClassOf) -> Iterable[list[NodePool]]:
    """Return the pools in groups, by the cluster in the tags of their class's selectors. Pools whose class names no
    cluster form one group.
    """
    clusters: dict[str | None, list[NodePool]] = {}
    for pool in pools:
        clusters.setdefault(_cluster(class_of(pool)), []).append(pool)
    return clusters.values()


def _cluster(node_class: EC2NodeClass | None) -> str | None:
    if node_class is None:
        return None
    for term in (*node_class.subnet_terms, *node_class.security_group_terms):
        for tag in term.tags:
            if tag.key == "karpenter.sh/discovery":
                return tag.value if isinstance(tag.value, str) else tag.node.unquoted
    return None
