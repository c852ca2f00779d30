"""Read which Karpenter release YAML files install, by chart or image, and which Kubernetes version a cluster has."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator

from nodelint.files.contents import display_path
from nodelint.forms.helm.charts import default_values, more_values
from nodelint.forms.helm.cluster_versions import list_cluster_versions, may_state_cluster, read_cluster_version
from nodelint.forms.lib.unread_inputs import in_one_line
from nodelint.forms.registry import TABLE
from nodelint.forms.requests import OWN_CLUSTER
from nodelint.model.evidence import DEFAULT, STATED, Evidence, match_chart, not_known, stated
from nodelint.text import Node, Source
from nodelint.text.placeholders import mask
from nodelint.text.syntax_errors import Unreadable
from nodelint.text.yaml.compose import compose

_ADDRESS = r"(?:oci://|https?://)?[\w.:@-]+/(?:[\w.@-]+/)*karpenter/karpenter(-crd)?"
_IMAGE = r"(?:[\w.:@-]+/)*karpenter/controller"

_CHARTS = ("chart", "chart_ref", "chartName", "addonChart", "Chart")
_ADDRESSES = ("repoURL", "url")
_VERSIONS = (
    "version",
    "targetRevision",
    "chartVersion",
    "chart_version",
    "addonChartVersion",
    "defaultVersion",
    "Version",
)
_PARAMETER = r"\{\{-?\s*(?:default\s+\S+\s+)?\.?([\w.]+?)\s*-?\}\}"
_OF_VALUES = (
    r"\{\{-?\s*\$?\.Values\.([\w.]+)\s*(?:\|\s*(?:default\s+\"?v?([\d.]+)\"?|quote|squote|toString|trim)\s*)*-?\}\}"
)
_CODE = r"\{\{|\$\{|\$[A-Za-z_(]"
"""The beginning of template code or of a variable in place of a version."""
_RENDERED = r"karpenter-v?(\d+\.\d+\.\d+)"
_UPSTREAM = "aws/karpenter-provider-aws"
_BY_IMAGE = "the controller's image"


def evidence(source: Source) -> Iterator[Evidence]:
    """Yield the releases that the documents of a source state."""
    for root in roots(source):
        generated = [found for spec in _list_generated_specs(root) for found in _of_spec(spec, root)]
        yield from _join_clusters(generated)
        for node, version, about_crds, by in () if generated else _stated(root):
            elsewhere = node.source is not source  # the default of a chart, which other values may override
            weight = DEFAULT if about_crds or elsewhere else STATED
            if found := _read_statement((node, version, about_crds, by), weight, _list_clusters(root, node)):
                yield found
        for at, what in list_cluster_versions(root) if may_state_cluster(source.text) else ():
            yield from _read_cluster(at, what, root)


def _read_statement(found: _Stated, weight: int, clusters: tuple[str, ...]) -> Evidence | None:
    """Return what a version says. None if it states no release."""
    node, version, about_crds, by = found
    at = node.source.position(node.start).line
    path = display_path(node.source.path)
    if evidence := stated("karpenter", version, path, at, by, weight):
        return evidence._replace(of_image=by == _BY_IMAGE, clusters=clusters)
    if not about_crds and by != _BY_IMAGE and re.search(_CODE, version):
        return not_known(path, at, by, version)
    return None


def _list_generated_specs(root: Node) -> Iterator[Node]:
    """Yield the specs of the Applications that an ApplicationSet creates, if one of its versions is a parameter."""
    if word(root, "kind") != "ApplicationSet":
        return
    versions = (version for node in root.walk() if node.kind == "mapping" for version in _values(node, _VERSIONS))
    if any("{{" in version.unquoted for version in versions):
        for row in TABLE.rows:
            if row.kinds:
                yield from row.load().list_generated_specs(root)


def _of_spec(spec: Node, root: Node) -> Iterator[Evidence]:
    """Yield the releases that one Application of an ApplicationSet states, for the cluster to which it goes."""
    for node in spec.walk():
        chart = _chart(node, root) if node.kind == "mapping" else None
        for version in _values(node, _VERSIONS) if chart is not None else ():
            filled = version.value if isinstance(version.value, str) else "{{"
            for at, text in ((version, filled),) if "{{" not in filled else _resolved(version, root):
                weight = DEFAULT if chart else STATED
                clusters = _list_clusters(root, at) or _list_destinations(spec)
                found = _read_statement((at, text, bool(chart), _called(root)), weight, clusters)
                if found is not None:
                    # A file of a generator is read by its absolute path.
                    yield found if os.path.isabs(root.source.path) else found._replace(path=_shorten(found.path))


def _read_cluster(version: Node, by: str, root: Node) -> Iterator[Evidence]:
    """Yield the Kubernetes versions of a cluster; those that values of a chart insert may be overridden."""
    found = _resolved(version, root) if ".Values." in _node_text(version) else ()
    for node, text in found:
        line, path = node.source.position(node.start).line, display_path(node.source.path)
        if evidence := stated("kubernetes", text, path, line, by, DEFAULT):
            yield evidence
    yield from read_cluster_version(version, by, root)


def _shorten(path: str) -> str:
    return display_path(os.path.relpath(path))


def _join_clusters(found: Iterable[Evidence]) -> Iterator[Evidence]:
    """Yield statements, those of several Applications at one line as one for all of their clusters."""
    joined: dict[Evidence, list[Evidence]] = {}
    for evidence in found:
        joined.setdefault(evidence._replace(clusters=()), []).append(evidence)
    for evidence, same in joined.items():
        clusters = dict.fromkeys(name for one_of in same for name in one_of.clusters)
        yield evidence._replace(clusters=tuple(clusters) if all(one_of.clusters for one_of in same) else ())


def roots(source: Source) -> list[Node]:
    """Return the roots of a source's documents, also of those that do not mention Karpenter. Empty if unreadable."""
    known = [document.root for document in source.documents if document.root is not None]
    if known and not may_state_cluster(source.text):
        return known
    try:
        return [root for root in compose(source, source.text, 0, masked=False) if root is not None]
    except Unreadable:
        return _read_template(source) or known


