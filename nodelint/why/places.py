"""Where manifests write the fields that a suggested change names."""

from __future__ import annotations

from collections.abc import Mapping

from nodelint.base.tuples import NamedTuple
from nodelint.why.answer import SuggestedChange


class Places(NamedTuple):
    """Where manifests write fields: `file:line` by object and field, such as `NodePool/default`, `spec.weight`."""

    lines: Mapping[tuple[str, str], str]

    def find_line(self, target: str, path: str | None) -> str | None:
        """Return the place of a field, or of the nearest field around it. None if no manifest writes the object."""
        parts = (path or "").split(".")
        for size in range(len(parts), -1, -1):
            found = self.lines.get((target, ".".join(parts[:size])))
            if found is not None:
                return found
        return None

    def suggest(self, pool: str, path: str, old: str | None, new: str | None, message: str) -> SuggestedChange:
        """Return a change of a field of a NodePool, with the place where a manifest writes the field."""
        target = f"NodePool/{pool}"
        return SuggestedChange(target, path, old, new, message, self.find_line(target, path.partition("[")[0]))
