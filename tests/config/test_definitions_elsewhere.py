"""One object in YAML and in Terraform, with different specs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.manifests import nodeclass, nodepool

Run = Callable[..., CompletedProcess[str]]

TERRAFORM = 'resource "kubectl_manifest" "pool" {{\n  yaml_body = <<-EOT\n{}\n  EOT\n}}\n'


def paths_and_severities(nodelint: Run) -> list[str]:
    done = nodelint("check", "--select", "duplicate-name", "--format", "json")
    return [f"{finding['path']}: {finding['severity']}" for finding in json.loads(done.stdout)["findings"]]


@pytest.mark.parametrize(
    ("yaml", "terraform", "other", "expected"),
    [
        ("gitops/pool.yaml", "terraform/pools.tf", "24h", ["gitops/pool.yaml: info"]),
        ("gitops/pool.yaml", "terraform/pools.tf", "720h", []),
        ("gitops/pool.yaml", "terraform/pools.tf", "${var.expire}", []),
        ("gitops/dev/pool.yaml", "terraform/pools.tf", "24h", []),
        ("examples/pool.yaml", "terraform/pools.tf", "24h", []),
        ("gitops/pool.yaml", "terraform/pool.yaml.tpl", "24h", []),
    ],
)
def test_yaml_and_terraform_make_one_object(
    nodelint: Run, tmp_path: Path, yaml: str, terraform: str, other: str, expected: list[str]
) -> None:
    text = nodepool(name="apps").replace("    spec:\n", "    spec:\n      expireAfter: 720h\n", 1)
    assert "expireAfter: 720h" in text
    for path, content in (
        (yaml, text),
        (terraform, TERRAFORM.format(text.replace("720h", other)) if terraform.endswith(".tf") else text),
    ):
        (tmp_path / path).parent.mkdir(parents=True)
        (tmp_path / path).write_text(content, encoding="utf-8")
    assert paths_and_severities(nodelint) == expected


@pytest.mark.parametrize(
    ("folders", "clusters", "expected"),
    [
        (("gitops", "k8s"), ("main", "main"), ["k8s/a.yaml: info"]),
        (("gitops", "k8s"), ("main", "other"), []),
        (("gitops", "k8s"), ("${CLUSTER}", "${CLUSTER}"), []),
        (("gitops/dev", "gitops/prod"), ("main", "main"), []),
        (("gitops-prod", "k8s"), ("main", "main"), []),
        (("us-east-1", "eu-west-1"), ("main", "main"), []),
        (("base", "overlays/main"), ("main", "main"), []),
        (("examples/a", "examples/b"), ("main", "main"), []),
        (("k8s", "k8s/old"), ("main", "main"), []),
    ],
)
@pytest.mark.parametrize("kind", ["NodePool", "EC2NodeClass"])
def test_two_folders_make_one_object(
    nodelint: Run, tmp_path: Path, folders: tuple[str, str], clusters: tuple[str, str], expected: list[str], kind: str
) -> None:
    for folder, cluster, expire in zip(folders, clusters, ("720h", "24h"), strict=True):
        of_class = nodeclass(name="apps", net=f"tags: {{karpenter.sh/discovery: {cluster}}}")
        if kind == "EC2NodeClass":
            text = f"{of_class}  associatePublicIPAddress: {str(expire == '24h').lower()}\n"
        else:
            text = nodepool(name="apps", node_class="apps").replace(
                "    spec:\n", f"    spec:\n      expireAfter: {expire}\n", 1
            )
            text = f"{text}---\n{of_class}"
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        (tmp_path / folder / "a.yaml").write_text(text, encoding="utf-8")
    assert paths_and_severities(nodelint) == expected


def test_a_third_one_says_that_they_are_versions(nodelint: Run, tmp_path: Path) -> None:
    text = nodepool(name="apps")
    (tmp_path / "main.tf").write_text(TERRAFORM.format(nodepool(name="apps", node_class="other")), encoding="utf-8")
    for folder in "ab":
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "pool.yaml").write_text(text, encoding="utf-8")
    assert paths_and_severities(nodelint) == []


@pytest.mark.parametrize(
    ("requested", "expected"), [((), "b.yaml"), (("a.yaml",), "a.yaml"), (("b.yaml",), "b.yaml")]
)
def test_of_two_files_that_make_one_object_the_one_asked_about_is_told(
    nodelint: Run, tmp_path: Path, requested: tuple[str, ...], expected: str
) -> None:
    (tmp_path / "prod" / "repository" / ".git").mkdir(parents=True)
    home = tmp_path / "prod" / "repository"
    for name in ("a.yaml", "b.yaml"):
        (home / name).write_text(nodepool(name="apps"), encoding="utf-8")
    done = nodelint("check", "--select", "duplicate-name", "--format", "json", *requested, cwd=home)
    assert [finding["path"] for finding in json.loads(done.stdout)["findings"]] == [expected]


def test_folders_around_a_repository_say_nothing(nodelint: Run, tmp_path: Path) -> None:
    """The same is found by relative and by whole paths, however the folders above are called."""
    home = tmp_path / "examples" / "prod" / "repository"
    (home / ".git").mkdir(parents=True)
    for folder in ("gitops", "k8s"):
        (home / folder).mkdir()
        text = nodepool(name="apps") + "---\n" + nodeclass()
        spot = text.replace("    spec:\n", f"    spec:\n      expireAfter: {len(folder)}h\n", 1)
        (home / folder / "a.yaml").write_text(spot, encoding="utf-8")
    for path in (".", str(home)):
        done = nodelint("check", "--select", "duplicate-name", "--format", "json", path, cwd=home)
        found = [(Path(f["path"]).parent.name, f["message"]) for f in json.loads(done.stdout)["findings"]]
        assert found == [
            ("k8s", "`../gitops` also creates NodePool `apps`, with another spec: the one applied last wins")
        ]
