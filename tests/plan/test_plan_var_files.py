"""A module below a root module with several variable files: each file decides about its own rendering."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.commands.test_cli import Run
from tests.plan.test_plan_inputs import POOL, class_of, heredoc
from tests.repositories import write_files

VARIABLES = 'variable "team" { type = string }\nvariable "cluster" { type = string }\n'
CALL = 'module "pools" {{\n  source = "{}"\n  team = var.team\n  cluster = var.cluster\n{}}}\n'
TEAM = '${sha256("${data.aws_caller_identity.me.id}-${var.team}")}'
CLASS = class_of(tags=f"\n    team: {TEAM}").replace("name: web", "name: ${var.cluster}", 1)
OBJECTS = heredoc("class", CLASS) + heredoc("pool", POOL.replace("name: web", "name: ${var.cluster}"))
ROOT = VARIABLES + CALL.format("../inner", "")
DEEP = VARIABLES + CALL.format("../middle", "")


@pytest.mark.parametrize("is_deep", [False, True])
@pytest.mark.parametrize(
    ("path", "edit", "pools"),
    [
        ("root/envs/prod.tfvars", ('"a"', '"b"'), {"prod"}),
        ("root/envs/dev.tfvars", ('"x"', '"y"'), {"dev"}),
        ("root/main.tf", ("team = var.team", 'team = "c"'), {"dev", "prod"}),
        ("root/envs/prod.tfvars", ("team", "other = 1\nteam"), set()),
    ],
)
def test_an_unknown_value_depends_on_the_variable_file(
    nodelint: Run, tmp_path: Path, is_deep: bool, path: str, edit: tuple[str, str], pools: set[str]
) -> None:
    files = {
        "root/main.tf": DEEP if is_deep else ROOT,
        "middle/main.tf": ROOT if is_deep else "# nothing\n",
        "inner/main.tf": VARIABLES + OBJECTS,
        "root/envs/prod.tfvars": 'team = "a"\ncluster = "prod"\n',
        "root/envs/dev.tfvars": 'team = "x"\ncluster = "dev"\n',
    }
    write_files(tmp_path / "old", files)
    write_files(tmp_path / "new", {**files, path: files[path].replace(*edit)})
    found = nodelint("plan", "--old", "old", "new", cwd=tmp_path)
    shown = {name for name in ("dev", "prod") if f"EC2NodeClass {name}:" in found.stdout}
    assert shown == pools, found.stdout
    assert ("No node is replaced" in found.stdout) == (not pools), found.stdout
    assert found.returncode == bool(pools)
