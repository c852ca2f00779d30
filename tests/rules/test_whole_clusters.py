"""Repositories that create the whole cluster and install the chart: what is missing around Karpenter is found."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.rules.test_around_repositories import APPLICATION, CHART, CLUSTER, IRSA, MODULE, check

Run = Callable[..., CompletedProcess[str]]

INSTALLED = CHART.replace("QUEUE", '"main"')
ROLE = """\
resource "aws_iam_role" "nodes" {
  name               = "KarpenterNodeRole-main"
  assume_role_policy = jsonencode({
    Statement = [{ Effect = "Allow", Action = "sts:AssumeRole", Principal = { Service = "ec2.amazonaws.com" } }]
  })
}
"""
ASSOCIATION = 'resource "aws_eks_pod_identity_association" "karpenter" {\n  service_account = "karpenter"\n}\n'
ON_NODES = 'resource "aws_iam_policy" "a" {\n  policy = jsonencode({ Action = ["ec2:CreateFleet"] })\n}\n'
FROM_FILE = 'resource "aws_iam_policy" "a" {\n  policy = file("${path.module}/policy.json")\n}\n'


class TestNoRoleOfTheController:
    @pytest.mark.parametrize(
        ("more", "count"),
        [
            ("", 1),
            (ROLE, 1),
            (MODULE, 0),
            (IRSA, 0),
            (ASSOCIATION, 0),
            (ON_NODES, 0),
            (FROM_FILE, 0),
            ('module "irsa" {\n  source = "example/irsa/aws"\n}\n', 0),
            ('module "pods" {\n  source = "terraform-aws-modules/eks-pod-identity/aws"\n}\n', 0),
            ('module "b" {\n  source = "aws-ia/eks-blueprints-addons/aws"\n  enable_karpenter = true\n}\n', 0),
            (CLUSTER.replace('"eks"', '"second"').replace('"vpc"', '"other"'), 0),
        ],
    )
    def test_in_terraform(self, nodelint: Run, tmp_path: Path, more: str, count: int) -> None:
        found = check(
            nodelint, tmp_path, {"main.tf": CLUSTER + INSTALLED + more}, "controller-without-credentials"
        )
        assert sum("gives it no role" in message for message in found) == count

    @pytest.mark.parametrize(
        ("values", "count"),
        [
            ("settings", 1),
            ('serviceAccount = { name = "karpenter" }, settings', 1),
            ("serviceAccount = { create = false }, settings", 0),
            ('serviceAccount = { annotations = { "eks.amazonaws.com/role-arn" = "a" } }, settings', 0),
            ('controller = { env = [{ name = "AWS_PROFILE", value = "a" }] }, settings', 0),
        ],
    )
    def test_values_that_may_give_credentials(
        self, nodelint: Run, tmp_path: Path, values: str, count: int
    ) -> None:
        text = CLUSTER + INSTALLED.replace("settings", values, 1)
        found = check(nodelint, tmp_path, {"main.tf": text}, "controller-without-credentials")
        assert sum("gives it no role" in message for message in found) == count

    def test_a_chart_that_another_tool_installs_may_have_a_role_by_hand(self, nodelint: Run, tmp_path: Path) -> None:
        files = {".git/HEAD": "", "main.tf": CLUSTER, "app.yaml": APPLICATION}
        assert check(nodelint, tmp_path, files, "controller-without-credentials") == []
