"""What one build of an overlay has read and learnt so far."""

from __future__ import annotations

import os

from nodelint.base.budget import WorkBudget
from nodelint.files.gate import OUTSIDE, gate
from nodelint.files.safe_read import is_inside, repository
from nodelint.forms.kustomize.configuration import Kustomization
from nodelint.forms.kustomize.errors import BuildError
from nodelint.forms.kustomize.files import Files, PatchText, as_documents
from nodelint.forms.kustomize.resources import Resource
from nodelint.forms.rendered import LostItems, UnmatchedPatch
from nodelint.text import Node

_MOST_STEPS = 1_000_000
"""Steps that one overlay may take: one for each object that something looks at."""


class OverlayRun:
    """One build of the overlay of a folder.

    `parts` are the files that were read for it, in absolute paths. `notes` is what is not built and not needed to
    tell the rest, each with its place. `lost` and `unmatched` are what its patches did that their author may not have
    meant. `is_incomplete`: objects are missing that only kustomize could bring. `generated` are the ConfigMaps that
    are generated, by their names: only replacements look at them.
    """

    def __init__(self, files: Files, folder: str, root: str | None = None) -> None:
        self.files = files
        self.folder = folder
        self.home = repository(folder) or root
        self.budget = WorkBudget(_MOST_STEPS, what="its kustomizations")
        self.parts: dict[str, None] = {}
        self.notes: list[tuple[Node, str]] = []
        self.lost: list[LostItems] = []
        self.unmatched: list[UnmatchedPatch] = []
        self.is_incomplete = False
        self.generated: dict[str, Resource] = {}

    def take(self, path: str, roots: list[Node]) -> None:
        """Count a file among the parts."""
        self.parts.setdefault(path)
        as_documents(self.files.read(path), roots)

    def touch(self, resource: Resource, text: PatchText) -> None:
        """Say that a patch changes an object: with a word of Karpenter's in it, the object concerns Karpenter."""
        resource.is_of_karpenter = resource.is_of_karpenter or text.is_of_karpenter

    def resolve(self, kustomization: Kustomization, path: str, at: Node | None) -> str:
        """Return the absolute path of what a kustomization names.

        Raise `BuildError` for a place outside the repository.
        """
        full = os.path.normpath(os.path.join(kustomization.folder, path))
        reason = gate.refusal(full)
        if os.path.isabs(path) or (self.home is not None and not is_inside(full, self.home)):
            reason = OUTSIDE
        if reason is not None:
            raise BuildError(at, f"`{path}` is {reason}", fails=False)
        return full
