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


def write_sides(folder: Path, old: str, new: str) -> None:
    write_files(folder, {"old/nodes.yaml": old, "new/nodes.yaml": new})


@pytest.mark.parametrize(("role", "refused"), [('""', True), ("others", False)])
def test_the_page_shows_what_is_refused_of_a_class(nodelint: Run, tmp_path: Path, role: str, refused: bool) -> None:
    write_sides(tmp_path, CLASS, CLASS.replace("role: nodes", f"role: {role}"))
    page = nodelint("plan", "--old", "old", "new", "--format", "html", cwd=tmp_path).stdout
    assert "EC2NodeClass web</h2>" in page
    assert ("Refused by the API server: <code>spec.role</code>" in page) is refused


def test_a_bar_is_escaped_in_a_table_only(nodelint: Run, tmp_path: Path) -> None:
    write_sides(tmp_path, documents(POOL, CLASS), documents(POOL, f'{CLASS}  tags: {{team: "a|b"}}\n'))
    lines = nodelint("plan", "--old", "old", "new", "--format", "markdown", cwd=tmp_path).stdout.split("\n")
    rows, items = ([line for line in lines if line.startswith(sign) and "NodeClassDrift:" in line] for sign in "|-")
    assert rows
    assert items
    assert all("a\\|b" in row for row in rows)
    assert all("a|b" in item for item in items)


@pytest.mark.parametrize("more", [0, 2])
def test_causes_of_a_class_that_no_pool_uses_are_counted(nodelint: Run, tmp_path: Path, more: int) -> None:
    changes = {
        "role: nodes": "role: others",
        "alias: al2023@v20260618": "alias: al2023@v20260709",
    }
    new = CLASS
    for old, value in changes.items():
        new = new.replace(old, value)
    fields = ["detailedMonitoring: true", "associatePublicIPAddress: true", "instanceStorePolicy: RAID0"]
    fields += [
        "userData: 'echo hi'",
        "tags: {team: web}",
        "context: arn:x",
        "metadataOptions: {httpTokens: optional}",
    ]
    fields += ["kubelet: {maxPods: 20}"]
    new += "".join(f"  {field}\n" for field in fields[: 4 + 2 * more])
    write_sides(tmp_path, CLASS, new)
    text = nodelint("plan", "--old", "old", "new", "--format", "markdown", cwd=tmp_path).stdout
    assert ("more cause" in text) is (more > 0), text
