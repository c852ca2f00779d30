"""Render the overlays of a run without kustomize."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from nodelint.files.gate import gate
from nodelint.files.safe_read import find_top
from nodelint.forms.kustomize.applied_folder import AppliedFolder, read_fields
from nodelint.forms.kustomize.build import BuiltOverlay, build_overlays, make_outcome
from nodelint.forms.kustomize.files import Files
from nodelint.forms.lib.unread_inputs import UnreadInputs
from nodelint.forms.registry import TABLE
from nodelint.forms.rendered import Built
from nodelint.forms.requests import ApplyFolder
from nodelint.model.gap import Gap
from nodelint.text import Node, Source
from nodelint.text.keywords import bytes_hold_keyword, holds_keyword

_LARGEST = 16 << 20


def build_native(
    files: Sequence[Source],
    kustomizations: Sequence[str],
) -> tuple[list[Built], list[Gap]]:
    """Return the rendered overlays, and gaps for overlays that cannot be rendered.

    A patch that has a target in one overlay is not reported as `unmatched` in the others.
    """
    at_hand = {os.path.abspath(source.path): source for source in files}
    workloads = {path for path, source in at_hand.items() if source.also is not None}
    of_karpenter = _FilesOfKarpenter(at_hand)
    outcomes = build_overlays(kustomizations, at_hand, of_karpenter, workloads or None, lambda: list_applied(files))
    built = [outcome.built for outcome in outcomes if isinstance(outcome, BuiltOverlay)]
    unbuilt = [outcome for outcome in outcomes if isinstance(outcome, Gap)]
    return _drop_matched_warnings([text for text in built if any(d.root for d in text.source.documents)]), unbuilt


def list_applied(sources: Sequence[Source]) -> list[str]:
    """Return the absolute paths of the folders that objects and commands in the files of a run apply."""
    if not sources:
        return []
    first = min(os.path.abspath(source.path) for source in sources)
    top = find_top(os.path.dirname(first)) or os.getcwd()
    files = UnreadInputs(sources, (), str(top))
    return [use.folder for row in TABLE.rows for use in row.load().list_applied_folders(files)]


def build_applied(request: ApplyFolder, files: Files, sources: Iterable[Source]) -> Built | Gap | None:
    """Render the folder of a request as its controller changes it. Return None if it has no Karpenter object.

    If it cannot be rendered, return a gap if a file of `sources` in the folder names Karpenter, else None. `sources`
    are the files of the run.
    """
    applied = AppliedFolder(files, request.by, request.folder, read_fields(request))
    outcome = make_outcome(applied)
    if isinstance(outcome, BuiltOverlay):
        return outcome.built if any(document.root for document in outcome.built.source.documents) else None
    inside = os.path.join(applied.below, "")
    within = (source for source in sources if os.path.abspath(source.path).startswith(inside))
    concerned = any(holds_keyword(source.text) for source in within)
    return outcome._replace(subject=applied.below) if concerned else None


def _drop_matched_warnings(built: list[Built]) -> list[Built]:
    """Return the rendered overlays without `unmatched` warnings for patches that have a target in another overlay."""
    missed = [{(patch.at.source.path, patch.at.start) for patch in built_text.unmatched} for built_text in built]
    parts = [set(built_text.parts) for built_text in built]

    def is_met(at: Node) -> bool:
        path, place = os.path.abspath(at.source.path), (at.source.path, at.start)
        return any(path in own and place not in lacking for own, lacking in zip(parts, missed, strict=True))

    return [
        built_text._replace(unmatched=tuple(e for e in built_text.unmatched if not is_met(e.at)))
        for built_text in built
    ]


class _FilesOfKarpenter(Collection[str]):
    """The absolute paths of files that mention Karpenter: files that were read, or that are searched now.

    A file may have been read for another reason, such as its workloads or values of a chart.
    """

    def __init__(self, at_hand: Mapping[str, Source]) -> None:
        self._at_hand = at_hand
        self._known: dict[str, bool] = {}

    def __contains__(self, path: object) -> bool:
        if not isinstance(path, str):
            return False
        if path not in self._known:
            source = self._at_hand.get(path)
            self._known[path] = holds_keyword(source.text) if source is not None else _file_holds_keyword(path)
        return self._known[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self._at_hand)

    def __len__(self) -> int:
        return len(self._at_hand)


def _file_holds_keyword(path: str) -> bool:
    try:
        data = gate.read(path, _LARGEST)
    except (OSError, ValueError):
        return False
    return bytes_hold_keyword(data)
