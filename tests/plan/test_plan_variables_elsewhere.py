"""A file of variables with which no root module is rendered is no all-clear if it may give a pool a value."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.repositories import write_files

Run = Callable[..., CompletedProcess[str]]

POOL = """\
resource "kubectl_manifest" "pool" {
  yaml_body = yamlencode({
    apiVersion = "karpenter.sh/v1"
    kind       = "NodePool"
    metadata   = { name = "web" }
    spec = {
      template = { spec = {
        nodeClassRef = { group = "karpenter.k8s.aws", kind = "EC2NodeClass", name = "web" }
        requirements = [{
          key = "karpenter.k8s.aws/instance-family", operator = "In", values = var.families
        }]
      } }
      limits = { cpu = var.cpu }
    }
  })
}
"""
VARIABLES = """\
variable "families" {
  default = ["m6i", "c6i"]
}
variable "cpu" {
  default = "100"
}
"""
TREE = {"infra/main.tf": POOL, "infra/variables.tf": VARIABLES}
CALLED = {
    "infra/main.tf": 'module "nodes" {\n  source = "../nodes"\n  families = var.of_nodes\n}\n'
    'variable "of_nodes" {\n  default = ["m6i"]\n}\n',
    "nodes/main.tf": POOL,
    "nodes/variables.tf": VARIABLES,
}
NETWORK = {"net/main.tf": 'variable "families" {}\noutput "x" {\n  value = var.families\n}\n'}
OTHERS = 'vpc_cidr = "10.0.0.0/16"\nbackup = true\nsize = 5\n'


def run_plan(
    nodelint: Run, tmp_path: Path, tree: dict[str, str], place: str, texts: tuple[str, str]
) -> CompletedProcess[str]:
    for side, text in zip(("before", "after"), texts, strict=True):
        write_files(tmp_path / side, {**tree, place: text})
    return nodelint("plan", "--old", "before", "after", cwd=tmp_path)


@pytest.mark.parametrize(
    ("tree", "place", "name"),
    [
        (TREE, "infra/envs/prod.tfvars", "families"),
        (TREE, "envs/prod.eu/nodes.tfvars", "families"),
        (CALLED, "infra/envs/prod.tfvars", "of_nodes"),
    ],
)
def test_a_variable_of_a_pool_changes_in_a_file_of_many_others(
    tree: dict[str, str], place: str, name: str, nodelint: Run, tmp_path: Path
) -> None:
    texts = f'{OTHERS}{name} = ["m6i"]\n', f'{OTHERS}{name} = ["m5"]\n'
    run = run_plan(nodelint, tmp_path, tree, place, texts)
    assert run.returncode == 1
    assert f"`{name}` changes in `{place}`" in " ".join(run.stdout.split())


@pytest.mark.parametrize(
    ("tree", "place", "old", "new"),
    [
        (TREE, "infra/envs/prod.tfvars", "size = 5", "size = 6"),
        (TREE, "infra/envs/prod.tfvars", 'cpu = "1"', 'cpu = "2"'),
        (CALLED, "infra/envs/prod.tfvars", 'families = ["m6i"]', 'families = ["m5"]'),
        ({**TREE, **NETWORK}, "net/envs/prod.tfvars", 'families = ["m6i"]', 'families = ["m5"]'),
    ],
)
def test_a_file_that_gives_a_pool_no_such_value_is_an_all_clear(
    tree: dict[str, str], place: str, old: str, new: str, nodelint: Run, tmp_path: Path
) -> None:
    run = run_plan(nodelint, tmp_path, tree, place, (f"{OTHERS}{old}\n", f"{OTHERS}{new}\n"))
    assert run.returncode == 0, run.stdout
    assert "No node is replaced" in run.stdout
