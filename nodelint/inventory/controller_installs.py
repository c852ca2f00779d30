"""Find how a repository installs Karpenter's controller, and with which values, in every input form."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from nodelint.files.file_kinds import is_readme
from nodelint.forms.lib.controller_install import KARPENTER_CHART, ControllerFiles, place_of
from nodelint.forms.registry import TABLE
from nodelint.model.controller_settings import ControllerInstall, container_settings, controller_containers
from nodelint.text import Source
from nodelint.text.missing import text_of


def find_installs(sources: Sequence[Source]) -> list[ControllerInstall]:
    """Return all installations of the controller in the files.

    Those in a readme count only if there are no others.
    """
    files = ControllerFiles(sources)
    found = [install for source in sources if KARPENTER_CHART in source.text for install in _read(source, files)]
    stated = [install for install in found if not is_readme(install.at.source.path)]
    found = stated or found  # instructions for people count only if no file installs it
    used = {os.path.abspath(text.path) for install in found for text in install.files}
    plain = [source for source in sources if "settings:" in source.text and os.path.abspath(source.path) not in used]
    for row in TABLE.rows if plain else ():
        if row.folders:
            form = row.load()
            found += [install for source in plain for install in form.find_plain_values(source, files)]
    return found


def _read(source: Source, files: ControllerFiles) -> Iterator[ControllerInstall]:
    """Yield the installations of the controller in a file."""
    for row in TABLE.rows:
        if row.may_install_controller(source.path, source.text):
            yield from row.load().find_installs(source, files)
    for document, container in controller_containers(source):
        settings = tuple(container_settings(container))
        reads_more = container.get("envFrom") is not None or "Deployment" in files.patched
        image = text_of(container.get("image")).rpartition(":")[2]
        yield ControllerInstall(
            place_of(document), "the Deployment", image, settings, not reads_more, None, (source,)
        )
