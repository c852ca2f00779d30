"""A class that excludes all types of its pool: `explain`, `fit` and `check` name the field of the class."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.manifests import nodeclass, nodepool
from tests.repositories import write_files

Run = Callable[..., CompletedProcess[str]]
CATEGORY = "key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m]"
LARGE = "key: node.kubernetes.io/instance-type, operator: In, values: [m7i.large]"
POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: a, image: a}]}\n"


def write(tmp_path: Path, *requirements: str, field: str = "") -> None:
    more = [field] if field else []
    files = {"pool.yaml": nodepool(CATEGORY, *requirements), "class.yaml": nodeclass(*more), "pod.yaml": POD}
    write_files(tmp_path, {".git/HEAD": "", **files})


def line_of(tmp_path: Path, file: str, text: str) -> str:
    lines = (tmp_path / file).read_text().splitlines()
    return f"{file}:{next(number for number, line in enumerate(lines, 1) if text in line)}"


FIELDS = {
    "reserved memory": ("kubelet: {kubeReserved: {memory: 64Gi}}", [LARGE], "reserve less in `kubelet` of class"),
    "no pods": ("kubelet: {maxPods: 0}", [], "raise `maxPods` in `kubelet` of class `default`"),
    "reserved storage": ("kubelet: {systemReserved: {ephemeral-storage: 100Gi}}", [], "reserve less in `kubelet`"),
    "a volume below what is reserved": (
        "blockDeviceMappings: [{deviceName: /dev/xvda, ebs: {volumeSize: 20Gi}}]\n"
        "  kubelet: {systemReserved: {ephemeral-storage: 100Gi}}",
        [],
        "raise `volumeSize` of class `default`",
    ),
}


@pytest.mark.parametrize("case", FIELDS)
def test_the_field_of_the_class_is_named(tmp_path: Path, nodelint: Run, case: str) -> None:
    field, lines, advice = FIELDS[case]
    write(tmp_path, *lines, field=field)
    place = line_of(tmp_path, "class.yaml", field.splitlines()[0])
    explained = " ".join(nodelint("explain", ".").stdout.split())
    assert "=> none is launched: " in explained and "would fit, but the class excludes them (" in explained
    assert "meets the requirements" not in explained
    fit = " ".join(nodelint("fit", ".").stdout.split())
    assert "its class excludes all its types" in fit and advice in fit
    assert place in fit and "pool.yaml" not in fit
    assert "such as" not in fit
    checked = nodelint("check", ".", "--format", "concise").stdout
    assert "`default`: its class excludes all its types: " in checked


def test_the_requirement_and_the_field_are_both_marked(tmp_path: Path, nodelint: Run) -> None:
    write(tmp_path, LARGE, field=FIELDS["reserved memory"][0])
    checked = nodelint("check", "pool.yaml", "class.yaml").stdout
    assert "no-instance-type" in checked and "by this field of the class" in checked


@pytest.mark.parametrize(
    ("lines", "cause"),
    [
        ([LARGE, "key: karpenter.sh/capacity-type, operator: In, values: [reserved]"], "capacity-type"),
        ([LARGE, "key: karpenter.k8s.aws/instance-cpu, operator: In, values: ['64']"], "instance-cpu"),
    ],
)
def test_a_requirement_that_excludes_all_types_is_named_itself(
    tmp_path: Path, nodelint: Run, lines: list[str], cause: str
) -> None:
    write(tmp_path, *lines, field="kubelet: {kubeReserved: {memory: 1Gi}}")
    fit = " ".join(nodelint("fit", ".").stdout.split())
    assert "of its class" not in fit and "its class excludes" not in fit
    assert line_of(tmp_path, "pool.yaml", cause) in fit
    assert line_of(tmp_path, "pool.yaml", "instance-category") not in fit
    assert "=> none of " in nodelint("explain", ".").stdout


def test_a_class_that_excludes_some_types_is_not_named(tmp_path: Path, nodelint: Run) -> None:
    write(tmp_path, field="kubelet: {kubeReserved: {memory: 64Gi}}")
    assert "=> `default`" in nodelint("fit", ".").stdout
    assert "the class excludes them" not in nodelint("explain", ".").stdout
