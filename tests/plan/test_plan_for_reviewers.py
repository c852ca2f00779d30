"""What a reviewer sees of a plan in thirty seconds, in text and in Markdown."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.plan.test_plan_command import Run, git
from tests.plan.test_plan_inputs import CHART, POOL, class_of
from tests.repositories import write_files

FAMILIES = ["c5", "c6i", "c7i", "m5", "m6i", "m7i", "r5", "r6i", "r7i", "g5", "g6", "t3", "t3a", "i4i", "x2idn"]
LISTED = "        - {key: karpenter.k8s.aws/instance-family, operator: In, values: [FAMILIES]}\n"
CLASS = class_of()
STATED = """\
resource "aws_eks_cluster" "main" {
  name    = "main"
  version = "KUBERNETES"
}
resource "helm_release" "karpenter" {
  name       = "karpenter"
  repository = "oci://public.ecr.aws/karpenter"
  chart      = "karpenter"
  version    = "RELEASE"
}
"""


class Case(NamedTuple):
    """Both sides of a change."""

    old: Mapping[str, str]
    new: Mapping[str, str]


def list_families(families: list[str]) -> str:
    return POOL + LISTED.replace("FAMILIES", ", ".join(families))


def name_pool(name: str, more: str = "", node_class: str = "web") -> str:
    pool = POOL.replace("name: web}", f"name: {node_class}}}").replace("name: web\n", f"name: {name}\n")
    return pool + more


def state_releases(kubernetes: str, release: str) -> str:
    return STATED.replace("KUBERNETES", kubernetes).replace("RELEASE", release)


def documents(*texts: str) -> str:
    return "---\n".join(texts)


OF_ALL_KINDS = {
    "old": documents(
        name_pool("stops"),
        name_pool("replaced", node_class="tagged"),
        name_pool("in-force", "  disruption: {consolidationPolicy: WhenEmpty, consolidateAfter: 1h}\n"),
        name_pool("not-known", node_class="found"),
        name_pool("unchanged"),
        CLASS,
        CLASS.replace("name: web", "name: tagged"),
        CLASS.replace("name: web", "name: found"),
    ),
    "new": documents(
        name_pool("stops", "  limits: {cpu: 0}\n"),
        name_pool("replaced", node_class="tagged"),
        name_pool(
            "in-force", "  disruption: {consolidationPolicy: WhenEmptyOrUnderutilized, consolidateAfter: 1h}\n"
        ),
        name_pool("not-known", node_class="found"),
        name_pool("unchanged"),
        CLASS,
        CLASS.replace("name: web", "name: tagged") + "  tags: {team: web}\n",
        CLASS.replace("name: web", "name: found").replace(
            "securityGroupSelectorTerms:\n    - tags: {karpenter.sh/discovery: x}",
            "securityGroupSelectorTerms:\n    - tags: {karpenter.sh/discovery: other}",
        ),
    ),
}
FIVE = CLASS.replace("role: nodes", "role: others").replace("v20260618", "v20260714")
CASES = {
    "a list is its difference": Case(
        {"nodes.yaml": documents(list_families(FAMILIES), CLASS)},
        {"nodes.yaml": documents(list_families([f for f in FAMILIES if f != "g5"] + ["g6e"]), CLASS)},
    ),
    "a class that is gone has its old name": Case(
        {"nodes.yaml": documents(POOL, CLASS)},
        {"nodes.yaml": documents(POOL, CLASS.replace("name: web", "name: web2"))},
    ),
    "no temporary folder": Case(
        {"nodes.yaml": documents(POOL, CLASS), "app.yaml": CHART.replace("v2", "v1"), "gone.yaml": name_pool("gone")},
        {"nodes.yaml": documents(POOL, CLASS), "app.yaml": CHART},
    ),
    "not compared is not without drift": Case(
        {"nodes.yaml": documents(POOL, CLASS + "  tags: {team: '${team}'}\n"), "prod.env": "team=web\n"},
        {"nodes.yaml": documents(POOL, CLASS + "  tags: {team: '${team}'}\n"), "prod.env": "team=api\n"},
    ),
    "moves come first": Case(
        {"nodes.yaml": documents(POOL, CLASS), "main.tf": state_releases("1.32", "1.5.0")},
        {
            "nodes.yaml": documents(POOL, CLASS + "  tags: {team: web}\n"),
            "main.tf": state_releases("1.33", "1.8.0"),
        },
    ),
    "one move of Kubernetes is one block": Case(
        {
            "nodes.yaml": documents(
                *(name_pool(name) for name in ("one", "two", "three")), class_of("al2023@latest")
            ),
            "main.tf": state_releases("1.32", "1.8.0"),
        },
        {
            "nodes.yaml": documents(
                *(name_pool(name) for name in ("one", "two", "three")), class_of("al2023@latest")
            ),
            "main.tf": state_releases("1.33", "1.8.0"),
        },
    ),
    "what stops, is replaced, is in force, is not known, stays": Case(
        {"nodes.yaml": OF_ALL_KINDS["old"]}, {"nodes.yaml": OF_ALL_KINDS["new"]}
    ),
    "five causes are five rows": Case(
        {"nodes.yaml": documents(POOL, CLASS)},
        {
            "nodes.yaml": documents(
                POOL.replace("[on-demand]", "[spot]").replace(
                    "    spec:\n", "    metadata: {labels: {team: web}}\n    spec:\n      expireAfter: 24h\n"
                ),
                FIVE + "  tags: {team: web}\n  userData: 'echo hi'\n",
            )
        },
    ),
}


@pytest.mark.parametrize("form", ["text", "markdown"])
@pytest.mark.parametrize("name", CASES)
def test_thirty_seconds(nodelint: Run, tmp_path: Path, name: str, form: str, snapshot: SnapshotAssertion) -> None:
    """By a revision, whose files stand in a temporary folder."""
    old, new = CASES[name]
    write_files(tmp_path, old)
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "before")
    for path in old.keys() - new.keys():
        (tmp_path / path).unlink()
    write_files(tmp_path, new)
    done = nodelint("plan", "--against", "HEAD", "--format", form, "--select", "invalid-field", cwd=tmp_path)
    assert not done.stderr
    assert done.stdout == snapshot
