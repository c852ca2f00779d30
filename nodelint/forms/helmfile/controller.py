"""Find installations of Karpenter's controller by a helmfile."""

from __future__ import annotations

import os
from collections.abc import Iterator

from nodelint.forms.helmfile.charts import HELMFILE, helmfile_layers
from nodelint.forms.lib.controller_install import ControllerFiles, install_by, is_controller
from nodelint.model.controller_settings import ControllerInstall
from nodelint.text import Source
from nodelint.text.missing import items_of, text_of


def find_installs(source: Source, files: ControllerFiles) -> Iterator[ControllerInstall]:
    """Yield the installations by the releases of a helmfile."""
    tree = files.tree(source) if HELMFILE.search(source.path) else None
    around = os.path.dirname(os.path.abspath(source.path))
    for root in files.roots(source) if tree is not None else ():
        assert tree is not None
        for node in items_of(root.get("releases")):
            installed = node.get("installed")
            if is_controller(text_of(node.get("chart"))) and (installed is None or installed.value is not False):
                layers = helmfile_layers(node, around, tree)
                yield install_by(node, "the helmfile", text_of(node.get("version")), layers, tree)
