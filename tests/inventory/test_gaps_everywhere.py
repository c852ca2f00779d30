"""What one command cannot judge, each of them names: for each form a tree with a gap of each kind."""

from __future__ import annotations

from pathlib import Path

import pytest

from nodelint.files.discover import discover
from nodelint.inventory import read_inventory
from nodelint.inventory.gaps import list_gaps
from tests.fixtures import Run
from tests.manifests import NODE_CLASS, POOL
from tests.repositories import put

Files = dict[str, str]
PAIR = {"all.yaml": f"{POOL}---\n{NODE_CLASS}"}
