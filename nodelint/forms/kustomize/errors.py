"""Define the error for an overlay that cannot be rendered."""

from __future__ import annotations

from nodelint.text import Node


class BuildError(Exception):
    """Raised if an overlay cannot be rendered.

    - `at`: the place that causes it, None for the kustomization itself.
    - `fails`: kustomize fails there as well. Otherwise kustomize may continue, but its result is unknown.
    """

    def __init__(self, at: Node | None, reason: str, fails: bool = True) -> None:
        super().__init__(reason)
        self.at = at
        self.reason = reason
        self.fails = fails
