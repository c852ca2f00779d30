"""Read the output of `kubectl get ... -o yaml` as plain objects by kind."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import Any
from nodelint.drift.plain_values import Plain, listed, mapping, text
from nodelint.model.kubectl_errors import explain_failure
from nodelint.text.yaml.held_yaml import hold
from nodelint.why.kubectl_yaml import NotPlain, read_plain

KINDS = (
    "nodes",
    "nodeclaims.karpenter.sh",
    "nodepools.karpenter.sh",
    "ec2nodeclasses.karpenter.k8s.aws",
    "pods",
    "poddisruptionbudgets.policy",
    "daemonsets.apps",
    "deployments.apps",
    "replicasets.apps",
    "statefulsets.apps",
    "persistentvolumeclaims",
    "persistentvolumes",
    "storageclasses.storage.k8s.io",
    "events",
    "nodeoverlays.karpenter.sh",
)
"""The kinds that are read from a cluster, with names that no other API group has."""

NEEDED = 5
"""The number of kinds at the start of `KINDS` without which no answer is possible."""

_GROUPS = {
    "Node": "",
    "Pod": "",
    "NodeClaim": "karpenter.sh",
    "NodePool": "karpenter.sh",
    "EC2NodeClass": "karpenter.k8s.aws",
    "NodeOverlay": "karpenter.sh",
    "PodDisruptionBudget": "policy",
    "DaemonSet": "apps",
    "Deployment": "apps",
    "ReplicaSet": "apps",
    "StatefulSet": "apps",
    "PersistentVolumeClaim": "",
    "PersistentVolume": "",
    "StorageClass": "storage.k8s.io",
}
_CLUSTER_WIDE = frozenset(
    {"Node", "NodeClaim", "NodePool", "EC2NodeClass", "NodeOverlay", "PersistentVolume", "StorageClass"}
)
_TOO_DEEP = "nested more deeply than kubectl prints anything"

Key = tuple[str, str]
"""The namespace and the name of an object. The namespace is empty for a cluster-scoped object."""


class Dump(NamedTuple):
    """The objects of a cluster by kind, each by namespace and name, and its events.

    `repeated` is the number of objects that were printed more than once: the last one counts. `skipped` is the number
    of objects without a name or a kind.
    """

    objects: dict[str, dict[Key, Plain]]
    events: list[Plain]
    repeated: int = 0
    skipped: int = 0

    def objects_of(self, kind: str) -> dict[Key, Plain]:
        """Return the objects of a kind by namespace and name."""
        return self.objects.get(kind, {})

    def has_kind(self, kind: str) -> bool:
        """Return whether the dump has an object of the kind."""
        return bool(self.objects.get(kind))


def read_dump(texts: Iterable[tuple[str, str]]) -> Dump:
    """Return the objects of texts, each given with its path. Raise ValueError if one is neither JSON nor YAML."""
    objects: dict[str, dict[Key, Plain]] = {}
    events: list[Plain] = []
    repeated = skipped = 0
    for path, written in texts:
        failure = explain_failure(written) if "apiVersion" not in written else None
        if failure is not None:
            raise ValueError(f"{path}: {failure}")
        for obj in _objects(_documents(path, written)):
            kind, meta = text(obj.get("kind")), mapping(obj.get("metadata"))
            name = text(meta.get("name"))
            if kind == "Event":
                events.append(obj)
                continue
            if not kind or not name:
                skipped += 1
                continue
            if _GROUPS.get(kind) != text(obj.get("apiVersion")).rpartition("/")[0]:
                continue
            namespace = "" if kind in _CLUSTER_WIDE else text(meta.get("namespace")) or "default"
            of_kind = objects.setdefault(kind, {})
            repeated += (namespace, name) in of_kind
            of_kind[namespace, name] = obj
    return Dump(objects, events, repeated, skipped)


def _documents(path: str, written: str) -> list[Any]:
    try:
        start = written.lstrip("\ufeff \t\r\n")[:1]
        if start in ("{", "["):
            return _json_documents(path, written)
        return read_plain(written)
    except NotPlain:
        return _any_yaml(path, written)
    except RecursionError:
        raise ValueError(f"{path}: {_TOO_DEEP}") from None


def _json_documents(path: str, written: str) -> list[Any]:
    """Return the documents of a JSON text: one, or several in a row as `jq` writes them."""
    found: list[Any] = []
    decoder, at = json.JSONDecoder(), 0
    stripped = written.lstrip("\ufeff")
    while True:
        while at < len(stripped) and stripped[at] in " \t\r\n":
            at += 1
        if at == len(stripped):
            return found
        try:
            value, at = decoder.raw_decode(stripped, at)
        except ValueError:
            return _any_yaml(path, written)
        found.append(value)


def _any_yaml(path: str, written: str) -> list[Any]:
    """Return the documents of any YAML. Of a duplicate key, the last value counts.

    Raise ValueError for a syntax error.
    """
    import yaml

    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        hold(written)
        return list(yaml.load_all(written, Loader=loader))
    except (yaml.YAMLError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{mark.line + 1}:{mark.column + 1}: " if mark is not None else ""
        failure = explain_failure(written)
        if failure is not None:
            raise ValueError(f"{path}: {failure}") from None
        raise ValueError(f"{path}:{where or ' '}neither JSON nor YAML: {_brief(error)}") from None


def _brief(error: Exception) -> str:
    return str(getattr(error, "problem", None) or error).partition("\n")[0]


def _objects(documents: Iterable[Any]) -> Iterator[Plain]:
    """Yield the objects of documents, including the items of lists and of nested lists."""
    waiting = [*documents]
    waiting.reverse()
    while waiting:
        document = waiting.pop()
        if isinstance(document, list):
            waiting.extend(reversed(document))
        elif isinstance(document, dict):
            kind, items = text(document.get("kind")), document.get("items")
            if kind.endswith("List") and isinstance(items, list):
                waiting.extend(reversed([_with_kind(document, item) for item in listed(items)]))
            else:
                yield document


def _with_kind(around: Plain, item: Any) -> Any:
    """Return an item of a list, with the kind of the list if the item has none."""
    kind = text(around.get("kind")).removesuffix("List")
    if isinstance(item, dict) and kind and "kind" not in item:
        return {"kind": kind, "apiVersion": around.get("apiVersion"), **item}
    return item
