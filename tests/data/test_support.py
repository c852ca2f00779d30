"""How long releases of Karpenter and Kubernetes are supported, and when that is said."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodelint.data import table
from nodelint.model.releases import NEWEST, RELEASES, KubernetesVersion
from nodelint.model.support import day_number, eks_support, karpenter_support
from tests.manifests import nodepool

Run = Callable[..., CompletedProcess[str]]

EPOCH = date(1970, 1, 1)
TERRAFORM = """\
resource "helm_release" "karpenter" {{
  chart   = "karpenter"
  version = "{karpenter}"
}}

module "eks" {{
  source             = "terraform-aws-modules/eks/aws"
  version            = "21.3.2"
  kubernetes_version = "{kubernetes}"
}}
"""


@given(st.dates(EPOCH, date(2099, 12, 31)))
def test_days_are_counted_as_datetime_does(day: date) -> None:
    assert day_number(day.isoformat()) == (day - EPOCH).days


def test_a_month_means_its_last_day() -> None:
    assert day_number("2027-02") == day_number("2027-02-28")
    assert day_number("2026-12") == day_number("2026-12-31")


def test_every_release_has_a_row() -> None:
    minors = {row["minor"] for row in table("support")["releases"]}
    assert minors == {f"{release.major}.{release.minor}" for release in RELEASES}
    assert karpenter_support(NEWEST) is None


def test_eks_supports_each_version_for_a_year_more() -> None:
    for row in table("support")["eks"]:
        known = eks_support(KubernetesVersion.parse(row["minor"]))
        assert known is not None and 364 <= day_number(known.extended) - day_number(known.standard) <= 366


@pytest.mark.parametrize(
    ("karpenter", "kubernetes", "day", "expected"),
    [
        ("1.15.1", "1.35", "2026-11-22", []),
        ("1.13.1", "1.35", "2026-07-10", []),
        (
            "1.13.1",
            "1.35",
            "2026-07-11",
            ["info[out-of-support]: Karpenter 1.13.1 is out of support since 2026-07-10"],
        ),
        ("1.14.3", "1.35", "2026-12-31", []),
        (
            "1.14.3",
            "1.36",
            "2027-08-01",
            ["Karpenter 1.14.3 is out of support since 2027-07", "EKS ends standard support of Kubernetes 1.36"],
        ),
        ("1.15.1", "1.34", "2026-11-01", []),
        (
            "1.15.1",
            "1.34",
            "2026-11-22",
            ["info[out-of-support]: EKS ends standard support of Kubernetes 1.34 on 2026-12-02"],
        ),
        (
            "1.15.1",
            "1.34",
            "2026-12-03",
            ["info[out-of-support]: Kubernetes 1.34 is in extended support until 2027-12-02"],
        ),
        ("1.15.1", "1.31", "2026-11-22", ["warning[out-of-support]: Kubernetes 1.31 is in extended support"]),
        (
            "1.15.1",
            "1.31",
            "2026-11-27",
            ["warning[out-of-support]: EKS has not supported Kubernetes 1.31 since 2026-11-26"],
        ),
    ],
)
def test_what_files_state_is_out_of_support(
    nodelint: Run, tmp_path: Path, karpenter: str, kubernetes: str, day: str, expected: list[str]
) -> None:
    (tmp_path / "main.tf").write_text(TERRAFORM.format(karpenter=karpenter, kubernetes=kubernetes), encoding="utf-8")
    for name in "ab":
        (tmp_path / f"{name}.yaml").write_text(nodepool(name=name), encoding="utf-8")
    env = {"NODELINT_NOW": f"{day}T12:00:00Z"}
    done = nodelint("check", "--select", "out-of-support", "--format", "concise", "-q", env=env)
    lines = done.stdout.splitlines()
    assert len(lines) == len(expected) and all(words in line for words, line in zip(expected, lines, strict=True)), (
        lines
    )


def test_what_a_flag_names_is_not_spoken_of(nodelint: Run, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(nodepool(), encoding="utf-8")
    (tmp_path / "main.tf").write_text(TERRAFORM.format(karpenter="1.8.1", kubernetes="1.29"), encoding="utf-8")
    flags = ("--karpenter-version", "1.3", "--kubernetes-version", "1.28")
    assert "out-of-support" not in nodelint("check", *flags).stdout
    assert nodelint("check").stdout.count("out-of-support]") == 2


def test_a_release_before_the_known_ones_is_not_held_to_a_kubernetes(nodelint: Run, tmp_path: Path) -> None:
    kind = "apiVersion: karpenter.sh/v1alpha5\nkind: Provisioner\n"
    provisioner = f"{kind}metadata: {{name: default}}\nspec: {{providerRef: {{name: a}}}}\n"
    (tmp_path / "a.yaml").write_text(provisioner, encoding="utf-8")
    (tmp_path / "main.tf").write_text(TERRAFORM.format(karpenter="0.16.3", kubernetes="1.22"), encoding="utf-8")
    assert "unsupported-kubernetes" not in nodelint("check").stdout
