"""A Provisioner and its AWSNodeTemplate become v1 together, or neither does."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import by_place

Run = Callable[..., "subprocess.CompletedProcess[str]"]

FIX = ("check", "--fix", "--karpenter-version", "1.15.1")
"""No file here states a release: a conversion is safe for one that is named."""

POOL = """\
apiVersion: karpenter.sh/v1alpha5
kind: Provisioner
metadata:
  name: batch
spec:
  # who pays
  labels:
    team: batch
  ttlSecondsUntilExpired: 604800 # a week
  providerRef:
    name: batch # its class
"""
CLASS = """\
apiVersion: karpenter.k8s.aws/v1alpha1
kind: AWSNodeTemplate
metadata:
  name: batch
spec:
  instanceProfile: node
  subnetSelector:
    discovery: main
  securityGroupSelector:
    discovery: main
"""
ENDED = CLASS.replace("  instanceProfile: node\n", "")


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    (folder / ".git").mkdir(parents=True)
    return folder


def write_pair(folder: Path, **files: str) -> None:
    for name, text in files.items():
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")


def kinds(folder: Path) -> list[str]:
    texts = [path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.yaml"))]
    return [line.removeprefix("kind: ") for text in texts for line in text.splitlines() if line.startswith("kind:")]


def test_one_fix_spans_both_files_and_the_second_run_finds_nothing_to_do(repo: Path, nodelint: Run) -> None:
    write_pair(repo, pool=POOL, node=CLASS)
    done = nodelint(*FIX, ".", cwd=repo)
    assert "Fixed 2 findings" in done.stdout
    assert kinds(repo) == ["EC2NodeClass", "NodePool"]
    once = [path.read_bytes() for path in sorted(repo.glob("*.yaml"))]
    assert b"        name: batch # its class\n" in once[1]
    assert b"kind: EC2NodeClass\n" in once[1]
    again = nodelint(*FIX, ".", cwd=repo)
    assert [path.read_bytes() for path in sorted(repo.glob("*.yaml"))] == once
    assert "removed-api" not in again.stdout


@pytest.mark.parametrize("named", ["pool", "node"])
def test_one_of_two_files_is_not_written_alone(named: str, repo: Path, nodelint: Run) -> None:
    write_pair(repo, pool=POOL, node=CLASS)
    done = nodelint(*FIX, f"{named}.yaml", cwd=repo)
    assert kinds(repo) == ["AWSNodeTemplate", "Provisioner"]
    other = {"pool": "node.yaml", "node": "pool.yaml"}[named]
    assert f"it changes {other}, which was not named" in " ".join(done.stdout.split())


@pytest.mark.parametrize(
    ("pool", "node", "why"),
    [
        (
            POOL,
            ENDED,
            "together with AWSNodeTemplate/batch, which cannot: it has neither `role` nor `instanceProfile`",
        ),
        (
            POOL + "  provider: {amiFamily: AL2}\n",
            CLASS,
            "together with Provisioner/batch, which cannot: `spec.provider`",
        ),
    ],
)
def test_neither_changes_where_one_cannot(pool: str, node: str, why: str, repo: Path, nodelint: Run) -> None:
    write_pair(repo, pool=pool, node=node)
    before = nodelint("check", ".", cwd=repo)
    assert why in " ".join(before.stdout.split())
    assert "fixable with --fix" not in before.stdout and "--unsafe-fixes" not in before.stdout
    nodelint(*FIX, ".", cwd=repo)
    assert kinds(repo) == ["AWSNodeTemplate", "Provisioner"]


def test_a_class_that_is_nowhere_is_said_and_the_pool_alone_is_only_suggested(repo: Path, nodelint: Run) -> None:
    write_pair(repo, pool=POOL)
    done = nodelint("check", ".", cwd=repo)
    output = " ".join(done.stdout.split())
    assert "the AWSNodeTemplate batch that it names is not among the files" in output
    assert "suggestion: convert only this object" in output
    assert "fixable with --fix" not in output and "--unsafe-fixes" not in output


def test_a_class_that_is_v1_already_holds_nothing_up(repo: Path, nodelint: Run) -> None:
    write_pair(repo, node=CLASS)
    nodelint(*FIX, ".", cwd=repo)
    write_pair(repo, pool=POOL)
    nodelint(*FIX, "pool.yaml", cwd=repo)
    assert kinds(repo) == ["EC2NodeClass", "NodePool"]


def test_all_pools_of_a_class_change_with_it(repo: Path, nodelint: Run) -> None:
    other = POOL.replace("name: batch\nspec", "name: web\nspec")
    write_pair(repo, a=POOL, b=other + "  provider: {}\n", c=CLASS)
    assert "3 fixable" in " ".join(nodelint("check", ".", cwd=repo).stdout.split())
    write_pair(repo, b=other + "  wieght: 5\n")
    nodelint(*FIX, ".", cwd=repo)
    assert kinds(repo) == ["Provisioner", "Provisioner", "AWSNodeTemplate"]


def test_the_class_of_the_pools_folder_is_meant(repo: Path, nodelint: Run) -> None:
    for folder, node in (("dev", CLASS), ("prod", ENDED)):
        (repo / folder).mkdir()
        write_pair(repo / folder, pool=POOL, node=node)
    nodelint(*FIX, ".", cwd=repo)
    assert kinds(repo / "dev") == ["EC2NodeClass", "NodePool"]
    assert kinds(repo / "prod") == ["AWSNodeTemplate", "Provisioner"]


def test_a_name_that_is_filled_in_later_pairs_within_a_folder(repo: Path, nodelint: Run) -> None:
    contents = [text.replace("name: batch", "name: ${NAME}") for text in (POOL, CLASS)]
    write_pair(repo, pool=contents[0], node=contents[1])
    nodelint(*FIX, ".", cwd=repo)
    assert kinds(repo) == ["EC2NodeClass", "NodePool"]


def test_other_rules_still_judge_what_is_not_converted(repo: Path, nodelint: Run) -> None:
    line = "    - {key: kubernetes.io/arch, operator: In, values: [amd46]}"
    wrong = POOL.replace("  providerRef", f"  requirements:\n{line}\n  providerRef")
    write_pair(repo, pool=wrong, node=ENDED)
    assert "amd46" in nodelint("check", "--format", "concise", "pool.yaml", cwd=repo).stdout


INLINE = POOL.replace(
    "  providerRef:\n    name: batch # its class\n",
    """  requirements:
    - key: karpenter.sh/capacity-type
      operator: In
      values: ["spot"]
    - key: node.kubernetes.io/instance-type
      operator: In
      values: ["t3.medium"]
  provider:
    instanceProfile: node
    subnetSelector: {discovery: main}
    securityGroupSelector: {discovery: main}
