"""Write manifests of policies as YAML."""

from __future__ import annotations

from collections.abc import Sequence

from nodelint.base.types import Any


def policy_text(manifests: Sequence[dict[str, Any]]) -> str:
    """Return manifests as a YAML stream."""
    import yaml

    return str(yaml.safe_dump_all(manifests, sort_keys=False, width=1000)).rstrip()
