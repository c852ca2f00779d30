"""What a plan says of values that are equal, of a class that no file defines, and of counts that limits decide."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.manifests import nodeclass, nodepool
from tests.repositories import write_files

Run = Callable[..., subprocess.CompletedProcess[str]]

FAMILY = "key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m, r]"
BUDGETS = '    budgets: [{nodes: "0", schedule: "0 8 * * mon-fri", duration: 8h}, {nodes: 10%}]\n'
SPEC = "  disruption:\n    consolidateAfter: 5m\n" + BUDGETS
LIFE = "      expireAfter: 336h\n      terminationGracePeriod: 1h\n"
POOL = nodepool(FAMILY, spec=SPEC, template=LIFE)
KEPT = POOL.replace(
    "  template:\n", '  template:\n    metadata: {annotations: {karpenter.sh/do-not-disrupt: "true"}}\n'
)
LIMITED = POOL.replace("spec:\n", "spec:\n  limits: {cpu: '4'}\n", 1)
REFUSED = nodeclass("instanceProfile: other")


def plan(nodelint: Run, folder: Path, old: str, new: str, *flags: str) -> str:
    write_files(folder / "old", {"a.yaml": old})
    write_files(folder / "new", {"a.yaml": new})
    return " ".join(
        nodelint("plan", "--old", "old", "new", *flags, "--select", "invalid-field", cwd=folder).stdout.split()
    )


@pytest.mark.parametrize(
    ("edit", "row", "is_same"),
    [
        (("5m", "300s"), "5m -> 300s: the same duration", True),
        (("5m", "301s"), "5m -> 301s: nodes are consolidated later", False),
        (("336h", "20160m"), "336h -> 20160m: the same duration", True),
        (("1h", "60m"), "1h -> 60m: the same duration", True),
        (("[c, m, r]", "[r, c, m]"), "c m r -> r c m: the same values", True),
        (("[c, m, r]", "[r, c, m, t]"), "new nodes may differ", False),
        (("8h", "480m"), "duration: 8h, + nodes: 0, …, duration: 480m: the same budgets", True),
        (("8h", "9h"), "duration: 8h, + nodes: 0, …, duration: 9h: decides how many nodes may go", False),
        (("mon-fri", "1-5"), "the same budgets", True),
        (("mon-fri", "1-6"), "decides how many nodes may go", False),
    ],
)
def test_a_value_that_is_only_written_differently_has_no_effect(
    nodelint: Run, tmp_path: Path, edit: tuple[str, str], row: str, is_same: bool
) -> None:
    """And it is shown, so that the reader sees which value it is."""
    assert edit[0] in POOL
    text = plan(nodelint, tmp_path, f"{POOL}---\n{nodeclass()}", f"{POOL.replace(*edit)}---\n{nodeclass()}")
    assert row in text and ("takes effect at once" in text) != is_same, text


def test_nodes_whose_annotation_forbids_it_are_not_replaced(nodelint: Run, tmp_path: Path) -> None:
    """The nodes that run have the annotation of the old side, whatever the new side says."""
    old, new = f"{KEPT}---\n{nodeclass()}", f"{POOL}---\n{nodeclass()}"
    text = plan(nodelint, tmp_path / "removed", old, new)
    assert "none is replaced: they have the annotation `karpenter.sh/do-not-disrupt`" in text, text
    assert "stay until they expire" in text and "pace" not in text, text
    text = plan(nodelint, tmp_path / "added", new, old)
    assert "all nodes are replaced: NodePoolDrifted" in text and "pace" in text, text
    text = plan(nodelint, tmp_path / "never", old.replace("336h", "Never"), new)
    assert "stay until somebody deletes them" in text, text


@pytest.mark.parametrize("is_there", [False, True])
def test_a_class_that_no_file_defines_leaves_open_whether_nodes_are_replaced(
    nodelint: Run, tmp_path: Path, is_there: bool
) -> None:
    moved = POOL.replace("name: default}", "name: other}")
    more = f"---\n{nodeclass(name='other')}" if is_there else ""
    text = plan(nodelint, tmp_path, f"{POOL}---\n{nodeclass()}", f"{moved}---\n{nodeclass()}{more}")
    only = "replaced only if the cluster has EC2NodeClass `other`, which no file defines"
    assert (only in text, "pace" in text, "all its nodes are replaced" in text) == (not is_there, is_there, is_there)
    assert "images that are not known" not in text


WORK = """---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec: {containers: [{name: a, image: a, resources: {requests: {cpu: 1}}}]}
"""


@pytest.mark.parametrize("has_class", [False, True])
def test_a_new_pool_without_its_class_takes_no_pods(nodelint: Run, tmp_path: Path, has_class: bool) -> None:
    old = f"{POOL}---\n{nodeclass()}{WORK}"
    renamed = POOL.replace("  name: default\n", "  name: web\n", 1)
    new = f"{renamed}---\n{nodeclass() if has_class else nodeclass(name='web')}{WORK}"
    text = plan(nodelint, tmp_path, old, new)
    assert ("still: web" in text) == has_class
    assert ("no NodePool accepts its pods any more" in text) != has_class, text
    assert "launch nothing: its EC2NodeClass" in text or has_class


def test_what_could_not_be_launched_before_is_not_lost(nodelint: Run, tmp_path: Path) -> None:
    """The API server refuses the class on both sides: the change of another field takes no types away."""
    old, new = f"{POOL}---\n{REFUSED}", f"{POOL.replace('5m', '6m')}---\n{REFUSED}"
    text = plan(nodelint, tmp_path / "both", old, new)
    assert "instance types" not in text and "A node of" not in text and "no longer" not in text, text
    text = plan(nodelint, tmp_path / "new", f"{POOL}---\n{nodeclass()}", new)
    assert "refused" in text


def test_limits_count_for_the_types_that_can_be_launched(nodelint: Run, tmp_path: Path) -> None:
    """As `explain` counts them."""
    write_files(tmp_path / "empty", {"a.txt": ""})
    write_files(tmp_path / "new", {"a.yaml": f"{LIMITED}---\n{nodeclass()}"})
    record: dict[str, Any] = json.loads(nodelint("plan", "--old", "empty", "new", "--format", "json").stdout)
    count = record["nodePools"][0]["instanceTypes"]["after"]
    assert count > 0 and f"=> {count:,} of" in nodelint("explain", "new").stdout
    write_files(tmp_path / "free", {"a.yaml": f"{POOL}---\n{nodeclass()}"})
    free = json.loads(nodelint("plan", "--old", "empty", "free", "--format", "json").stdout)
    assert free["nodePools"][0]["instanceTypes"]["after"] > count
    [added] = record["nodeClasses"]
    assert (added["name"], added["change"], added["nodePools"]) == ("default", "added", ["default"])
    assert "EC2NodeClasses: 1 added" in record["headline"]
