"""What one command cannot judge, each of them names: for each form a tree with a gap of each kind."""

from __future__ import annotations

from tests.manifests import NODE_CLASS, POOL

Files = dict[str, str]
PAIR = {"all.yaml": f"{POOL}---\n{NODE_CLASS}"}
