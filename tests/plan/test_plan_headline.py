"""The headline says what happens first: what launches nothing, what is deleted, replaced, and not known."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.commands.test_cli import Run
from tests.repositories import write_files

POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: web
spec:
  template:
    metadata:
      labels: {team: web}
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: web}
      requirements:
        - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
        - {key: topology.kubernetes.io/zone, operator: In, values: [us-east-1a, us-east-1b]}
  limits: {cpu: 1000}
"""
CLASS = """\
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: web
spec:
  role: KarpenterNodeRole-x
  amiSelectorTerms: [{alias: al2023@v20260618}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: x}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: x}}]
"""
BOTH = POOL + CLASS
STATIC = BOTH.replace("  limits: {cpu: 1000}\n", "  replicas: 10\n  limits: {nodes: 12}\n")
DEPLOYMENT = """\
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: api}
spec:
  selector: {matchLabels: {app: api}}
  template:
    metadata: {labels: {app: api}}
    spec:
      nodeSelector: {team: web}
      containers: [{name: api, image: api}]
"""
KARPENTER = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: karpenter}
spec: {chart: {spec: {chart: karpenter, version: 1.11.1}}}
"""
CLUSTER = """\
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: prod, region: us-east-1, version: '1.32'}
"""
FAMILIES = [f"x{number}" for number in range(20)]
NOT_IN = (
    f"        - {{key: karpenter.k8s.aws/instance-family, operator: NotIn, values: [t2, {', '.join(FAMILIES)}]}}\n"
)
LONG = BOTH.replace("  limits:", f"{NOT_IN}  limits:")
CHART = {
    "c/Chart.yaml": "apiVersion: v2\nname: c\nversion: 1.0.0\n",
    "c/README.md": "# A chart\n",
    "c/files/a.sh": "echo a\n",
    "c/values.yaml": "cluster: a\n",
    "c/templates/n.yaml": f'{BOTH}  userData: {{{{ .Files.Get (printf "files/%s.sh" .Values.cluster) | quote }}}}\n',
}


def edited(text: str, *edits: tuple[str, str]) -> str:
    for before, after in edits:
        assert before in text, before
        text = text.replace(before, after)
    return text


class Case(NamedTuple):
    """A change, its exit code, what the plan says (in this order), and what it must not say."""

    old: str | Mapping[str, str]
    new: str | Mapping[str, str]
    code: int
    says: tuple[str, ...]
    never: tuple[str, ...] = ()


REPLACED = ("all nodes are replaced", "all its nodes are replaced")
STOPS = "1 NodePool: it can no longer launch nodes; running nodes stay"
NONE = "No node is replaced"
CASES = {
    "limit of zero": Case(
        BOTH,
        edited(BOTH, ("cpu: 1000", "cpu: 0")),
        1,
        ("can no longer launch nodes: `limits.cpu` is 0; running nodes stay", STOPS),
        (NONE, *REPLACED),
    ),
    "limit of zero with drift": Case(
        BOTH,
        edited(BOTH, ("cpu: 1000", "cpu: 0"), ("{team: web}", "{team: api}")),
        1,
        (
            "can no longer launch nodes",
            "all nodes drift (NodePoolDrifted), and none can be launched in their place",
            STOPS,
        ),
        (NONE, *REPLACED),
    ),
    "no instance type": Case(
        BOTH,
        edited(BOTH, ("[on-demand]", "[reserved]")),
        1,
        (
            "can no longer launch nodes: no instance type",
            "all nodes drift (RequirementsDrifted)",
            "1,357 -> 0",
            STOPS,
        ),
        (NONE, *REPLACED, "families"),
    ),
    "class under another name": Case(
        BOTH,
        POOL + edited(CLASS, ("name: web", "name: web2")),
        1,
        ("can no longer launch nodes: its EC2NodeClass `web` is gone", STOPS, "EC2NodeClasses: 1 added, 1 removed"),
        (NONE, "EC2NodeClass web2", "drift"),
    ),
    "new pool of a class that goes": Case(
        BOTH,
        edited(POOL, ("  name: web\n", "  name: web2\n"), ("us-east-1a, ", ""))
        + edited(CLASS, ("name: web", "name: b")),
        1,
        (
            "- NodePool web ",
            "deleted: all its nodes go",
            "+ NodePool web2",
            "new, but can launch nothing: its EC2NodeClass `web`",
        ),
        ("can launch 1", "EC2NodeClass web2"),
    ),
    "new pool of a class that is refused": Case(
        {"a.yaml": "# none"},
        {"a.yaml": edited(BOTH, ("role: KarpenterNodeRole-x", "role: ''"))},
        1,
        ("new, but can launch nothing: the API server refuses its EC2NodeClass `web`",),
        ("can launch 1",),
    ),
    "alias without an image for the next Kubernetes": Case(
        {"a.yaml": edited(BOTH, ("al2023@v20260618", "bottlerocket@v1.39.1")), "c.yaml": CLUSTER},
        {
            "a.yaml": edited(BOTH, ("al2023@v20260618", "bottlerocket@v1.39.1")),
            "c.yaml": edited(CLUSTER, ("1.32", "1.34")),
        },
        1,
        ("Kubernetes 1.32 -> 1.34", "can no longer launch nodes: no image of `bottlerocket@v1.39.1` is for", STOPS),
        (NONE, "AMIDrift", *REPLACED),
    ),
    "alias with the first image for the next Kubernetes": Case(
        {"a.yaml": edited(BOTH, ("al2023@v20260618", "bottlerocket@v1.47.0")), "c.yaml": CLUSTER},
        {
            "a.yaml": edited(BOTH, ("al2023@v20260618", "bottlerocket@v1.47.0")),
            "c.yaml": edited(CLUSTER, ("1.32", "1.34")),
        },
        1,
        ("Kubernetes 1.32 -> 1.34", "AMIDrift"),
        ("launches nothing", STOPS),
    ),
    "static pool made smaller": Case(
        STATIC,
        edited(STATIC, ("replicas: 10", "replicas: 2")),
        1,
        ("8 nodes are deleted at once, and budgets do not apply", "1 NodePool: 8 nodes are deleted at once"),
        (NONE,),
    ),
    "static pool made empty": Case(
        STATIC,
        edited(STATIC, ("replicas: 10", "replicas: 0")),
        1,
        ("1 NodePool: 10 nodes are deleted at once",),
        (NONE,),
    ),
    "static pool without room": Case(
        edited(STATIC, ("nodes: 12", "nodes: 10")),
        edited(STATIC, ("nodes: 12", "nodes: 10"), ("{team: web}", "{team: api}")),
        1,
        (
            "all nodes drift (NodePoolDrifted), but none is replaced: `limits.nodes` leaves no room",
            "none is replaced.",
        ),
        REPLACED,
    ),
    "static pool of no nodes": Case(
        edited(STATIC, ("replicas: 10", "replicas: 0"), ("nodes: 12", "nodes: 0")),
        edited(STATIC, ("replicas: 10", "replicas: 0"), ("nodes: 12", "nodes: 0"), ("{team: web}", "{team: api}")),
        1,
        ("NodePoolDrifted",),
        ("leaves no room",),
    ),
    "static pool with room": Case(
        STATIC, edited(STATIC, ("{team: web}", "{team: api}")), 1, ("all nodes are replaced: NodePoolDrifted",)
    ),
    "class with a new hash version": Case(
        {"a.yaml": BOTH, "k.yaml": KARPENTER},
        {"a.yaml": BOTH + "  tags: {a: b}\n", "k.yaml": edited(KARPENTER, ("1.11.1", "1.12.0"))},
        1,
        (
            "Karpenter 1.11.1 -> 1.12.0",
            "nodes may be replaced",
            "may never reach the nodes that run",
            "may be replaced.",
        ),
        REPLACED,
    ),
    "pool and class with a new hash version": Case(
        {"a.yaml": BOTH, "k.yaml": KARPENTER},
        {
            "a.yaml": edited(BOTH, ("{team: web}", "{team: api}")) + "  tags: {a: b}\n",
            "k.yaml": edited(KARPENTER, ("1.11.1", "1.12.0")),
        },
        1,
        ("all nodes are replaced: NodePoolDrifted",),
        (),
    ),
    "an old side that was refused": Case(
        edited(BOTH, ("role: KarpenterNodeRole-x", "role: ''")),
        BOTH,
        0,
        ("no node of it runs", "the API server refuses EC2NodeClass web as it was", NONE),
        REPLACED,
    ),
    "a weight that was a text": Case(
        edited(BOTH, ("  limits:", '  weight: "10"\n  limits:')),
        edited(BOTH, ("  limits:", "  weight: 10\n  limits:")),
        0,
        ("invalid-field", NONE),
    ),
    "a zone that was none": Case(
        edited(BOTH, ("[us-east-1a, us-east-1b]", "[us-east1-a, us-east-1b]")), BOTH, 0, ("no node drifts", NONE)
    ),
    "a zone that goes": Case(
        BOTH,
        edited(BOTH, ("us-east-1a, ", "")),
        1,
        ("some nodes are replaced: RequirementsDrifted", "topology.kubernetes.io/zone In: - us-east-1a\n"),
    ),
    "one value of a long list": Case(
        LONG,
        edited(LONG, ("x19]", "x19, m5]")),
        1,
        ("some nodes are replaced", "instance-family NotIn: + m5\n", "9 m5(9)"),
    ),
    "another name": Case(
        BOTH,
        edited(POOL, ("  name: web\n", "  name: api\n")) + CLASS,
        1,
        (
            "- NodePool web ",
            "deleted: all its nodes go at once",
            "+ NodePool api",
            "2 NodePools: 1 deleted with all nodes, 1 new",
        ),
    ),
    "a budget that opens": Case(
        BOTH,
        edited(BOTH, ("  limits:", "  disruption: {consolidateAfter: 0s, budgets: [{nodes: 20%}]}\n  limits:")),
        0,
        ("no node drifts; the change takes effect at once", NONE),
    ),
    "a budget of zero that goes": Case(
        edited(BOTH, ("  limits:", "  disruption: {consolidateAfter: 0s, budgets: [{nodes: '0'}]}\n  limits:")),
        edited(BOTH, ("  limits:", "  disruption: {consolidateAfter: 0s}\n  limits:")),
        0,
        ("nodes that have drifted before begin to go, at most 10 % at a time", NONE),
    ),
    "consolidation beside what is not known": Case(
        edited(
            BOTH,
            ("  limits:", "  disruption: {consolidateAfter: 1h, budgets: [{nodes: '{{ .Values.n }}'}]}\n  limits:"),
        ),
        edited(
            BOTH,
            ("  limits:", "  disruption: {consolidateAfter: 1m, budgets: [{nodes: '{{ .Values.n }}'}]}\n  limits:"),
        ),
        0,
        ("1h -> 1m: nodes are consolidated sooner", NONE),
    ),
    "a volume under another unit": Case(
        BOTH + "  blockDeviceMappings: [{deviceName: /dev/xvda, ebs: {volumeSize: 1024Gi}}]\n",
        BOTH + "  blockDeviceMappings: [{deviceName: /dev/xvda, ebs: {volumeSize: 1Ti}}]\n",
        0,
        (NONE,),
    ),
    "a larger volume": Case(
        BOTH + "  blockDeviceMappings: [{deviceName: /dev/xvda, ebs: {volumeSize: 1024Gi}}]\n",
        BOTH + "  blockDeviceMappings: [{deviceName: /dev/xvda, ebs: {volumeSize: 2Ti}}]\n",
        1,
        ("all nodes are replaced: NodeClassDrift", "volumeSize: 1024Gi -> 2Ti"),
    ),
    "one of two clusters": Case(
        {"a/n.yaml": BOTH, "b/n.yaml": BOTH + DEPLOYMENT},
        {"a/n.yaml": BOTH, "b/d.yaml": DEPLOYMENT},
        1,
        (
            "- NodePool web ",
            "b/n.yaml:4",
            "fewer NodePools accept its pods; still: web (",
            "a/n.yaml",
            "web (",
            "is deleted",
        ),
    ),
    "a label that pods select": Case(
        BOTH + DEPLOYMENT,
        edited(BOTH, ("{team: web}", "{a: b}")) + DEPLOYMENT,
        1,
        ("all nodes are replaced: NodePoolDrifted", "Deployment/api", "no NodePool accepts its pods any more"),
    ),
    "an alias of another family": Case(
        edited(BOTH, ("al2023@v20260618", "al2@latest")),
        edited(BOTH, ("al2023@v20260618", "al2023@latest")),
        1,
        ("all nodes are replaced: NodeClassDrift, AMIDrift",),
        ("InstanceTypeNotFound",),
    ),
    "a file that nothing refers to": Case(CHART, {**CHART, "other.txt": "more\n"}, 0, ("not changed",)),
    "a file that a template takes in": Case(
        CHART, {**CHART, "c/files/a.sh": "echo b\n"}, 1, ("nodes may be replaced", "`.Files`"), (NONE,)
    ),
}


def _files(side: str | Mapping[str, str]) -> Mapping[str, str]:
    return {"a.yaml": side} if isinstance(side, str) else side


def commit(folder: Path, files: Mapping[str, str]) -> None:
    """A commit of these files alone."""
    for path in [path for path in folder.rglob("*") if path.is_file() and ".git" not in path.parts]:
        path.unlink()
    write_files(folder, dict(files))
    who = ("-c", "user.email=a@example.com", "-c", "user.name=a")
    for args in (("add", "-A"), (*who, "commit", "-qm", "a", "--allow-empty")):
        subprocess.run(["git", *args], cwd=folder, check=True)


@pytest.mark.parametrize("name", CASES)
def test_the_headline_says_what_happens_first(nodelint: Run, tmp_path: Path, name: str) -> None:
    """Two folders, and two commits of one repository, have the same answer: the latter is tried of some."""
    case = CASES[name]
    write_files(tmp_path / "old", dict(_files(case.old)))
    write_files(tmp_path / "new", dict(_files(case.new)))
    answers = [nodelint("plan", "--old", "old", "new")]
    if name in [*CASES][::4]:
        repository = tmp_path / "repository"
        repository.mkdir()
        subprocess.run(["git", "init", "-q", "-b", "main", "."], cwd=repository, check=True)
        for side in (case.old, case.new):
            commit(repository, _files(side))
        answers.append(nodelint("plan", "--against", "HEAD~1", cwd=repository))
    for done in answers:
        assert done.returncode == case.code, done.stdout + done.stderr
        text = " ".join(done.stdout.split())
        for words in case.says:
            assert words.strip() in (done.stdout if words.endswith("\n") else text), (words, done.stdout)
        assert not any(words in text for words in case.never), done.stdout
        assert "nodelint-" not in done.stdout  # no path of the folder in which a revision stands


def test_json_says_the_same(nodelint: Run, tmp_path: Path) -> None:
    case = CASES["limit of zero with drift"]
    write_files(tmp_path / "old", dict(_files(case.old)))
    write_files(tmp_path / "new", dict(_files(case.new)))
    plan: dict[str, Any] = json.loads(nodelint("plan", "--old", "old", "new", "--format", "json").stdout)
    (pool,) = plan["nodePools"]
    assert plan["headline"].startswith(STOPS)
    assert (pool["launchesNothing"], pool["replaced"], pool["held"]) == ("`limits.cpu` is 0", "all", True)
    assert pool["heldBy"] == "none can be launched in their place"
    assert pool["pace"] == []


@pytest.mark.parametrize("role", ("KarpenterNodeRole-x", "${var.role}"))
def test_a_class_in_a_heredoc_that_was_refused_had_no_nodes(nodelint: Run, tmp_path: Path, role: str) -> None:
    for side, name in (("old", "''"), ("new", role)):
        blocks = [
            f'resource "kubectl_manifest" "{kind}" {{\n  yaml_body = <<YAML\n{text}YAML\n}}\n'
            for kind, text in (("pool", POOL), ("class", CLASS.replace("KarpenterNodeRole-x", name)))
        ]
        write_files(tmp_path / side, {"main.tf": 'variable "role" { default = "r" }\n' + "".join(blocks)})
    done = nodelint("plan", "--old", "old", "new")
    assert done.returncode == 0, done.stdout
    assert "the API server refuses EC2NodeClass web as it was" in done.stdout
    assert NONE in done.stdout


@pytest.mark.parametrize(
    "change",
    [
        ("al2023@v20260618", "al2023@v20260701", "spec.amiSelectorTerms[0]: alias: "),
        ("role: KarpenterNodeRole-x", "role: others", "spec.role: "),
    ],
    ids=["image", "role"],
)
def test_a_class_without_nodes_says_what_changes(nodelint: Run, tmp_path: Path, change: tuple[str, str, str]) -> None:
    old, new, field = change
    broken = edited(
        BOTH, ("requirements:\n", "requirements:\n        - {key: kubernetes.io/arch, operator: In, values: [x86]}\n")
    )
    assert old in broken
    write_files(tmp_path, {"old/a.yaml": broken, "new/a.yaml": edited(broken, (old, new))})
    text = nodelint("plan", "--old", "old", "new").stdout
    assert "the change of EC2NodeClass `web` concerns no node" in text
    before, after = old.partition(": ")[2] or old, new.partition(": ")[2] or new
    assert f"{field}{before} -> " in text and f"{after}\n" in text
