"""Apply the transformers of a kustomization to all its objects: names, namespace, labels, annotations."""

from __future__ import annotations

from nodelint.base.budget import WorkBudget
from nodelint.base.tuples import NamedTuple
from nodelint.forms.kustomize.configuration import Kustomization, check_texts
from nodelint.forms.kustomize.errors import BuildError
from nodelint.forms.kustomize.patches import check_unique
from nodelint.forms.kustomize.resources import Resource, is_cluster_wide, put_scalar, set_text
from nodelint.forms.kustomize.run import OverlayRun
from nodelint.forms.kustomize.values import YamlTree, check_name, new_text
from nodelint.text import Node

_UNNAMED = ("CustomResourceDefinition", "Namespace")
"""Kinds whose names get no prefix or suffix."""


def set_namespace(resources: list[Resource], kustomization: Kustomization) -> None:
    """Set the namespace of each object except cluster-scoped Kubernetes kinds. Raise `BuildError`.

    kustomize does not know the scope of custom kinds: NodePools get a namespace as well, which the API server
    ignores.
    """
    namespace = kustomization.value.get("namespace")
    if namespace is None or not isinstance(namespace.value, str) or not namespace.value:
        return
    key = kustomization.value.fields["namespace"].key
    for resource in resources:
        resource.keep_id()
        kind = resource.value.text("kind")
        if kind == "Namespace" and resource.value.text("apiVersion") == "v1":
            set_text(resource, ("metadata", "name"), namespace.value, namespace.at, key)
        elif not is_cluster_wide(resource.group, kind):
            set_text(resource, ("metadata", "namespace"), namespace.value, namespace.at, key)
    check_unique(resources)


def set_affixes(run: OverlayRun, resources: list[Resource], kustomization: Kustomization) -> None:
    """Add `namePrefix` and `nameSuffix` to the names of objects, except for kinds in `_UNNAMED` and APIServices."""
    for field, is_first in (("namePrefix", True), ("nameSuffix", False)):
        affix = kustomization.value.text(field)
        if not affix:
            continue
        for resource in resources:
            first = resource.ids()[0]
            if first.kind in _UNNAMED or (first.group, first.kind) == ("apiregistration.k8s.io", "APIService"):
                continue
            resource.keep_id()
            run.budget.spend(1, len(resource.id.name) + len(affix))
            name = resource.value.get("metadata", "name")
            at = name.at if name is not None else None
            affixed = affix + resource.id.name if is_first else resource.id.name + affix
            set_text(resource, ("metadata", "name"), affixed, at)


def set_labels(run: OverlayRun, resources: list[Resource], kustomization: Kustomization) -> None:
    """Add `labels` and `commonLabels`. Raise `BuildError` if a value is not a string."""
    for item in kustomization.items("labels"):
        own = item.get("fields")
        specs = [_read_spec(spec) for spec in own.items] if own is not None else []
        _add_pairs(run, resources, "labels", check_texts(item.get("pairs")), specs)
    _add_pairs(run, resources, "labels", kustomization.pairs("commonLabels"), [])


def set_annotations(run: OverlayRun, resources: list[Resource], kustomization: Kustomization) -> None:
    """Add `commonAnnotations`. Raise `BuildError` if a value is not a string."""
    _add_pairs(run, resources, "annotations", kustomization.pairs("commonAnnotations"), [])


def _add_pairs(
    run: OverlayRun, resources: list[Resource], field: str, pairs: YamlTree | None, specs: list[_Spec]
) -> None:
    """Add labels or annotations to the metadata, and to further fields that the kustomization names."""
    if pairs is None:
        return
    for resource in resources:
        now = resource.id
        chosen = [s for s in specs if not any(text and text != getattr(now, name) for name, text in s.wanted.items())]
        for name, pair in pairs.fields.items():
            added = new_text(pair.value.as_text(), pair.value.at)
            for path, create in (*((s.path, s.create) for s in chosen), (["metadata", field], True)):
                _follow(resource.value, path, create, _Pair(name, added, pair.key, run.budget), pairs.at)


class _Pair(NamedTuple):
    """A label or an annotation to add. All places of an object share one scalar."""

    name: str
    value: YamlTree
    key: Node | None
    budget: WorkBudget

    def add(self, holder: YamlTree) -> None:
        """Add the label or annotation to a mapping. Raise `BuildError` if its name is no valid key."""
        self.budget.spend()
        if holder.get(self.name) is None:
            check_name(self.name, self.key)
        put_scalar(holder, self.name, self.value, self.key)


class _Spec(NamedTuple):
    """A further place for labels: the path in objects with the group, version and kind in `wanted`."""

    wanted: dict[str, str]
    path: list[str]
    create: bool


def _read_spec(value: YamlTree) -> _Spec:
    made = value.get("create")
    wanted = {name: value.text(name) for name in ("group", "version", "kind")}
    return _Spec(wanted, value.text("path").split("/"), made is not None and made.value is True)


def _follow(value: YamlTree, path: list[str], create: bool, pair: _Pair, at: Node | None) -> None:
    """Add a pair to each mapping to which a path of field names leads. `[]` marks a list."""
    if value.kind == "sequence":
        for item in value.items:
            _follow(item, path, create, pair, at)
        return
    if value.is_null:
        return
    if value.kind != "mapping":
        raise BuildError(at, f"`{'/'.join(path)}` leads through a scalar")
    if not path:
        pair.add(value)
        return
    step = path[0].removesuffix("[]")
    below = value.get(step)
    if (below is None or below.is_null) and create and step == path[0]:
        below = YamlTree("mapping", at)
        value.put(step, below)
    if below is not None:
        _follow(below, path[1:], create, pair, at)
