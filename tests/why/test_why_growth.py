"""How the work of `why` grows with a cluster, that its edits do what they say, and what hostile dumps do to it."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from nodelint.model.releases import NEWEST
from nodelint.why import Known, explain
from nodelint.why.balanced import Score
from nodelint.why.dump import read_dump
from nodelint.why.kubectl_yaml import NotPlain, read_plain
from nodelint.why.objects import read_objects
from nodelint.why.pdbs import DisruptionBudget
from tests.forked import Command
from tests.plain_yaml import load_all_yaml
from tests.why.clusters import NOW, cluster, daemon, event, kubectl_list, node, nodepool, pdb, pod
from tests.why.test_why import APART, DELETED, SPREAD, WAITS


def _alike(number: int, index: int) -> tuple[str, str, Any]:
    """Return the labels' value, the CPU and the spec of a pod of which there are many."""
    return f"a{index}", "0", (None, SPREAD, None, APART)[index] if number % 4 == 0 else None


def _distinct(number: int, index: int) -> tuple[str, str, Any]:
    """Return the same of a pod that asks as no other does: each is of an app of its own, and spread or apart."""
    app = f"a{number}-{index}"
    spec = json.loads(json.dumps((None, SPREAD, None, APART)[index]).replace('"web"', f'"{app}"'))
    return app, str(number % 50), spec


def _fleet(count: int, full: bool, make_pod: Callable[[int, int], tuple[str, str, Any]]) -> list[Any]:
    made: list[Any] = []
    for number in range(count):
        name = f"node-{number:04}"
        made += [node(name, zone=f"us-east-1{'ab'[number % 2]}"), daemon(name)]
        for index in range(4):
            app, more, spec = make_pod(number, index)
            cpu = f"{(420 if full else 100) + int(more)}m"
            made.append(pod(f"web-{number}-{index}", name, cpu, "200Mi", labels={"app": app}, spec=spec))
    return cluster(*made)


def _work(objects: list[Any]) -> int:
    dump = read_dump([("dump.json", kubectl_list(objects))])
    known = Known(datetime(2026, 11, 20, 12, tzinfo=UTC), NEWEST, "a test")
    return explain(dump, read_objects(dump, "cluster.yaml"), [], known).work


@pytest.mark.parametrize("make_pod", [_alike, _distinct])
@pytest.mark.parametrize("full", [False, True])
def test_work_grows_with_the_nodes(full: bool, make_pod: Callable[[int, int], tuple[str, str, Any]]) -> None:
    once, twice, four_times = (_work(_fleet(count, full, make_pod)) for count in (20, 40, 80))
    assert twice < 2.3 * once
    assert four_times < 2.3 * twice


@pytest.mark.parametrize(
    "disruption",
    [
        {"consolidationPolicy": "WhenEmpty"},
        {"consolidateAfter": "Never"},
        {"budgets": [{"nodes": "100%"}, {"nodes": "0", "reasons": ["Underutilized"]}]},
    ],
)
def test_an_edit_of_the_pool_takes_the_cause_away(
    disruption: dict[str, Any], nodelint: Command, tmp_path: Path
) -> None:
    pool = nodepool(disruption=disruption)

    def ask() -> dict[str, Any]:
        (tmp_path / "dump.json").write_text(
            kubectl_list(cluster(node(), node("node-b"), pod(), pool)), encoding="utf-8"
        )
        done = nodelint("why", "dump.json", "--node", "node-a", "--format", "json", env={"NODELINT_NOW": NOW})
        answer: dict[str, Any] = json.loads(done.stdout)["nodes"][0]
        return answer

    before = ask()
    (change,) = before["cause"]["changes"]
    at = pool
    *way, last = change["path"].replace("[", ".").replace("]", "").split(".")
    for step in way:
        at = at[int(step)] if step.isdecimal() else at[step]
    assert str(at[last]) == change["old"]
    at[last] = change["new"]
    after = ask()
    assert before["status"] == "stays"
    assert (after["status"], after["cause"]["reason"]) == ("goes", "delete")


_ODD: list[Any] = [
    *(None, True, 0, -1, 1.5, "", "x", [], {}, ["x"], [None], {"a": 1}, [[1]], "9" * 400, "2026-13-45"),
    *({"a": {"b": [{}]}}, "1e999999", "-5", "Never", "*/0 * * * *", 10**30),
]


