"""Hold the state of rendering an overlay."""

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
"""The most budget steps of one overlay. Each check of an object is a step."""


class OverlayRun:
    """The state of rendering the overlay of a folder.

    - `parts`: the absolute paths of the files that were read.
    - `notes`: parts that are not rendered and do not affect other objects, each with its place.
    - `lost`: list items that patches remove; `unmatched`: patches without a target.
    - `is_incomplete`: objects are missing that only kustomize could add.
    - `generated`: generated ConfigMaps by name. Only replacements use them.
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
        """Record a file that was read for the overlay. `roots` are its documents."""
        self.parts.setdefault(path)
        as_documents(self.files.read(path), roots)

    def touch(self, resource: Resource, text: PatchText) -> None:
        """Record that a patch changes an object. If the patch mentions Karpenter, the object concerns Karpenter."""
        resource.is_of_karpenter = resource.is_of_karpenter or text.is_of_karpenter

    def resolve(self, kustomization: Kustomization, path: str, at: Node | None) -> str:
        """Return the absolute path of a file or folder that a kustomization names.

        Raise `BuildError` for a path outside of the repository.
        """
        full = os.path.normpath(os.path.join(kustomization.folder, path))
        reason = gate.refusal(full)
        if os.path.isabs(path) or (self.home is not None and not is_inside(full, self.home)):
            reason = OUTSIDE
        if reason is not None:
            raise BuildError(at, f"`{path}` is {reason}", fails=False)
        return full
