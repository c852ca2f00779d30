"""What Applications of Argo CD make of the overlays that they apply: `kustomize` of a source."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import partial

from nodelint.files.gate import gate
from nodelint.files.safe_read import find_top, is_inside
from nodelint.forms.helm.chart_values import ARGO, list_sources
from nodelint.forms.kustomize.applied_folder import AppliedFolder, argo_fields
from nodelint.forms.kustomize.files import Files
from nodelint.forms.kustomize.kustomizations import KUSTOMIZATIONS
from nodelint.forms.kustomize.overlays import build_applied, put_in_place
from nodelint.forms.lib.values import nodes_of
from nodelint.forms.rendered import Built
from nodelint.model.gap import Gap
from nodelint.text import Node, Source


def build_argo(sources: Sequence[Source], built: Sequence[Built]) -> tuple[list[Built], list[Gap]]:
    """What is built, with what Applications make of overlays in the place of these; and what cannot be built."""
    at_hand = {os.path.abspath(source.path): source for source in sources}
    made = list(_apply_sources(sources, Files(at_hand)))
    unbuilt = [result for result in made if isinstance(result, Gap)]
    return put_in_place(built, [result for result in made if isinstance(result, Built)]), unbuilt


def _apply_sources(sources: Sequence[Source], files: Files) -> Iterator[Built | Gap]:
    for source in sources:
        if ARGO not in source.text or "kustomize" not in source.text or source.may_be_template:
            continue
        home = find_top(os.path.dirname(os.path.abspath(source.path)))
        for root in nodes_of(source) if home is not None else ():
            for number, part in enumerate(list_sources(root, partial(_read, files))):
                result = _apply(root, part, str(home), files, sources)
                if isinstance(result, Gap):
                    yield result
                elif result is not None:
                    name = root.find("metadata", "name")
                    own = f"{os.path.abspath(source.path)}:{name.value if name is not None else ''}:{number}"
                    yield result._replace(cluster=own, label=source.path)


def _apply(root: Node, part: Node, home: str, files: Files, sources: Sequence[Source]) -> Built | Gap | None:
    """What an Application makes of the folder of a source; None where it changes nothing."""
    path, kustomize = part.get("path"), part.get("kustomize")
    if path is None or not isinstance(path.value, str) or kustomize is None or kustomize.kind != "mapping":
        return None
    folder = os.path.normpath(os.path.join(home, path.value.lstrip("/")))
    if gate.notes_refusal(folder, path.value, path.source, path.start):
        return None
    if not is_inside(folder, home) or not any(gate.is_file(os.path.join(folder, name)) for name in KUSTOMIZATIONS):
        return None
    fields = argo_fields(kustomize)
    return build_applied(AppliedFolder(files, root, folder, fields), sources) if fields.fields else None


def _read(files: Files, path: str) -> Source | None:
    try:
        return files.read(path) if files.is_file(path) else None
    except OSError:
        return None