def _read_template(source: Source) -> list[Node]:
    """Return the roots of a template with its code masked. Empty if it is unreadable, or has no cluster."""
    if not may_state_cluster(source.text):
        return []
    try:
        return [root for root in compose(source, mask(source.text)[0], 0, masked=True) if root is not None]
    except Unreadable:
        return []


_Stated = tuple[Node, str, bool, str]
"""The node of a version, the version, whether it is of the chart of the CRDs, and what states it."""


def _stated(root: Node) -> Iterator[_Stated]:
    by = _called(root)
    yield from _of_object(root, by)
    for node in root.walk():
        if node.kind != "mapping" or node.alias or (node.shared and not node.encoded):
            continue
        chart = _chart(node, root)
        if chart is not None:
            by_chart = "Ansible's helm task" if node.get("chart_ref") is not None else by
            for version in _values(node, _VERSIONS):
                yield from ((at, text, chart, by_chart) for at, text in _resolved(version, root))
        repository, tag = word(node, "repository") or word(node, "image"), node.get("tag")
        if repository and tag is not None and re.fullmatch(_IMAGE, repository):
            yield tag, _node_text(tag), False, _BY_IMAGE
        for entry in node.entries:
            if entry.name in ("versions", "chartVersions", "chart_versions", "helm_versions"):
                listed = _values(entry.value, ("karpenter",))
                yield from ((version, _node_text(version), False, "a list of versions") for version in listed)


def _of_object(root: Node, by: str) -> Iterator[_Stated]:
    """Yield the versions in fields that only one kind of object has."""
    kind, spec = word(root, "kind"), root.get("spec")
    name = word(root.get("metadata"), "name") or ""
    if kind == "HelmRelease":
        # In an overlay's patch, the name of the chart is in the base.
        chart = root.find("spec", "chart", "spec")
        about = match_chart(name)
        if chart is not None and chart.get("chart") is None and about:
            yield from ((node, _node_text(node), about[1] is not None, by) for node in _values(chart, ("version",)))
    elif kind == "OCIRepository" and spec is not None:
        about = re.fullmatch(_ADDRESS, word(spec, "url") or "") or match_chart(name)
        if about:
            tags = _values(spec.get("ref"), ("tag", "semver"))
            yield from ((tag, _node_text(tag), about[1] is not None, by) for tag in tags)
    elif kind == "ClusterConfig":
        yield from ((node, _node_text(node), False, by) for node in _values(root.get("karpenter"), ("version",)))
    elif word(root, "name") == "karpenter" and _is_upstream(root):
        version = root.get("version")
        if version is not None and _node_text(version) == word(root, "appVersion"):
            yield version, _node_text(version), False, "Karpenter's own chart"
    label = root.find("metadata", "labels", "helm.sh/chart")  # written by `helm template`
    if label is not None and (rendered := re.fullmatch(_RENDERED, _node_text(label))):
        yield label, rendered[1], False, "the rendered chart"


