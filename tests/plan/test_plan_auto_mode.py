"""What a plan knows of pools of EKS Auto Mode: changes outside of the template, and new pools, replace no node."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.commands.test_cli import Run
from tests.plan.test_plan_inputs import POOL
from tests.repositories import write_files

AUTO = POOL.replace("karpenter.k8s.aws, kind: EC2NodeClass", "eks.amazonaws.com, kind: NodeClass") + "  weight: 1\n"
OTHER = AUTO.replace("name: web\nspec", "name: batch\nspec")


@pytest.mark.parametrize(
    ("old", "new", "code", "words"),
    [
        (AUTO, AUTO.replace("weight: 1", "weight: 2"), 0, "only `spec.weight` changes: no node of it is replaced"),
        (AUTO, f"{AUTO}---\n{OTHER}", 0, "it is new: no node of it is replaced"),
        (AUTO, f"{AUTO}  limits: {{cpu: 0}}\n", 1, "whose controller decides what is replaced"),
        (AUTO, AUTO.replace("on-demand", "spot").replace("weight: 1", "weight: 2"), 1, "whose controller decides"),
        (f"{AUTO}---\n{OTHER}", AUTO, 1, "whose controller decides what is replaced"),
        (AUTO, AUTO.replace("weight: 1", 'weight: "{{ x }}"'), 1, "whose controller decides what is replaced"),
    ],
)
def test_what_replaces_no_node_of_any_provider(
    nodelint: Run, tmp_path: Path, old: str, new: str, code: int, words: str
) -> None:
    write_files(tmp_path, {"old/p.yaml": old, "new/p.yaml": new})
    done = nodelint("plan", "--old", "old", "new", cwd=tmp_path)
    text = " ".join(done.stdout.split())
    assert (done.returncode, words in text) == (code, True), text
    assert "1 of which changed" in text
    for form in ("markdown", "html"):
        shown = nodelint("plan", "--old", "old", "new", "--format", form, cwd=tmp_path).stdout
        assert "1 of which changed" in shown
