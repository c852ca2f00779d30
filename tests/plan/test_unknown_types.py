"""A requirement that is a placeholder leaves at most so many types, and no cheapest one."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.manifests import nodeclass

Run = Callable[..., CompletedProcess[str]]

POOL = """---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {{name: default}}
spec:
  template:
    spec:
      nodeClassRef: {{group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}}
      requirements:
        - {{key: karpenter.k8s.aws/instance-family, operator: In, values: [{family}]}}
        - {{key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}}
"""


@pytest.mark.parametrize("unknown", ["old", "new", ""])
def test_types_of_a_side_that_is_not_known_are_at_most(unknown: str, nodelint: Run, tmp_path: Path) -> None:
    for side, family in (("old", "m7i"), ("new", "c7i")):
        (tmp_path / side).mkdir()
        pool = POOL.format(family="'{{ family }}'" if side == unknown else family)
        (tmp_path / side / "all.yaml").write_text(nodeclass() + pool)
    changed = [json.loads(nodelint("plan", "--old", "old", "new", "--format", "json").stdout)["nodePools"][0]]
    assert changed[0]["instanceTypes"]["known"] == {"before": unknown != "old", "after": unknown != "new"}
    for form in ("text", "markdown"):
        shown = nodelint("plan", "--old", "old", "new", "--format", form).stdout
        assert shown.count("at most 1,") == (1 if unknown else 0)
        assert ("cheapest on demand" in shown) == (not unknown)