def _places(value: Any) -> list[tuple[Any, Any]]:
    found: list[tuple[Any, Any]] = []
    waiting = [value]
    while waiting:
        around = waiting.pop()
        inner = list(around.items()) if isinstance(around, dict) else list(enumerate(around))
        found += [(around, key) for key, _ in inner]
        waiting += [item for _, item in inner if isinstance(item, (dict, list))]
    return found


@pytest.mark.parametrize("seed", range(8))
def test_wrong_types_everywhere_are_no_fault(seed: int, nodelint: Command, tmp_path: Path) -> None:
    chance = random.Random(seed)
    objects = cluster(
        *(
            node(),
            node("node-b", type_="m7i.2xlarge"),
            node("node-c", claim=copy.deepcopy(DELETED)),
            pdb(),
            event("pdb"),
        ),
        *(
            pod(spec=SPREAD),
            pod("web-2", "node-b", spec=APART),
            pod("web-3", "node-c"),
            pod("big-1", "", status=WAITS),
        ),
        nodepool(
            limits={"cpu": "100"}, disruption={"budgets": [{"nodes": "1", "schedule": "0 9 * * *", "duration": "8h"}]}
        ),
    )
    objects = json.loads(json.dumps(objects))
    for _ in range(25):
        around, key = chance.choice(_places(objects))
        around[key] = copy.deepcopy(chance.choice(_ODD))
    (tmp_path / "dump.json").write_text(json.dumps({"kind": "List", "items": objects}), encoding="utf-8")
    for form in ("text", "html"):
        done = nodelint("why", "dump.json", "--format", form, env={"NODELINT_NOW": NOW})
        assert done.returncode in (0, 2), done.stderr
        assert "internal error" not in done.stderr
        assert "Traceback" not in done.stderr


WRITTEN = {
    "lists at the indent of their key": "a:\n- b: 1\n  c: []\n- d\ne: {}\n",
    "texts": "a: 'it''s: x'\nb: \"c\\td\\u00e9\"\nc: |\n  one\n   two\nd: |-\n  x\n",
    "words and numbers": "e: true\nf: 'true'\ng: 1\nh: '1'\ni:\n",
    "a text over several lines": "a: 'one\n  two'\nb: \"one\n  two\"\nc: 1\n",
    "documents": "a: 1\n---\nb: 2\n---\n",
    "times stay texts": "a: '2026-01-01T00:00:00Z'\n",
    "keys with quotes": "'a b': 1\n\"c\": 2\nd.e/f-g: 3\n",
}


@pytest.mark.parametrize("case", WRITTEN)
def test_lines_of_kubectl_are_read_as_yaml(case: str) -> None:
    text = WRITTEN[case]
    wanted = [document for document in load_all_yaml(text) if document is not None]
    assert read_plain(text) == wanted


@pytest.mark.parametrize(
    "text", ["a: &x 1\nb: *x\n", "a: {b: 1}\n", "? a\n: b\n", "a: yes\n", "a: one\n  two\n", "a:\tb\n"]
)
def test_other_yaml_is_left_to_a_parser_of_all(text: str) -> None:
    with pytest.raises(NotPlain):
        read_plain(text)


def test_fields_that_nothing_asks_for_are_passed_over() -> None:
    text = (
        "kind: Pod\nmetadata:\n  managedFields:\n  - a: {x: 1}\n    b: 2\n  name: a\nspec:\n  env:\n  -"
        " name: X\n  nodeName: node-a\n"
    )
    assert read_plain(text) == [{"kind": "Pod", "metadata": {"name": "a"}, "spec": {"nodeName": "node-a"}}]


@pytest.mark.parametrize(
    ("spec", "is_blocking"),
    [
        ({"maxUnavailable": 0}, True),
        ({"maxUnavailable": "0%"}, True),
        ({"maxUnavailable": False}, False),
        ({"maxUnavailable": 1}, False),
        ({"minAvailable": "100%"}, True),
        ({"minAvailable": "99%"}, False),
    ],
)
def test_a_budget_blocks_fully_by_its_spec(spec: dict[str, Any], is_blocking: bool) -> None:
    """`isFullyBlocked` of pkg/utils/pdb/pdb.go of core."""
    assert DisruptionBudget("default", "web", None, 0, False, {"spec": spec}).is_fully_blocking is is_blocking


def test_a_saving_of_half_the_disruption_is_enough() -> None:
    assert Score(0.25, 0.5).is_enough
    assert not Score(0.24, 0.5).is_enough
