"""How a repository installs Karpenter's controller, and with which values, in every form in which it can say so.

Read are HelmReleases of Flux, Applications and ApplicationSets of Argo CD, `helmCharts` of a kustomization,
helmfiles, `helm_release` of Terraform, `helm` commands, Deployments, the values of a chart that depends on
Karpenter's, and files of values that nothing names.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from functools import cached_property

from nodelint.files.links import CHART
from nodelint.forms.helm.chart_values import (
    HELMFILE,
    RepositoryTree,
    ValuesLayer,
    argo_layers,
    flux_layers,
    helmfile_layers,
    inflation_layers,
    list_sources,
)
from nodelint.forms.helm.controller_values import make_install, place_of
from nodelint.forms.helm.values_files import beside
from nodelint.forms.kustomize.kustomizations import KUSTOMIZATIONS
from nodelint.forms.lib.values import nodes_of
from nodelint.releases.settings import (
    TERRAFORM,
    ControllerInstall,
    container_settings,
    controller_containers,
    settings_of_values,
)
from nodelint.text import Node, Source, SourceText
from nodelint.text.missing import text_of

TYPE_CHECKING = False

if TYPE_CHECKING:
    from nodelint.forms.terraform.values import Modules

_CHART = "karpenter"
_ADDRESS = r"(?:oci://|https?://)?(?:[\w.:@-]+/)+karpenter"
_TELLTALE = ("clusterName", "featureGates", "interruptionQueue", "clusterEndpoint")
"""Keys of `settings` by which a file of values is known for that of Karpenter's chart."""
_PATCHED = ("HelmRelease", "Application", "Deployment")
_INSTALLS = (
    r"\b(?:Application|ApplicationSet|HelmRelease|helm_release)\b|\bhelm (?:upgrade|install)\b|(?m:^releases:)"
)


def find_installs(sources: Sequence[Source]) -> list[ControllerInstall]:
    """Return all installations of the controller that the files state."""
    reader = _Reader(sources)
    found = [install for source in sources for install in reader.read(source)]
    used = {os.path.abspath(text.path) for install in found for text in install.files}
    found += [install for source in sources for install in reader.read_plain(source, used)]
    return found


