"""What would let a pool take a workload where one change is not enough, and why no change would."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.manifests import nodeclass, nodepool
from tests.repositories import write_files

Run = Callable[..., subprocess.CompletedProcess[str]]

POOL = nodepool(
    "key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m, r]",
    "key: karpenter.k8s.aws/instance-generation, operator: Gt, values: ['5']",
    "key: kubernetes.io/arch, operator: In, values: [amd64]",
    "key: karpenter.sh/capacity-type, operator: In, values: [spot]",
    name="general",
)


def workload(selector: str = "", requests: str = "cpu: 1") -> str:
    selector = f"      nodeSelector: {{{selector}}}\n" if selector else ""
    return f"""\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: api}}
spec:
  selector: {{matchLabels: {{app: api}}}}
  template:
    metadata: {{labels: {{app: api}}}}
    spec:
{selector}      containers:
        - {{name: api, image: api, resources: {{requests: {{{requests}}}, limits: {{{requests}}}}}}}
"""


FAMILY, ARCH = "karpenter.k8s.aws/instance-family", "kubernetes.io/arch"
SIZE = "karpenter.k8s.aws/instance-size"
CASES = {
    "more than any type has": (
        workload(requests="cpu: 5000"),
        r"no instance type holds cpu 5000: \S+ offers \d+m, the most of all; ask for less in each pod"
        r" \(api\.yaml:9\)",
    ),
    "a contradiction in the workload": (
        workload(f"{FAMILY}: p5, {ARCH}: arm64"),
        rf"no instance type has both `{FAMILY} In \[p5\]` and `{ARCH} In \[arm64\]`:"
        r" change one of them in the workload \(api\.yaml:9\)",
    ),
    "no such type that holds it": (
        workload(f"{FAMILY}: t3", "cpu: 100"),
        r"no instance type that meets its requirements holds cpu 100: t3\.2xlarge offers \d+m",
    ),
    "several lines": (
        workload(f"{ARCH}: arm64, karpenter.sh/capacity-type: on-demand, {FAMILY}: t4g"),
        r"pool `general` takes it with 4 changes:"
        r" add `t` to `karpenter.k8s.aws/instance-category` \(pool\.yaml:\d+\),"
        r" change `Gt 5` to `Gt 3` in `karpenter.k8s.aws/instance-generation` \(pool\.yaml:\d+\),"
        rf" add `arm64` to `{ARCH}` \(pool\.yaml:\d+\) and add `on-demand` to `karpenter.sh/capacity-type`"
        r" \(pool\.yaml:\d+\)",
    ),
    "one bound": (
        workload(f"{FAMILY}: m5"),
        r"change `Gt 5` to `Gt 4` in `karpenter.k8s.aws/instance-generation` of pool `general` \(pool\.yaml:\d+\)",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_every_obstacle_is_named_with_its_place(nodelint: Run, tmp_path: Path, name: str) -> None:
    text, pattern = CASES[name]
    write_files(tmp_path, {"pool.yaml": POOL, "class.yaml": nodeclass(), "api.yaml": text})
    printed = " ".join(nodelint("fit", ".").stdout.split())
    assert re.search(f"help: {pattern}", printed), printed


@pytest.mark.parametrize(
    ("bound", "nearest"), [("Gt 5", "Gt 4"), ("Gte 6", "Gte 5"), ("Lt 5", "Lt 6"), ("Lte 4", "Lte 5")]
)
def test_the_nearest_bound_is_the_one_that_is_named(nodelint: Run, tmp_path: Path, bound: str, nearest: str) -> None:
    operator, number = bound.split()
    pool = POOL.replace("operator: Gt, values: ['5']", f"operator: {operator}, values: ['{number}']")
    write_files(tmp_path, {"pool.yaml": pool, "class.yaml": nodeclass(), "api.yaml": workload(f"{FAMILY}: m5")})
    assert f"change `{bound}` to `{nearest}`" in " ".join(nodelint("fit", ".").stdout.split())


def test_changes_that_are_named_are_enough(nodelint: Run, tmp_path: Path) -> None:
    """And a toleration counts as one of them."""
    tainted = POOL.replace(
        "    spec:\n", "    spec:\n      taints: [{key: team, value: web, effect: NoSchedule}]\n", 1
    )
    pods = workload(f"{ARCH}: arm64, {FAMILY}: m7g")
    write_files(tmp_path, {"pool.yaml": tainted, "class.yaml": nodeclass(), "api.yaml": pods})
    printed = " ".join(nodelint("fit", ".").stdout.split())
    assert "takes it with 2 changes: tolerate `team=web:NoSchedule` in the workload (api.yaml:" in printed
    assert f"and add `arm64` to `{ARCH}`" in printed
    tolerant = pods.replace("    spec:\n", "    spec:\n      tolerations: [{key: team, operator: Exists}]\n", 1)
    write_files(tmp_path, {"pool.yaml": tainted.replace("[amd64]", "[amd64, arm64]"), "api.yaml": tolerant})
    assert "1 workload with a pool, 0 without" in nodelint("fit", ".").stdout


@pytest.mark.parametrize(("taints", "named"), [(1, 5), (2, 0)])
def test_five_changes_are_named_and_more_are_not(nodelint: Run, tmp_path: Path, taints: int, named: int) -> None:
    written = ", ".join(f"{{key: team{n}, effect: NoSchedule}}" for n in range(taints))
    tainted = POOL.replace("    spec:\n", f"    spec:\n      taints: [{written}]\n", 1)
    write_files(tmp_path, {"pool.yaml": tainted, "class.yaml": nodeclass(), "api.yaml": CASES["several lines"][0]})
    found = re.search("takes it with (.) changes", " ".join(nodelint("fit", ".").stdout.split()))
    assert int(found[1] if found else 0) == named


@pytest.mark.parametrize(("limits", "number"), [("{cpu: 8, nodes: 10}", 2), ("{nodes: 10}", 1)])
def test_changes_are_for_a_type_within_the_limits_of_the_pool(
    nodelint: Run, tmp_path: Path, limits: str, number: int
) -> None:
    lines = (f"key: {FAMILY}, operator: In, values: [m7i]", f"key: {SIZE}, operator: In, values: [16xlarge]")
    files = {"pool.yaml": nodepool(*lines, spec=f"  limits: {limits}\n"), "class.yaml": nodeclass()}
    write_files(tmp_path, files | {"api.yaml": workload(f"{FAMILY}: m7g")})
    printed = " ".join(nodelint("fit", ".").stdout.split())
    assert f"add `m7g` to `{FAMILY}`" in printed
    assert ("takes it with 2 changes" in printed) == (number == 2)


X86_IMAGE = "name: amazon-eks-node-al2023-x86_64-standard-1.33-v20250807, owner: amazon"
SMALL_VOLUME = "blockDeviceMappings: [{deviceName: /dev/xvda, ebs: {volumeSize: 10Gi}}]"
TAINTED = POOL.replace(
    "    spec:\n", "    spec:\n      taints: [{key: a, effect: NoSchedule}, {key: b, effect: NoExecute}]\n", 1
)


def _helps(nodelint: Run, tmp_path: Path, pool: str, node_class: str, pod: str) -> str:
    write_files(tmp_path, {"pools.yaml": f"{pool}---\n{node_class}", "api.yaml": pod})
    text = " ".join(nodelint("fit", ".", "--karpenter-version", "1.5.0").stdout.split())
    return text.partition("help: ")[2].partition(" (pools.yaml")[0].partition(" (api.yaml")[0]


def test_no_type_is_offered_for_which_the_class_has_no_image(nodelint: Run, tmp_path: Path) -> None:
    family = nodepool(f"key: {FAMILY}, operator: In, values: [m7i, c7i]", name="web")
    pod = workload(f"{ARCH}: arm64")
    node_class = nodeclass("amiFamily: AL2023", ami=X86_IMAGE)
    assert _helps(nodelint, tmp_path, family, node_class, pod) == ""
    found = _helps(nodelint, tmp_path, family, nodeclass(), pod)
    assert found == f"add `m7g` to `{FAMILY}` of pool `web`"


@pytest.mark.parametrize("class_line", [SMALL_VOLUME, "tags: {a: b}"], ids=["no launch", "launches"])
@pytest.mark.parametrize("pool", [TAINTED, POOL], ids=["tainted", "another arch"])
def test_a_class_with_which_nothing_is_launched_is_named(
    nodelint: Run, tmp_path: Path, pool: str, class_line: str
) -> None:
    node_class = nodeclass(class_line)
    found = _helps(nodelint, tmp_path, pool, node_class, workload("" if pool is TAINTED else f"{ARCH}: arm64"))
    start = "tolerate `a:NoSchedule` and `b:NoExecute`, and pool `general` takes it" if pool is TAINTED else "add "
    assert found.startswith(start)
    assert ("once nodes can be launched with EC2NodeClass/" in found) == (class_line is SMALL_VOLUME)
    printed = " ".join(nodelint("fit", ".", "--karpenter-version", "1.5.0").stdout.split())
    assert ("nothing is launched with EC2NodeClass/" in printed) == (class_line is SMALL_VOLUME)
    explained = nodelint("explain", ".", "--nodepool", "general", "--karpenter-version", "1.5.0").stdout
    assert ("nothing is launched with EC2NodeClass/" in explained) == (class_line is SMALL_VOLUME)
