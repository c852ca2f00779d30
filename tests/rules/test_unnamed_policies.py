"""A policy of the controller is read if it has Karpenter's name with a capital only, or not at all."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.repositories import write_files
from tests.rules.test_controller_policy import CLASS, Statements, as_jsonencode, as_template, policy

Run = Callable[..., CompletedProcess[str]]


def as_named_json(statements: Statements) -> str:
    return json.dumps({"Id": "Karpenter", "Statement": list(statements)})


FORMS: dict[str, Callable[[Statements], dict[str, str]]] = {
    "json": lambda s: {"iam/policy.json": as_named_json(s)},
    "json without the name": lambda s: {"iam/policy.json": json.dumps({"Statement": list(s)})},
    "cloudformation": lambda s: {"iam/stack.yaml": as_template(s).replace("of karpenter", "of nodes")},
    "cloudformation without the name": lambda s: {
        "iam/stack.yaml": as_template(s).replace("of karpenter", "of nodes").replace("Karpenter", "")
    },
    "terraform": lambda s: {"iam/main.tf": as_jsonencode(s).replace("karpenter", "Karpenter")},
}


def find(nodelint: Run, folder: Path, files: dict[str, str], rule: str = "controller-permissions") -> list[str]:
    write_files(folder, {".git/HEAD": "ref: refs/heads/main\n", "class.yaml": CLASS, **files})
    flags = ("--select", rule, "--karpenter-version", "1.14.1")
    done = nodelint("check", str(folder), "--format", "json", *flags)
    return [found["message"] for found in json.loads(done.stdout)["findings"]]


@pytest.mark.parametrize("form", FORMS)
def test_a_policy_that_does_not_name_karpenter_in_small_letters(nodelint: Run, tmp_path: Path, form: str) -> None:
    make = FORMS[form]
    assert find(nodelint, tmp_path / "twin", make(policy())) == []
    for action in ("eks:DescribeCluster", "iam:TagInstanceProfile"):
        found = find(nodelint, tmp_path / action.partition(":")[0], make(policy(action)))
        assert [text.partition(":")[0] for text in found] == [f"no policy grants `{action.partition(':')[0]}"]


def test_a_policy_that_is_searched_apart_from_other_files(nodelint: Run, tmp_path: Path) -> None:
    text = as_named_json(policy("eks:DescribeCluster"))
    files = {"policy.json": text + " " * 9000, "class.yaml": f"{CLASS}# {'-' * 9000}\n"}
    assert len(find(nodelint, tmp_path, files)) == 1


def test_a_policy_of_another_tool(nodelint: Run, tmp_path: Path) -> None:
    others = policy("pricing:GetProducts")
    assert find(nodelint, tmp_path / "named", {"runner.json": as_named_json(others)}) != []
    assert find(nodelint, tmp_path / "other", {"runner.json": json.dumps({"Statement": list(others)})}) == []


def test_a_role_that_a_policy_without_the_name_may_not_pass(nodelint: Run, tmp_path: Path) -> None:
    for name, count in (("nodes", 1), ("KarpenterNodeRole-main", 0)):
        text = json.dumps({"Statement": list(policy())}).replace("role/nodes", f"role/{name}")
        assert len(find(nodelint, tmp_path / name, {"policy.json": text}, "passed-role")) == count


@pytest.mark.parametrize("ending", ["json", "yaml"])
def test_a_part_of_the_policy_in_another_file(nodelint: Run, tmp_path: Path, ending: str) -> None:
    launching, rest = policy()[:2], policy()[2:]
    other = as_template(rest).replace("arpenter", "x") if ending == "yaml" else json.dumps({"Statement": list(rest)})
    files = {"iam/launch.json": as_named_json([*launching, *policy()[6:7]]), f"iam/rest.{ending}": other}
    assert find(nodelint, tmp_path / "beside", files) == []
    files[f"other/rest.{ending}"] = files.pop(f"iam/rest.{ending}")
    assert find(nodelint, tmp_path / "elsewhere", files) != []