""",
)


def test_a_pool_with_its_class_inside_is_judged_without_it(repo: Path, nodelint: Run) -> None:
    write_pair(repo, pool=INLINE)
    done = nodelint(*FIX, "pool.yaml", cwd=repo)
    assert "`spec.provider` needs an EC2NodeClass of its own" in " ".join(done.stdout.split())
    assert "pool.yaml:13:15: warning[narrow-spot]" in by_place(done.stdout)
    assert "unknown-node-class" not in done.stdout, "the class that nodelint thinks of is not in the file"
    assert kinds(repo) == ["Provisioner"]


def test_pools_that_lack_different_things_are_told_apart(repo: Path, nodelint: Run) -> None:
    write_pair(repo, a=INLINE, b=INLINE.replace("    subnetSelector: {discovery: main}\n", ""))
    output = " ".join(by_place(nodelint("check", ".", cwd=repo).stdout).split())
    assert "b.yaml:1:13: error[removed-api]" in output
    assert "no fix converts it: `spec.provider` has no subnetSelector: add what every release requires" in output


def test_a_class_without_a_role_is_judged_as_far_as_it_goes(repo: Path, nodelint: Run) -> None:
    write_pair(repo, node=ENDED + "  metadataOptions:\n    httpTokens: optional\n")
    done = nodelint(*FIX, "--profile", "strict", ".", cwd=repo)
    assert "neither `role` nor `instanceProfile`" in " ".join(done.stdout.split())
    assert "node.yaml:11:17: warning[imds-v1]" in by_place(done.stdout)
    assert kinds(repo) == ["AWSNodeTemplate"]


def test_kubelet_settings_are_judged_at_each_pool_of_a_class_without_a_role(repo: Path, nodelint: Run) -> None:
    kubelet = "  kubeletConfiguration:\n    maxPods: 110\n"
    write_pair(repo, a=POOL + kubelet, b=POOL.replace("name: batch\nspec", "name: web\nspec") + kubelet, node=ENDED)
    done = nodelint("check", "--select", "max-pods-beyond-network", "--format", "concise", ".", cwd=repo)
    (line,) = done.stdout.splitlines()[:-1]
    assert line.startswith(f"a.yaml:{POOL.count(chr(10)) + 2}:14: info[max-pods-beyond-network]")
    assert "(and 1 more Provisioner)" in line


def test_nodes_of_a_provisioner_expire_only_where_it_says_when(repo: Path, nodelint: Run) -> None:
    write_pair(repo, a=POOL.replace("  ttlSecondsUntilExpired: 604800 # a week\n", ""), b=POOL, node=CLASS)
    done = nodelint("check", "--select", "never-expires", "--format", "concise", ".", cwd=repo)
    assert [line.partition("]")[0] for line in done.stdout.splitlines()[:-1]] == ["a.yaml:4:9: info[never-expires"]


def test_what_holds_for_the_old_object_is_not_said_again_of_the_new_one(repo: Path, nodelint: Run) -> None:
    write_pair(repo, a=POOL.replace("  name: batch\n", "  name: batch\n  namespace: karpenter\n", 1), node=ENDED)
    done = nodelint("check", "--select", "cluster-scoped-namespace", "--format", "concise", ".", cwd=repo)
    assert done.stdout.count("[cluster-scoped-namespace]") == 1


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("  ttlSecondsAfterEmpty: 30\n", "pool.yaml:12:3: info[default-disruption]"),
        ("  consolidation: {enabled: false}\n", "pool.yaml:12:28: info[late-consolidation]"),
        ("", "pool.yaml:4:9: info[late-consolidation]"),
    ],
)
def test_what_a_provisioner_says_of_consolidation_is_told_where_it_says_it(
    repo: Path, nodelint: Run, written: str, message: str
) -> None:
    (repo / "pool.yaml").write_text(POOL + written, encoding="utf-8")
    rule = message.partition("[")[2].rstrip("]")  # beside `removed-api` such a reminder waits
    assert message in nodelint("check", "--format", "concise", "--select", rule, ".", cwd=repo).stdout


def test_a_class_that_names_no_family_is_told_what_it_takes(repo: Path, nodelint: Run) -> None:
    write_pair(repo, node=CLASS)
    output = nodelint("check", ".", cwd=repo).stdout
    assert "node.yaml:4:9: warning[unsupported-alias]: `al2` has no image on Kubernetes 1.33" in by_place(output)
    assert "  note: an AWSNodeTemplate without amiFamily takes AL2\n" in output
    write_pair(repo, node=CLASS + "  amiSelector: {aws-ids: ami-0123456789abcdef0}\n")
    assert "ended-family" in nodelint("check", ".", cwd=repo).stdout, "AL2 user data, whatever the image is"
    write_pair(repo, node=CLASS + "  amiFamily: Bottlerocket\n")
    assert "ended-family" not in nodelint("check", ".", cwd=repo).stdout
