"""A baseline hides a finding while it is as bad as it was recorded, or milder; a worse one is new, in each form."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.manifests import nodeclass, nodepool
from tests.repositories import write_files

Run = Callable[..., subprocess.CompletedProcess[str]]

CLASS = nodeclass(ami="name: amazon-eks-node-al2023-x86_64-standard-1.33-v20260618, owner: amazon")
SOME = ("amd64, arm64", "m6i.2xlarge, m7i.2xlarge, m7g.2xlarge")
NONE = ("arm64", "m7g.2xlarge, m8g.2xlarge")
CHART = {"chart/Chart.yaml": "apiVersion: v2\nname: pools\nversion: 0.1.0\n"}
OVERLAY = "resources: [../base]\npatches: [{path: pool.yaml, target: {kind: NodePool}}]\n"


def _pool(arch: str, types: str) -> str:
    return nodepool(
        f"key: kubernetes.io/arch, operator: In, values: {arch}",
        f"key: node.kubernetes.io/instance-type, operator: In, values: {types}",
    )


def _plain(arch: str, types: str) -> dict[str, str]:
    return {"pools.yaml": _pool(f"[{arch}]", f"[{types}]") + "---\n" + CLASS}


def _chart(arch: str, types: str) -> dict[str, str]:
    template = _pool("{{ toJson .Values.arch }}", "{{ toJson .Values.types }}")
    return {
        **CHART,
        "chart/values.yaml": f"arch: [{arch}]\ntypes: [{types}]\n",
        "chart/templates/pools.yaml": template + "---\n" + CLASS,
    }


def _overlay(arch: str, types: str) -> dict[str, str]:
    files = _plain("amd64", "m6i.2xlarge")
    return {
        "base/kustomization.yaml": "resources: [pools.yaml]\n",
        "base/pools.yaml": files["pools.yaml"],
        "prod/kustomization.yaml": OVERLAY,
        "prod/pool.yaml": _pool(f"[{arch}]", f"[{types}]"),
    }


def _terraform(arch: str, types: str) -> dict[str, str]:
    manifest = _pool("${jsonencode(var.arch)}", "${jsonencode(var.types)}")
    variables = "".join(f'variable "{name}" {{ type = list(string) }}\n' for name in ("arch", "types"))
    listed = (", ".join(f'"{text}"' for text in values.split(", ")) for values in (arch, types))
    blocks = (
        f'resource "kubectl_manifest" "{name}" {{\n  yaml_body = <<-YAML\n{text}YAML\n}}\n'
        for name, text in (("pool", manifest), ("class", CLASS))
    )
    return {
        "main.tf": variables + "".join(blocks),
        "terraform.tfvars": "arch = [{}]\ntypes = [{}]\n".format(*listed),
    }


def _check(nodelint: Run) -> tuple[int, dict[str, str]]:
    flags = ("--baseline", "nodelint.baseline.json", "--select", "image-arch-mismatch", "--format", "json")
    done = nodelint("check", *flags)
    return done.returncode, {row["rule"]: row["message"] for row in json.loads(done.stdout)["findings"]}


@pytest.mark.parametrize("form", [_plain, _chart, _overlay, _terraform])
def test_a_known_finding_about_some_types_does_not_hide_that_none_can_launch(
    nodelint: Run, tmp_path: Path, form: Callable[[str, str], dict[str, str]]
) -> None:
    write_files(tmp_path, {".git/HEAD": "", **form(*SOME)})
    nodelint("baseline")
    assert "1 of 3 allowed" in (tmp_path / "nodelint.baseline.json").read_text(encoding="utf-8")
    assert _check(nodelint) == (0, {})
    write_files(tmp_path, form(*NONE))
    code, found = _check(nodelint)
    assert code == 1 and "all 2 allowed instance types are arm64" in found["image-arch-mismatch"]


@pytest.mark.parametrize("form", [_plain, _chart, _overlay, _terraform])
def test_a_known_finding_that_becomes_milder_stays_known(
    nodelint: Run, tmp_path: Path, form: Callable[[str, str], dict[str, str]]
) -> None:
    write_files(tmp_path, {".git/HEAD": "", **form(*NONE)})
    nodelint("baseline")
    assert _check(nodelint) == (0, {})
    write_files(tmp_path, form(*SOME))
    assert _check(nodelint) == (0, {})
    nodelint("baseline")  # records the milder finding: the worse one is new again
    write_files(tmp_path, form(*NONE))
    assert _check(nodelint)[0] == 1


USER_DATA = 'userData: "#!/bin/bash\\n/etc/eks/bootstrap.sh main\\n"'


def test_a_known_finding_does_not_hide_one_of_a_graver_severity(nodelint: Run, tmp_path: Path) -> None:
    """The fields stay as they are, and the release decides how bad they are."""
    custom = nodeclass("amiFamily: Custom", USER_DATA, ami="id: ami-0123456789abcdef0")
    write_files(tmp_path, {".git/HEAD": "", "class.yaml": custom})
    flags = ("--baseline", "known.json", "--select", "custom-user-data", "--karpenter-version")

    def count(release: str) -> int:
        done = nodelint("check", *flags, release, "--format", "concise")
        return done.stdout.count("[custom-user-data]")

    nodelint("baseline", *flags, "1.2.2")
    assert count("1.2.2") == 0 and count("1.2.1") == 1
    nodelint("baseline", *flags, "1.2.1")
    assert count("1.2.2") == count("1.2.1") == 0
