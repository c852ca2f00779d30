"""A class that gets its role from the module of the EKS addons: the chart of an addon does not decide about it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.commands.test_cli import Run
from tests.plan.test_plan_inputs import POOL, class_of, heredoc
from tests.repositories import write_files

ROLE = "module.addons.karpenter.{}"
MODULE = """\
module "addons" {{
  source  = "{source}"
  version = "~> 1.0"
  cluster_name     = "prod"
  enable_karpenter = true
  karpenter = {{
    chart_version = "1.9.0"
  }}
  karpenter_node = {{
    iam_role_name = "nodes"
  }}
  argocd = {{
    chart_version = "9.3.7"
  }}
}}
"""
PUBLIC = "aws-ia/eks-blueprints-addons/aws"


@pytest.mark.parametrize(
    ("source", "output", "edit", "code"),
    [
        (PUBLIC, "node_iam_role_name", ('"1.9.0"', '"1.9.1"'), 0),
        (PUBLIC, "node_instance_profile_name", ('"9.3.7"', '"9.4.0"'), 0),
        (PUBLIC, "node_iam_role_name", ('"nodes"', '"others"'), 1),
        (PUBLIC, "node_iam_role_name", ('"prod"', '"stage"'), 1),
        (PUBLIC, "node_iam_role_name", ("enable_karpenter = true", "enable_karpenter = false"), 1),
        (PUBLIC, "node_iam_role_name", ('"~> 1.0"', '"~> 2.0"'), 1),
        (PUBLIC, "iam_role_name", ('"1.9.0"', '"1.9.1"'), 1),
        ("acme/addons/aws", "node_iam_role_name", ('"1.9.0"', '"1.9.1"'), 1),
    ],
)
def test_what_decides_about_an_output(
    nodelint: Run, tmp_path: Path, source: str, output: str, edit: tuple[str, str], code: int
) -> None:
    made = class_of().replace("role: nodes", f"role: ${{{ROLE.format(output)}}}")
    text = heredoc("class", made) + heredoc("pool", POOL)
    module = MODULE.format(source=source)
    write_files(tmp_path / "old", {"main.tf": text + module})
    write_files(tmp_path / "new", {"main.tf": text + module.replace(*edit)})
    found = nodelint("plan", "--old", "old", "new", cwd=tmp_path)
    assert ("No node is replaced" in found.stdout) == (code == 0), found.stdout
    assert found.returncode == code
