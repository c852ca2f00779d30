"""A program of Pulumi in YAML holds whole objects, which are compared: it is no values file of a chart elsewhere."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

import pytest

from tests.plan.test_plan import CLASS, POOL
from tests.plan.test_plan_missing_references import Run
from tests.repositories import write_files

_PULUMI = (
    "name: nodes\nruntime: yaml\nresources:\n  web:\n    type: kubernetes:karpenter.k8s.aws/v1:EC2NodeClass\n"
    f"    properties:\n{indent(CLASS, '      ')}"
)
_NOTE = "no chart of these files takes these values"
_PARTS = "nodes:\n  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: a}}]\n  cost: part\n"


@pytest.mark.parametrize(
    ("name", "text", "is_values"),
    [
        ("Pulumi.yaml", _PULUMI, False),
        ("values.yaml", _PARTS, True),
        ("values.yaml", f"{_PARTS}extraObjects:\n  - {indent(CLASS, '    ').strip()}\n", True),
        ("values.yaml", f"{_PARTS}---\n{CLASS}", True),
    ],
    ids=["program", "values", "values with an object", "values before an object"],
)
def test_a_file_of_whole_objects_has_no_values(
    nodelint: Run, tmp_path: Path, name: str, text: str, is_values: bool
) -> None:
    edit = ("cost: part" if is_values else "cost: web", "cost: other")
    for side, now in (("old", text), ("new", text.replace(*edit))):
        write_files(tmp_path / side, {"pool.yaml": POOL, name: now})
    done = nodelint("plan", "--old", "old", "new", cwd=tmp_path)
    shown = " ".join(done.stdout.split())
    assert (_NOTE in shown) == is_values, shown
    assert is_values or "NodeClassDrift" in shown
