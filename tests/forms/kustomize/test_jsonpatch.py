"""What a JSON6902 patch writes of an object, as a part of it."""

from __future__ import annotations

from nodelint.text import Source
from nodelint.text.yaml import jsonpatch

PATCH = """\
- {op: add, path: /spec/disruption, value: {consolidateAfter: 1m}}
- {op: add, path: /spec/disruption/budgets, value: [{nodes: "1"}]}
- {op: add, path: /spec/disruption/budgets/-, value: {nodes: "2"}}
"""


def test_what_later_operations_add_is_not_written_into_the_values_of_earlier_ones() -> None:
    (document,) = Source.from_text("patch.yaml", PATCH + "# karpenter\n").documents
    root = document.root
    assert root is not None
    before = root.plain()
    (target,) = Source.from_text("target.yaml", "kind: NodePool # karpenter\n").documents
    assert target.root is not None
    part = jsonpatch.part(root, target.root.get("kind"))
    assert part is not None
    assert part.plain() == {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "spec": {"disruption": {"consolidateAfter": "1m", "budgets": [{"nodes": "1"}, {"nodes": "2"}]}},
    }
    assert root.plain() == before
