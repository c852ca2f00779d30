"""Twenty changes in one repository, each in a folder of its own, planned for three releases.

`why` names the place in Karpenter's source that decides: `karpenter` is kubernetes-sigs/karpenter, `provider` is
aws/karpenter-provider-aws, at the tag v1.14.1 where no other is named.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from nodelint.base.tuples import NamedTuple
from tests.plan.test_plan import CLASS, POOL, edited
from tests.plan.test_plan_command import git, put

Run = Callable[..., CompletedProcess[str]]
RELEASES = ("1.0.8", "1.6.0", "1.14.1")
NONE: tuple[str, ...] = ("none",)


class Change(NamedTuple):
    """An edit of a pool or a class, what comes of it, the line to blame in its file, and the source that says so.

    `by_release` holds what is different in a release.
    """

    file: str
    edit: tuple[str, str]
    verdict: tuple[str, ...]
    line: int | None
    why: str
    by_release: dict[str, tuple[str, ...]] = {}  # noqa: RUF012 - nobody writes to it


HASH = "karpenter pkg/apis/v1/nodepool.go:334-342, pkg/controllers/nodeclaim/disruption/drift.go:163-176"
REQUIREMENTS = "karpenter pkg/controllers/nodeclaim/disruption/drift.go:178-188"
CLASS_HASH = "provider pkg/apis/v1/ec2nodeclass.go:597-610, pkg/cloudprovider/drift.go:181-194"
LIVE = "karpenter pkg/apis/v1/nodepool.go:52-67: outside spec.template, read when it is needed"
NODEPOOL, NODECLASS = ("all", "NodePoolDrifted"), ("all", "NodeClassDrift")
TIER = "{key: example.com/tier, operator: In, values: [gold, silver]}"

CHANGES = {
    "tag": Change("class", ("cost: web", "cost: app"), NODECLASS, 10, CLASS_HASH),
    "label": Change("pool", ("{team: web}", "{team: app}"), NODEPOOL, 8, HASH),
    "taint": Change("pool", ("key: fast", "key: slow"), NODEPOOL, 13, HASH),
    "startup-taints": Change(
        "pool",
        ("      taints:", "      startupTaints: []\n      taints:"),
        NODEPOOL,
        11,
        f"{HASH}: an empty list is not nil",
    ),
    "narrowed": Change("pool", ("[c, m]", "[m]"), ("some", "RequirementsDrifted"), 15, REQUIREMENTS),
    "widened": Change("pool", ("[c, m]", "[c, m, r]"), NONE, None, REQUIREMENTS),
    "new-key": Change(
        "pool",
        (TIER, f"{TIER}\n        - {{key: example.com/level, operator: Exists}}"),
        ("all", "RequirementsDrifted"),
        19,
        f"{REQUIREMENTS}: a label that a NodeClaim lacks meets NotIn and DoesNotExist alone",
    ),
    "limits": Change("pool", ("cpu: 100", "cpu: 10"), NONE, None, LIVE),
    "weight": Change("pool", ("weight: 10", "weight: 20"), NONE, None, LIVE),
    "budgets": Change("pool", ("nodes: 10%", "nodes: '0'"), NONE, None, LIVE),
    "alias": Change(
        "class", ("v20250403", "v20250501"), ("all", "AMIDrift"), 7, "provider pkg/cloudprovider/drift.go:84-108"
    ),
    "subnets": Change(
        "class",
        ("{id: subnet-1b}", "{id: subnet-1c}"),
        ("some", "SubnetDrift"),
        8,
        "provider pkg/cloudprovider/drift.go:112-126",
    ),
    "role": Change(
        "class",
        ("role: nodes", "role: other"),
        NODECLASS,
        6,
        f"{CLASS_HASH}; refused by oldSelf in pkg/apis/crds/karpenter.k8s.aws_ec2nodeclasses.yaml@v1.6.0:516",
        {"1.0.8": NONE, "1.6.0": NONE},
    ),
    "renamed": Change(
        "pool",
        ("  name: renamed", "  name: another"),
        ("all",),
        None,
        "karpenter pkg/apis/v1/nodeclaim.go: owner reference",
    ),
    "kubelet": Change(
        "class",
        ("  role:", "  kubelet: {maxPods: 20}\n  role:"),
        NODECLASS,
        6,
        f"{CLASS_HASH}; provider pkg/cloudprovider/drift.go@v1.0.8:143-161",
    ),
    "empty-kubelet": Change(
        "class",
        ("  role:", "  kubelet: {}\n  role:"),
        NODECLASS,
        6,
        f"{CLASS_HASH}: not nil; provider pkg/utils/utils.go@v1.0.8:145-167: nil and {{}} alike",
        {"1.0.8": NONE},
    ),
    "reordered": Change("pool", ("[c, m]", "[m, c]"), NONE, None, f"{REQUIREMENTS}: values are sets"),
    "comment": Change("class", ("spec:\n", "# who owns this?\nspec:\n"), NONE, None, "no field changes"),
    "monitoring": Change(
        "class",
        ("  role:", "  detailedMonitoring: false\n  role:"),
        NODECLASS,
        6,
        f"{CLASS_HASH}: a pointer to false",
    ),
}


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with the state before in its history and that after in its files; one pool has lost its class."""
    folder = tmp_path_factory.mktemp("repository")
    names = [*CHANGES, "gone"]
    for name in names:
        put(folder / name / "pool.yaml", own(POOL, name))
        put(folder / name / "class.yaml", own(CLASS, name))
    put(folder / "overlay" / "kustomization.yaml", "resources: []\n")
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "before")
    for name, change in CHANGES.items():
        text = own({"pool": POOL, "class": CLASS}[change.file], name)
        put(folder / name / f"{change.file}.yaml", edited(text, change.edit))
    (folder / "gone" / "class.yaml").unlink()
    return folder


def own(text: str, name: str) -> str:
    """The same objects under names of their own."""
    return edited(text.replace("name: web\n", f"name: {name}\n"), ("name: default", f"name: {name}"))


@pytest.mark.parametrize("release", RELEASES)
def test_twenty_changes(nodelint: Run, repository: Path, release: str) -> None:
    done = nodelint("plan", "--against", "HEAD", "--format", "json", "--karpenter-version", release, cwd=repository)
    assert done.stderr == ""
    every = json.loads(done.stdout)["nodePools"]
    pools: dict[str, Any] = {Path(pool["path"]).parent.name: pool for pool in reversed(every)}
    assert set(pools) == {*CHANGES, "gone"}
    assert pools["gone"]["replaced"] == "none"
    for name, change in CHANGES.items():
        found = pools[name]
        expected = change.by_release.get(release, change.verdict)
        reasons = found["reasons"]
        assert (found["replaced"], *dict.fromkeys(reason["reason"] for reason in reasons)) == expected, (
            name,
            change.why,
        )
        if len(expected) > 1 and change.line is not None:
            assert reasons[0]["line"] == change.line, name
            assert reasons[0]["path"] == f"{name}/{change.file}.yaml"
    assert [entry["field"] for entry in pools["role"]["refused"]] == (["spec.role"] if release != "1.14.1" else [])
    assert [(p["name"], p["change"]) for p in every if p["change"] in ("removed", "added")] == [
        ("renamed", "removed"),
        ("another", "added"),
    ]
