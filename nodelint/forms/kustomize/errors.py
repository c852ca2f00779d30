"""Why an overlay is not built."""

from __future__ import annotations

from nodelint.text import Node


class BuildError(Exception):
    """What stops the build of an overlay.

    `at` is the place that is to blame, None for the kustomization itself. `fails`: kustomize stops there too, in any
    setting; else it may go on, and only nodelint does not know with what.
    """

    def __init__(self, at: Node | None, reason: str, fails: bool = True) -> None:
        super().__init__(reason)
        self.at = at
        self.reason = reason
        self.fails = fails
