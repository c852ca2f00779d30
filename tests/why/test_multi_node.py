"""Nodes that go together: `multinodeconsolidation.go` of Karpenter core, by the source of each release."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.forked import Command
from tests.why.clusters import NOW, POOL_REQUIREMENTS, cluster, daemon, kubectl_list, node, nodepool, pod

_LARGE = {**POOL_REQUIREMENTS[1], "values": ["m7i.large", "m7i.xlarge"]}
_EITHER = [{**POOL_REQUIREMENTS[0], "values": ["spot"]}, POOL_REQUIREMENTS[1]]


def _half_full(count: int, cpus: tuple[str, ...] = ("1100m",), **options: Any) -> list[Any]:
    """Nodes each of which one pod fills by half: no pod fits on another node, and no smaller type takes one."""
    made: list[Any] = []
    for number in range(count):
        name = f"node-{'abcdefgh'[number]}"
        made += [*node(name, **options), pod(f"web-{number}", name, cpus[number % len(cpus)])]
        made += [daemon(name)] if number else []  # the first node has one in each cluster
    return made


def _aged(count: int) -> list[Any]:
    """The same, each made an hour after the one before: releases before 1.14 sort candidates by that."""
    made = _half_full(count)
    claims = [o for o in made if o["kind"] == "NodeClaim"]
    for hour, claim in enumerate(claims):
        claim["metadata"]["creationTimestamp"] = f"2026-11-19T{hour:02}:00:00Z"
    return made


def _nearly_full(name: str, created: str) -> list[Any]:
    """A node that has less for pods than a new one of its type, and no room for a pod of 1100m."""
    made = node(name, type_="m7i.xlarge", claim={"metadata": {"creationTimestamp": created}, "expireAfter": "Never"})
    made[0]["status"]["allocatable"] = {**made[0]["status"]["allocatable"], "cpu": "3900m"}
    return [*made, pod("api-1", name, "2760m"), daemon(name)]


def _explain(nodelint: Command, tmp_path: Path, objects: list[Any]) -> dict[str, tuple[str, str, str]]:
    (tmp_path / "dump.json").write_text(kubectl_list(objects), encoding="utf-8")
    done = nodelint("why", "dump.json", "--format", "json", env={"NODELINT_NOW": NOW})
    assert done.returncode == 0, done.stderr
    nodes = json.loads(done.stdout)["nodes"]
    return {a["node"][-1]: (a["status"], a["cause"]["reason"], a["method"]) for a in nodes}


STAYS = ("stays", "no-cheaper-type", "consolidation")
GOES = ("goes", "multi-node-replace", "multi-node")
PERHAPS = ("unknown", "multi-node-replace", "multi-node")

CASES: dict[str, tuple[list[Any], dict[str, tuple[str, str, str]]]] = {
    # Three nodes of m7i.large become one m7i.xlarge; four would become an m7i.2xlarge, for what they cost now.
    "the search begins in the middle: three of four, the oldest first": (
        cluster(*_aged(4), release="1.13.0"),
        {"a": GOES, "b": GOES, "c": GOES, "d": STAYS},
    ),
    "which three of four that are equal, each loop decides anew": (
        cluster(*_half_full(4)),
        dict.fromkeys("abcd", PERHAPS),
    ),
    "of three, two are tried, and then none": (cluster(*_half_full(3)), dict.fromkeys("abc", STAYS)),
    "those that save most for their pods come first since 1.14": (
        cluster(
            *_half_full(4, ("1100m", "1110m", "1120m", "1130m")),
            *(pod(f"tiny-{n}", "node-d", "1m", "1Mi") for n in range(3)),
        ),
        {"a": GOES, "b": GOES, "c": GOES, "d": STAYS},
    ),
    "a budget lets two go, which no cheaper node takes": (
        cluster(*_aged(4), nodepool(disruption={"budgets": [{"nodes": "2"}]}), release="1.13.0"),
        dict.fromkeys("abcd", STAYS),
    ),
    "a pool with WhenEmpty has no candidates": (
        cluster(*_aged(4), nodepool(disruption={"consolidationPolicy": "WhenEmpty"}), release="1.13.0"),
        dict.fromkeys("abcd", ("stays", "policy", "consolidation")),
    ),
    "a new node of a type that is removed costs no less than that node": (
        cluster(
            *_aged(2)[:3],
            *_nearly_full("node-d", "2026-11-18T00:00:00Z"),
            nodepool(requirements=[POOL_REQUIREMENTS[0], _LARGE]),
            release="1.13.0",
        ),
        dict.fromkeys("ad", STAYS),
    ),
    "spot is not replaced by spot, together or alone": (
        cluster(*_half_full(4, capacity="spot"), nodepool(requirements=_EITHER)),
        dict.fromkeys("abcd", ("stays", "spot-to-spot", "consolidation")),
    ),
    "spot with the gate: prices that no file has": (
        cluster(
            *_half_full(4, capacity="spot"), nodepool(requirements=_EITHER), gates="SpotToSpotConsolidation=true"
        ),
        dict.fromkeys("abcd", PERHAPS),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_nodes_go_together(case: str, nodelint: Command, tmp_path: Path) -> None:
    objects, wanted = CASES[case]
    assert _explain(nodelint, tmp_path, objects) == wanted


def test_the_message_names_the_nodes_and_the_price(nodelint: Command, tmp_path: Path) -> None:
    (tmp_path / "dump.json").write_text(kubectl_list(cluster(*_aged(4), release="1.13.0")), encoding="utf-8")
    done = nodelint("why", "dump.json", "--node", "node-a", env={"NODELINT_NOW": NOW, "COLUMNS": "1000"})
    words = " ".join(done.stdout.split())
    assert "replaces it together with node-b, node-c by one m7i.xlarge ($0.2016 an hour)" in words
    assert "instead of 3 nodes ($0.3024)" in words