def _is_upstream(chart: Node) -> bool:
    """Return whether a Chart.yaml is a copy of Karpenter's published chart."""
    sources = chart.get("sources")
    return sources is not None and any(_UPSTREAM in str(item.value) for item in sources.items)


def _chart(node: Node, root: Node) -> bool | None:
    """Return whether a mapping installs the chart of the CRDs (True) or of the controller (False).

    None for neither.
    """
    for key in _CHARTS:
        value = node.get(key)
        if value is not None and value.kind == "scalar":
            found = match_chart(_node_text(value))
            return None if found is None else found[1] is not None
    for address in _values(node, _ADDRESSES):
        if found := re.fullmatch(_ADDRESS, _node_text(address)):
            return found[1] is not None
    # The name of a dependency. At the top of a Chart.yaml it is the user's own chart.
    if node is not root and node.get("apiVersion") is None and (name := word(node, "name")):
        return {"karpenter": False, "karpenter-crd": True}.get(name)
    return None


def _resolved(node: Node, root: Node) -> Iterator[tuple[Node, str]]:
    """Yield a version, or the versions that chart values or ApplicationSet generators insert for its code."""
    text = _node_text(node)
    of_values = re.fullmatch(_OF_VALUES, text)
    if of_values is not None:
        path = of_values[1].split(".")
        nodes = [default_values(root.source.path), *more_values(root.source.path)]
        found = [value for node in nodes if node is not None and (value := node.find(*path)) is not None]
        yield from ((value, _node_text(value)) for value in found if value.kind == "scalar")
        if not found:
            yield node, of_values[2] or text
        return
    parameter = re.fullmatch(_PARAMETER, text)
    generators = root.find("spec", "generators") if word(root, "kind") == "ApplicationSet" else None
    if parameter is None or generators is None:
        yield node, text
        return
    name = parameter[1].rpartition(".")[2]
    given = [value for below in generators.walk() for value in _values(below, (name,))]
    yield from ((value, _node_text(value)) for value in given)
    if not given:
        yield node, text


_CALLED = {
    "HelmRelease": "the HelmRelease",
    "OCIRepository": "the OCIRepository",
    "Application": "the Application",
    "ApplicationSet": "the ApplicationSet",
    "ClusterConfig": "eksctl's ClusterConfig",
    "HelmChart": "the HelmChart",
}


def _called(root: Node) -> str:
    kind = word(root, "kind")
    if kind in _CALLED:
        return _CALLED[kind]
    if root.get("Resources") is not None:
        return "the CloudFormation template"
    if root.get("helmCharts") is not None:
        return "the kustomization"
    if root.get("releases") is not None:
        return "the helmfile"
    if root.get("dependencies") is not None:
        return "the chart's dependency"
    return "a chart's version"


def _list_clusters(root: Node, version: Node) -> tuple[str, ...]:
    """Return the clusters in which an Application or HelmRelease installs a version: their names or addresses.

    Those of an ApplicationSet are among the values of the element that has the version.
    """
    generators = root.find("spec", "generators") if word(root, "kind") == "ApplicationSet" else None
    for below in generators.walk() if generators is not None else ():
        if below.kind == "mapping" and any(entry.value is version for entry in below.entries):
            texts = (_node_text(entry.value) for entry in below.entries if entry.value.kind == "scalar")
            return tuple(text for text in texts if text not in OWN_CLUSTER)
    access = root.find("spec", "kubeConfig")
    spec = root.find("spec", "template", "spec") if generators is not None else root.get("spec")
    found = (in_one_line(access),) if access is not None else ()
    return (*(text for text in found if re.search(_CODE, text) is None), *_list_destinations(spec))


def _list_destinations(spec: Node | None) -> tuple[str, ...]:
    """Return the name and the address of the cluster to which an Application goes, as far as they are known."""
    destination = spec.get("destination") if spec is not None else None
    found = [word(destination, key) or "" for key in ("name", "server")]
    return tuple(text for text in found if text not in OWN_CLUSTER and re.search(_CODE, text) is None)


def word(node: Node | None, key: str) -> str | None:
    """Return the string of a mapping's key. None if it is missing or not a string."""
    value = node.get(key) if node is not None else None
    return value.value if value is not None and isinstance(value.value, str) else None


def _values(node: Node | None, keys: Iterable[str]) -> Iterator[Node]:
    for key in keys:
        value = node.get(key) if node is not None else None
        if value is not None and value.kind == "scalar":
            yield value


def _node_text(node: Node) -> str:
    return node.unquoted.strip()
