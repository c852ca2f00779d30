"""Find installations of Karpenter's controller by Argo CD Applications and ApplicationSets."""

from __future__ import annotations

from collections.abc import Iterator

from nodelint.forms.argocd.charts import argo_layers, list_sources
from nodelint.forms.lib.controller_install import ControllerFiles, install_by, is_controller
from nodelint.model.controller_settings import ControllerInstall
from nodelint.text import Source
from nodelint.text.missing import text_of


def find_installs(source: Source, files: ControllerFiles) -> Iterator[ControllerInstall]:
    """Yield the installations by Applications in a file, and by Applications that its ApplicationSets create."""
    tree = files.tree(source)
    for root in files.roots(source) if tree is not None else ():
        assert tree is not None
        kind = text_of(root.get("kind"))
        for release in list_sources(root, tree.read_file) if kind in ("Application", "ApplicationSet") else ():
            if not is_controller(text_of(release.get("chart")) or text_of(release.get("repoURL"))):
                continue
            tree.gaps.clear()
            helm = release.get("helm")
            layers = list(argo_layers(helm, None, tree)) if helm is not None else []
            unread = "Application" in files.patched or release.get("plugin") is not None
            yield install_by(root, f"the {kind}", text_of(release.get("targetRevision")), layers, tree, unread)
