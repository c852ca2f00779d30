"""Help for a pod without a pool leads somewhere: it names what the pool's images decide, and no label by chance."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.manifests import nodeclass, nodepool
from tests.repositories import write_files

Run = Callable[..., CompletedProcess[str]]
CATEGORY = "key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m]"
LINUX = "key: kubernetes.io/os, operator: In, values: [linux]"
POD = (
    "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\n"
    "spec: {nodeSelector: {%s}, containers: [{name: a, image: a}]}\n"
)
WINDOWS = (
    nodepool(CATEGORY, name="windows", node_class="windows"),
    nodeclass(name="windows", ami="alias: windows2022@latest"),
)


def fit(nodelint: Run, tmp_path: Path, selector: str, *requirements: str, more: str = "") -> str:
    pool = f"{nodepool(CATEGORY, *requirements)}---\n{nodeclass()}{more}"
    write_files(tmp_path, {".git/HEAD": "", "pool.yaml": pool, "pod.yaml": POD % selector})
    return " ".join(nodelint("fit", ".").stdout.split())


@pytest.mark.parametrize("requirements", [(), (LINUX,)])
@pytest.mark.parametrize(
    "label",
    ["kubernetes.io/os: windows", "beta.kubernetes.io/os: windows", "node.kubernetes.io/windows-build: 10.0.20348"],
)
def test_the_images_of_the_class_decide_the_system(
    tmp_path: Path, nodelint: Run, label: str, requirements: tuple[str, ...]
) -> None:
    text = fit(nodelint, tmp_path, label, *requirements)
    assert "=> no pool takes it" in text
    assert "nodes of class `default` run linux: add a NodePool with a class whose images have" in text
    assert "no instance type has" not in text and "of the pool has both" not in text
    assert "instance-category" not in text


def test_a_class_with_such_images_takes_the_pod(tmp_path: Path, nodelint: Run) -> None:
    more = "---\n" + "---\n".join(WINDOWS)
    text = fit(nodelint, tmp_path, "kubernetes.io/os: windows", more=more)
    assert "=> `windows`" in text and "help:" not in text


def test_the_build_of_windows_is_named(tmp_path: Path, nodelint: Run) -> None:
    more = "---\n" + "---\n".join(WINDOWS)
    text = fit(nodelint, tmp_path, "node.kubernetes.io/windows-build: 10.0.26100", more=more)
    assert "the images of the class run windows 10.0.20348" in text


def test_a_type_that_does_not_exist_is_still_named(tmp_path: Path, nodelint: Run) -> None:
    text = fit(nodelint, tmp_path, "karpenter.k8s.aws/instance-cpu: '7'")
    assert "no instance type has `karpenter.k8s.aws/instance-cpu In [7]`" in text


@pytest.mark.parametrize(
    ("label", "meant"),
    [
        ("acme.com/x: y", None),
        ("acme.com/cpu: y", None),
        ("acme.com/instance-cpu: '4'", "karpenter.k8s.aws/instance-cpu"),
        ("karpenter.k8s.aws/instance-famly: m9x", "karpenter.k8s.aws/instance-family"),
    ],
)
def test_a_label_with_the_same_end_by_chance_is_not_meant(
    tmp_path: Path, nodelint: Run, label: str, meant: str | None
) -> None:
    text = fit(nodelint, tmp_path, label)
    help_text = text.partition("help:")[2]
    assert (f"did you mean `{meant}`?" in help_text) is (meant is not None)
    assert ("did you mean" in help_text) is (meant is not None)
    if meant is None:
        assert "help: add `acme.com/" in text
