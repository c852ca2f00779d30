"""A plan names the input that changes, not the text around the value that depends on it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.commands.test_cli import Run
from tests.plan.test_plan_inputs import POOL, class_of
from tests.repositories import write_files

SIZE = '\n  blockDeviceMappings:\n  - deviceName: /dev/xvda\n    ebs: {volumeSize: "${size}"}'
TEMPLATES = {
    "module/class.tftpl": class_of().rstrip("\n").replace("name: web", "name: ${name}", 1) + SIZE + "\n",
    "module/pool.tftpl": POOL.replace("name: web", "name: ${name}"),
}
FILES = {
    "root/main.tf": 'variable "name" {}\nvariable "gi" { default = 50 }\n'
    'module "pools" {\n  source = "../module"\n  name = var.name\n  gi = var.gi\n}\n',
    "root/envs/prod.tfvars": 'name = "prod"\n',
    "root/envs/dev.tfvars": 'name = "dev"\n',
    "module/main.tf": 'variable "name" {}\nvariable "gi" {}\n'
    'resource "kubectl_manifest" "class" {\n'
    '  yaml_body = templatefile("${path.module}/class.tftpl", { name = var.name, size = "${var.gi}Gi" })\n}\n'
    'resource "kubectl_manifest" "pool" {\n'
    '  yaml_body = templatefile("${path.module}/pool.tftpl", { name = var.name })\n}\n',
    **TEMPLATES,
}


@pytest.mark.parametrize(
    ("edits", "places"),
    [
        ({"root/envs/prod.tfvars": ('prod"\n', 'prod"\ngi = 90\n')}, {"root/envs/prod.tfvars:2"}),
        (
            {
                "root/envs/prod.tfvars": ('prod"\n', 'prod"\ngi = 90\n'),
                "root/envs/dev.tfvars": ('dev"\n', 'dev"\n# smaller\ngi = 40\n'),
            },
            {"root/envs/prod.tfvars:2", "root/envs/dev.tfvars:3"},
        ),
        ({"root/main.tf": ("default = 50", "default = 60")}, {"root/main.tf:2"}),
        ({"module/main.tf": ("${var.gi}Gi", "${var.gi}G")}, {"module/main.tf:4"}),
        (
            {"module/class.tftpl": ("${size}", "70Gi")},
            {"module/class.tftpl"},
        ),
    ],
)
def test_the_place_of_a_reason_is_the_line_that_changes(
    nodelint: Run, tmp_path: Path, edits: dict[str, tuple[str, str]], places: set[str]
) -> None:
    write_files(tmp_path / "old", FILES)
    changed = {path: FILES[path].replace(*edit) for path, edit in edits.items()}
    assert all(FILES[path] != text for path, text in changed.items())
    write_files(tmp_path / "new", {**FILES, **changed})
    shown = nodelint("plan", "--old", "old", "new", "--format", "markdown", cwd=tmp_path).stdout
    assert all(f"new/{place}" in shown for place in places), shown
    assert ("class.tftpl" in shown) == ("module/class.tftpl" in edits), shown
