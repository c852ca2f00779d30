"""Find what policies and tests only compare with objects: nobody applies it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from nodelint.files.gate import gate
from nodelint.text import Node

COMPARED = frozenset(
    {"pattern", "anyPattern", "patchStrategicMerge", "match", "exclude", "preconditions", "assert", "asserts"}
)
"""Keys above what is compared with objects: in policies of Kyverno, and in tests of Chainsaw and helm-unittest."""
_OF_KUTTL = r"\d+-(?:assert|errors)(?:-[^.]*)?\.yaml"
_OF_CHAINSAW = frozenset({"assert", "asserts", "error", "errors"})
_CHAINSAW_TESTS = ("chainsaw-test.yaml", "chainsaw-test.yml")


def list_compared(node: Node) -> list[Node]:
    """Return the values in a mapping that are compared with objects and that nobody applies.

    They are patterns of a policy, the state that a test expects, and what Open Cluster Management forbids.
    """
    forbids = str(getattr(node.get("complianceType"), "value", "")).lower() == "mustnothave"
    return [
        entry.value
        for entry in node.entries
        if entry.name in COMPARED
        or (entry.name == "error" and entry.value.get("resource") is not None)
        or (entry.name == "objectDefinition" and forbids)
    ]


def list_all_compared(root: Node) -> Iterator[Node]:
    """Yield the values at any depth that are compared with objects. Those inside of another one are not included."""
    pending = [root]
    while pending:
        node = pending.pop()
        if node.alias or node.shared:
            continue
        compared = list_compared(node)
        yield from compared
        pending += [
            below for below in (*node.items, *(entry.value for entry in node.entries)) if below not in compared
        ]


def states_expected(path: str) -> bool:
    """Return whether a file has the state that a test of KUTTL or Chainsaw expects: `00-assert.yaml`.

    KUTTL knows such a file by its name, Chainsaw by the test next to it.
    """
    folder, name = os.path.split(path)
    if "assert" not in name and "error" not in name:
        return False
    if re.fullmatch(_OF_KUTTL, name) is not None:
        return True
    tests = (os.path.join(folder, test) for test in _CHAINSAW_TESTS)
    return not _OF_CHAINSAW.isdisjoint(re.split("[-_.]", name)) and any(map(gate.is_file, tests))
