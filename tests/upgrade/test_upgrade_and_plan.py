"""`upgrade` and `plan` say the same of a move between two releases that follow one another."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest

from nodelint.model.releases import RELEASES, Version
from nodelint.upgrade.changes import met
from tests.commands.test_cli import Run
from tests.plan.test_plan_headline import BOTH
from tests.repositories import write_files

RELEASE = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: karpenter}
spec: {chart: {spec: {chart: karpenter, version: VERSION}}}
"""
OF_A1 = BOTH.replace(
    "        - {key: topology",
    "        - {key: karpenter.k8s.aws/instance-family, operator: In, values: [FAMILIES]}\n        - {key: topology",
)
MOVES = [
    (old, new)
    for old, new in itertools.pairwise(RELEASES)
    if any(change.drift != "none" or change.area == "hash" for change, _ in met(old, new))
]


@pytest.mark.parametrize("families", ["a1", "a1, m6g", "m6g"])
@pytest.mark.parametrize(("old", "new"), MOVES, ids=lambda release: str(release))
def test_what_a_move_replaces(nodelint: Run, tmp_path: Path, old: Version, new: Version, families: str) -> None:
    for side, release in (("old", old), ("new", new)):
        text = OF_A1.replace("FAMILIES", families)
        write_files(tmp_path / side, {"n.yaml": text, "k.yaml": RELEASE.replace("VERSION", str(release))})
    arguments = ("--from", str(old), "--to", str(new), "--format", "json", "old")
    upgrade = json.loads(nodelint("upgrade", *arguments).stdout)
    plan = json.loads(nodelint("plan", "--old", "old", "new", "--format", "json").stdout)
    drifts = {change["drift"] for change in upgrade["changes"]}
    (pool,) = plan["nodePools"]
    assert (pool["replaced"] != "none") is ("certain" in drifts)
    (move,) = plan["releases"]
    assert not (drifts & {"certain", "possible"}) or "replaces no node" not in move["note"]


@pytest.mark.parametrize(("families", "replaced", "stops"), [("a1", "all", True), ("a1, m6g", "some", False)])
def test_types_that_a_release_leaves_out(
    nodelint: Run, tmp_path: Path, families: str, replaced: str, stops: bool
) -> None:
    for side, release in (("old", "1.10.2"), ("new", "1.11.1")):
        text = OF_A1.replace("FAMILIES", families)
        write_files(tmp_path / side, {"n.yaml": text, "k.yaml": RELEASE.replace("VERSION", release)})
    plan = json.loads(nodelint("plan", "--old", "old", "new", "--format", "json").stdout)
    (pool,) = plan["nodePools"]
    assert (pool["replaced"], pool["launchesNothing"] is not None) == (replaced, stops)
    assert [reason["reason"] for reason in pool["reasons"]] == ["InstanceTypeNotFound"]
