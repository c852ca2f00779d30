"""Volumes of a class: small ones, those that it leaves to the image, those that stay behind."""

from __future__ import annotations

import textwrap

import pytest

from nodelint.lint.engine import LintRequest, Selection, Target, lint
from nodelint.model.releases import NEWEST
from nodelint.rule.definition import bundled, load
from nodelint.text import Source
from tests.manifests import nodeclass

RULES = load(bundled())
NAMES = ("small-volume", "unmapped-volume", "root-volume-device")
AL2023, BOTTLEROCKET, WINDOWS = "alias: al2023@v20250403", "alias: bottlerocket@v1.46.0", "alias: windows2022@latest"


def rule_names(ami: str, more: str) -> list[str]:
    text = nodeclass(role="main", ami=ami, net="tags: {a: b}", inline=True) + textwrap.indent(more, "  ")
    report = lint(
        [Source.from_text("a.yaml", text)], LintRequest(Target(NEWEST), RULES, Selection(select=frozenset(NAMES)))
    )
    return [r.rule.name for r in report.results]


def mapped(**sizes: str) -> str:
    volumes = [f"- {{deviceName: /dev/{name}, ebs: {{volumeSize: {size}}}}}\n" for name, size in sizes.items()]
    return "blockDeviceMappings:\n" + "".join(volumes)


@pytest.mark.parametrize(
    ("ami", "more", "rules"),
    [
        (AL2023, "", ["small-volume"]),
        (AL2023, mapped(xvda="20Gi"), ["small-volume"]),
        (AL2023, mapped(xvda="8G"), []),  # less than the image needs: another rule says that nothing starts
        (AL2023, mapped(xvda="21Gi"), []),
        (AL2023, mapped(xvda="${SIZE}Gi"), []),
        (AL2023, mapped(xvda="20Gi", xvdf="500Gi"), []),
        (AL2023, mapped(xvda="20Gi") + "instanceStorePolicy: RAID0\n", []),
        (AL2023, "instanceStorePolicy: RAID0\n", []),
        (AL2023, "userData: |\n  #!/bin/bash\n  mkfs.xfs /dev/nvme1n1\n", []),
        (AL2023, "userData: |\n  #!/bin/bash\n  true\n", ["small-volume"]),
        (AL2023, mapped(xvdf="500Gi"), ["root-volume-device"]),
        (AL2023, mapped(xvda="50Gi", xvdb="100Gi"), ["root-volume-device"]),
        (AL2023, mapped(xvda="50Gi", xvdb="100Gi", xvdc="200Gi"), []),
        (AL2023, mapped(xvdf="500Gi") + "userData: |\n  #!/bin/bash\n  mkfs.xfs /dev/xvdf\n", ["unmapped-volume"]),
        (BOTTLEROCKET, mapped(xvda="4Gi", xvdb="20Gi"), ["small-volume"]),
        (BOTTLEROCKET, mapped(xvda="4Gi", xvdb="50Gi"), []),
        (BOTTLEROCKET, mapped(xvdb="50Gi"), ["unmapped-volume"]),
        (BOTTLEROCKET, mapped(xvda="50Gi"), ["root-volume-device"]),
        (WINDOWS, "", []),
        ("id: ami-0123456789abcdef0", "amiFamily: Custom\n", ["unmapped-volume"]),
        ("id: ami-0123456789abcdef0", "amiFamily: Custom\n" + mapped(sda1="8Gi"), []),
    ],
)
def test_the_volumes_that_pods_live_on_are_judged(ami: str, more: str, rules: list[str]) -> None:
    assert rule_names(ami, more) == rules