class _Reader:
    """Reads files of one run; files that they name are read beside them."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self._sources = sources
        self._by_path = {os.path.abspath(source.path): source for source in sources}
        self._patched = {
            kind
            for source in sources
            if os.path.basename(source.path) in KUSTOMIZATIONS and "patch" in source.text
            for kind in _PATCHED
            if kind in source.text
        }
        """Kinds of objects of which a kustomization may change the values."""
        folders = [os.path.dirname(path) for path in self._by_path]
        self._top = os.path.commonpath(folders) if folders else None
        """What counts as the repository of files that are in none."""

    @cached_property
    def _modules(self) -> Modules:
        from nodelint.forms.terraform.values import Modules

        return Modules(self._sources)

    def _tree(self, source: SourceText) -> RepositoryTree | None:
        return RepositoryTree.around(source, self._by_path, self._top)

    def read(self, source: Source) -> Iterator[ControllerInstall]:
        """The installations that a file names as such."""
        if _CHART not in source.text:
            return
        if source.path.endswith(TERRAFORM):
            from nodelint.forms.terraform.controller import heredoc_roots, read_terraform

            yield from read_terraform(source, self._modules)
            roots = heredoc_roots(source)
        elif source.path.endswith((".yaml", ".yml", ".json")) and not source.may_be_template:
            roots = nodes_of(source)
        else:
            roots = [document.root for document in source.documents if document.root is not None]
        tree = self._tree(source)
        for root in roots if tree is not None else ():
            assert tree is not None
            if root.kind == "mapping":
                yield from self._of_root(root, tree)
        for document, container in controller_containers(source):
            settings = tuple(container_settings(container, None))
            reads_more = container.get("envFrom") is not None or bool(self._patched & {"Deployment"})
            image = text_of(container.get("image")).rpartition(":")[2]
            yield ControllerInstall(
                place_of(document), "the Deployment", image, settings, not reads_more, None, (source,)
            )
        if "helm" in source.text:
            from nodelint.inventory.controller_scripts import read_commands

            yield from read_commands(source, tree)

    def _of_root(self, root: Node, tree: RepositoryTree) -> Iterator[ControllerInstall]:
        kind = text_of(root.get("kind"))
        around = os.path.dirname(os.path.abspath(root.source.path))
        if kind == "HelmRelease":
            yield from self._of_flux(root, tree)
        elif kind in ("Application", "ApplicationSet"):
            yield from self._of_argo(root, kind, tree)
        elif root.get("helmCharts") is not None:
            for node in _items(root.get("helmCharts")):
                if text_of(node.get("name")) == _CHART:
                    layers = inflation_layers(node, around, tree)
                    yield _install(node, "the kustomization", text_of(node.get("version")), layers, tree)
        elif HELMFILE.search(root.source.path):
            for node in _items(root.get("releases")):
                installed = node.get("installed")
                if is_controller(text_of(node.get("chart"))) and (installed is None or installed.value is not False):
                    layers = helmfile_layers(node, around, tree)
                    yield _install(node, "the helmfile", text_of(node.get("version")), layers, tree)

    def _of_flux(self, root: Node, tree: RepositoryTree) -> Iterator[ControllerInstall]:
        spec = root.find("spec", "chart", "spec")
        chart = text_of(spec.get("chart")) if spec is not None else text_of(root.find("spec", "chartRef", "name"))
        is_patch = spec is None and root.find("spec", "chartRef") is None
        if not is_controller(chart or (text_of(root.find("metadata", "name")) if is_patch else "")):
            return
        tree.gaps.clear()
        layers = flux_layers(root, tree)
        version = text_of(spec.get("version")) if spec is not None else ""
        unread = layers is None or is_patch or "HelmRelease" in self._patched
        yield _install(root, "the HelmRelease", version, layers or [], tree, unread=unread)

    def _of_argo(self, root: Node, kind: str, tree: RepositoryTree) -> Iterator[ControllerInstall]:
        by = f"the {kind}"
        for release in list_sources(root, tree.read_file):
            if not is_controller(text_of(release.get("chart")) or text_of(release.get("repoURL"))):
                continue
            tree.gaps.clear()
            helm = release.get("helm")
            layers = list(argo_layers(helm, None, tree)) if helm is not None else []
            unread = "Application" in self._patched or release.get("plugin") is not None
            yield _install(release, by, text_of(release.get("targetRevision")), layers, tree, root, unread)

    def read_plain(self, source: Source, used: set[str]) -> Iterator[ControllerInstall]:
        """The values in a file that no installation names, or that a chart gives to Karpenter's as its dependency."""
        path = os.path.abspath(source.path)
        if path in used or not path.endswith((".yaml", ".yml", *TERRAFORM)) or "settings:" not in source.text:
            return
        if source.path.endswith(TERRAFORM):
            roots = [document.root for document in source.documents if document.root is not None]
        else:
            roots = [] if source.may_be_template else nodes_of(source)
        for root in roots:
            if root.kind != "mapping" or root.get("kind") is not None:
                continue
            for values in (root, root.get(_CHART)):
                settings = values.get("settings") if values is not None and values.kind == "mapping" else None
                if values is None or settings is None or not any(settings.get(key) for key in _TELLTALE):
                    continue
                version = self._dependency(source) if values is not root else None
                is_complete = version is not None and self._is_alone(source)
                written = tuple(settings_of_values(values, None))
                yield ControllerInstall(
                    place_of(settings), "the values of a chart", version, written, is_complete, values, (source,)
                )

    def _is_alone(self, values: Source) -> bool:
        """Whether a chart has no values but its own: none beside them, and nothing that installs it names others."""
        folder, name = os.path.split(os.path.abspath(values.path))
        if name != "values.yaml" or beside(os.path.join(folder, name)):
            return False
        chart = os.path.basename(folder)
        return not any(
            chart in source.text and re.search(_INSTALLS, source.text)
            for source in self._sources
            if os.path.dirname(os.path.abspath(source.path)) != folder
        )

    def _dependency(self, values: Source) -> str | None:
        """The version of Karpenter's chart on which the chart beside a file of values depends; None where none is."""
        tree = self._tree(values)
        chart = tree.read_file(os.path.join(os.path.dirname(os.path.abspath(values.path)), CHART)) if tree else None
        for root in nodes_of(chart) if chart is not None else ():
            for node in _items(root.get("dependencies")):
                if text_of(node.get("name")) == _CHART:
                    return text_of(node.get("version"))
        return None


def is_controller(chart: str) -> bool:
    """Whether a chart, by its name or address, is that of Karpenter's controller."""
    return chart == _CHART or re.fullmatch(_ADDRESS, chart) is not None


def _items(node: Node | None) -> Sequence[Node]:
    return node.items if node is not None and node.kind == "sequence" else ()


def _install(
    at: Node,
    by: str,
    version: str,
    layers: Sequence[ValuesLayer],
    tree: RepositoryTree,
    root: Node | None = None,
    unread: bool = False,
) -> ControllerInstall:
    """Return an installation with the values of all layers; gaps that were met on the way make it incomplete."""
    install = make_install((root or at), by, version, layers, not (unread or tree.gaps))
    tree.gaps.clear()
    return install
