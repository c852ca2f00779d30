"""A block of Terraform that comes to make no object, or begins to: `plan` says that the object goes, or is new."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from textwrap import indent
from typing import Any

import pytest

from tests.manifests import nodepool
from tests.repositories import write_files

Run = Callable[..., subprocess.CompletedProcess[str]]

RESOURCE = 'resource "kubectl_manifest" "pool" {{\n  {}\n  yaml_body = <<-YAML\n{}  YAML\n}}\n'
CALL = 'module "pools" {{\n  source = "./pools"\n  {}\n}}\n'
VARIABLE = 'variable "on" {{\n  default = {}\n}}\n'


def pool(meta: str, name: str = "default") -> str:
    return RESOURCE.format(
        meta,
        indent(
            nodepool("key: kubernetes.io/arch, operator: In, values: [amd64]").replace(
                "name: default", f"name: {name}", 1
            ),
            "    ",
        ),
    )


# by name: the files where the pool is made, and where it is not
SWITCHES: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "a count": ({"main.tf": pool("count = 1")}, {"main.tf": pool("count = 0")}),
    "no count, then one": ({"main.tf": pool("")}, {"main.tf": pool("count = 0")}),
    "a variable": (
        {"main.tf": pool("count = var.on ? 1 : 0"), "variables.tf": VARIABLE.format("true")},
        {"main.tf": pool("count = var.on ? 1 : 0"), "variables.tf": VARIABLE.format("false")},
    ),
    "an empty set": (
        {"main.tf": pool('for_each = toset(["default"])', "${each.key}")},
        {"main.tf": pool("for_each = toset([])", "${each.key}")},
    ),
    "a module": (
        {"main.tf": CALL.format("count = 1"), "pools/main.tf": pool("")},
        {"main.tf": CALL.format("count = 0"), "pools/main.tf": pool("")},
    ),
}

PLAIN = nodepool("key: kubernetes.io/arch, operator: In, values: [amd64]")
CHART = {
    "chart/Chart.yaml": "apiVersion: v2\nname: pools\nversion: 1.0.0\n",
    "chart/values.yaml": "arch: amd64\n",
    "chart/templates/pool.yaml": PLAIN.replace("amd64", "{{ .Values.arch }}"),
}


def read_by(call: str, meta: str, kind: str = "kubectl_manifest") -> str:
    return f'resource "{kind}" "pool" {{\n  {meta}\n  {call}\n}}\n'


def switched(
    call: str, files: dict[str, str], kind: str = "kubectl_manifest"
) -> tuple[dict[str, str], dict[str, str]]:
    """Files that a resource reads, with the resource switched on and off."""
    on, off = (files | {"main.tf": read_by(call, f"count = {count}", kind)} for count in (1, 0))
    return on, off


SWITCHES |= {
    "a file": switched('yaml_body = file("${path.module}/pool.yaml")', {"pool.yaml": PLAIN}),
    "a template": switched(
        'yaml_body = templatefile("${path.module}/pool.tftpl", { arch = "amd64" })',
        {"pool.tftpl": PLAIN.replace("[amd64]", '["${arch}"]')},
    ),
    "a file above": switched('manifest = yamldecode(file("pools/pool.yaml"))', {"pools/pool.yaml": PLAIN}),
    "a chart": switched('name = "pools"\n  chart = "./chart"', CHART, "helm_release"),
    "a module that reads a file": (
        {
            "main.tf": CALL.format("count = 1"),
            "pools/main.tf": read_by('yaml_body = file("${path.module}/pool.yaml")', ""),
            "pools/pool.yaml": PLAIN,
        },
        {
            "main.tf": CALL.format("count = 0"),
            "pools/main.tf": read_by('yaml_body = file("${path.module}/pool.yaml")', ""),
            "pools/pool.yaml": PLAIN,
        },
    ),
}


def test_of_two_resources_with_one_file_only_one_is_removed(nodelint: Run, tmp_path: Path) -> None:
    """Terraform destroys the object of the first resource, although another resource applies the same file."""
    on, off = SWITCHES["a file"]
    other = {"other.tf": read_by('yaml_body = file("pool.yaml")', "")}
    found = plan(nodelint, tmp_path, on | other, off | other)
    assert [entry["change"] for entry in found["nodePools"]] == ["removed", "unchanged"]


def plan(nodelint: Run, folder: Path, old: dict[str, str], new: dict[str, str]) -> dict[str, Any]:
    for side, files in (("old", old), ("new", new)):
        write_files(folder / side, files)
    done = nodelint("plan", "--old", "old", "new", "--format", "json", cwd=folder)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("name", SWITCHES)
@pytest.mark.parametrize("goes", [True, False])
def test_a_pool_that_is_switched_goes_or_comes(nodelint: Run, tmp_path: Path, name: str, goes: bool) -> None:
    made, none = SWITCHES[name]
    found = plan(nodelint, tmp_path, *((made, none) if goes else (none, made)))
    assert [entry["change"] for entry in found["nodePools"]] == ["removed" if goes else "added"]


def test_what_a_default_disables_on_both_sides_is_compared(nodelint: Run, tmp_path: Path) -> None:
    old = {"main.tf": pool("count = var.n"), "v.tf": 'variable "n" { default = 0 }\n'}
    new = {**old, "main.tf": old["main.tf"].replace("amd64", "arm64")}
    assert old != new
    found = plan(nodelint, tmp_path, old, new)
    assert [entry["change"] for entry in found["nodePools"]] == ["changed"]


POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: web, image: web}]}\n"


@pytest.mark.parametrize("command", ["explain", "hash"])
def test_other_commands_name_what_terraform_does_not_create(command: str, nodelint: Run, tmp_path: Path) -> None:
    for count in (0, 1):
        write_files(tmp_path, {"main.tf": pool(f"count = {count}")})
        notes = nodelint(command, ".", cwd=tmp_path).stderr
        message = "anyway: NodePool/default (main.tf:5): `count` is always 0 (main.tf:2)"
        assert (message in notes) == (not count), notes


@pytest.mark.parametrize("name", SWITCHES)
def test_no_pod_goes_to_a_pool_that_terraform_does_not_create(name: str, nodelint: Run, tmp_path: Path) -> None:
    for number, files in enumerate(SWITCHES[name]):
        folder = tmp_path / str(number)
        other = {"arm.yaml": nodepool("key: kubernetes.io/arch, operator: In, values: [arm64]", name="arm")}
        write_files(folder, files | other | {"pod.yaml": POD})
        done = nodelint("fit", ".", "--format", "json", cwd=folder)
        (web,) = json.loads(done.stdout)["workloads"]
        pools = [entry["name"] for entry in web["pools"]]
        assert len(pools) == (1 if number else 2) and "arm" in pools
        assert ("Not created by Terraform, left out: NodePool" in done.stderr) == bool(number)


def test_a_daemon_that_terraform_does_not_create_takes_no_room(nodelint: Run, tmp_path: Path) -> None:
    head = "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: d}\nspec: {template: {spec: {containers: "
    daemon = f"{head}[{{name: a, image: a, resources: {{requests: {{cpu: 5000}}}}}}]}}}}}}\n"
    for count in (0, 1):
        made = read_by('yaml_body = file("daemon.yaml")', f"count = {count}")
        write_files(tmp_path, {"main.tf": made, "daemon.yaml": daemon, "pool.yaml": PLAIN, "pod.yaml": POD})
        found = json.loads(nodelint("fit", ".", "--workload", "web", "--format", "json", cwd=tmp_path).stdout)
        assert found["workloads"][0]["possible"] == (not count)


def test_a_run_of_pools_that_terraform_does_not_create_has_none(nodelint: Run, tmp_path: Path) -> None:
    write_files(tmp_path, {"main.tf": pool("count = 0"), "pod.yaml": POD})
    done = nodelint("fit", ".", cwd=tmp_path)
    assert (done.returncode, "no NodePool that Terraform creates" in done.stderr) == (2, True)


def test_pods_lose_a_pool_that_is_switched_off(nodelint: Run, tmp_path: Path) -> None:
    old, new = (
        {
            "main.tf": pool(f"count = {count}"),
            "pod.yaml": POD,
            "arm.yaml": PLAIN.replace("amd64", "arm64").replace("name: default", "name: arm", 1),
        }
        for count in (1, 0)
    )
    (change,) = plan(nodelint, tmp_path, old, new)["workloads"]
    assert (change["kind"], change["name"]) == ("Pod", "web")


def test_an_unknown_count_is_no_switch(nodelint: Run, tmp_path: Path) -> None:
    old, new = {"main.tf": pool("count = 1")}, {"main.tf": pool("count = var.count")}
    assert [entry["change"] for entry in plan(nodelint, tmp_path, old, new)["nodePools"]] == ["unchanged"]


@pytest.mark.parametrize("name", SWITCHES)
def test_check_judges_what_is_switched_off_and_says_so(name: str, nodelint: Run, tmp_path: Path) -> None:
    for number, files in enumerate(SWITCHES[name]):
        folder = tmp_path / str(number)
        write_files(folder, {path: text.replace("amd64", "x86") for path, text in files.items()})
        report = json.loads(
            nodelint("check", ".", "--format", "json", "--ignore", "missing-provider", cwd=folder).stdout
        )
        assert [finding["rule"] for finding in report["findings"]] == ["unknown-value"], "either way"
        kinds = [entry["object"].partition("/")[0] for entry in report["coverage"]["switchedOff"]]
        assert kinds == (["NodePool"] if number else []), "its name may be that of an instance"
        reasons = [entry["reason"] for entry in report["coverage"]["switchedOff"]]
        assert all(
            re.fullmatch(r"`(count` is (always )?0|for_each` is (always )?empty) \(main\.tf:\d\)", reason)
            for reason in reasons
        )
        text = nodelint("check", ".", cwd=folder).stdout
        assert ("Not created by Terraform, judged anyway: NodePool" in text) == bool(number)
