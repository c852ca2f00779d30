"""What a command answers if it is called in a way that cannot give what the user wants."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.manifests import nodeclass, nodepool

Run = Callable[..., subprocess.CompletedProcess[str]]

TREE = {
    "a/pool.yaml": f"{nodepool()}---\n{nodeclass()}",
    "b/pool.yaml": f"{nodepool()}---\n{nodeclass()}",
    "prod.tfvars": 'region = "eu-west-1"\n',
    "README.md": "# Pools\n",
    ".git/HEAD": "ref: refs/heads/main\n",
}


def put(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "code", "answer"),
    [
        (
            ["plan", "--old", "a"],
            None,
            "--old a is compared with this folder; to compare another one: `nodelint plan",
        ),
        (["plan", "--from", "main"], 2, "No such option '--from'; write `--against`"),
        (["clean", "--all"], 2, "No such option '--all'; everything is included without an option"),
        (["rule", "--list"], 2, "No such option '--list'; `nodelint rule` without a name lists the rules"),
        (["baseline", "--update"], 2, "No such option '--update'; `nodelint baseline` writes the baseline again"),
        (["check", "--min-severity", "error"], 2, "No such option '--min-severity'; write `--fail-on`"),
        (["check", "https://a.b/c.yaml"], 2, "nodelint: https://a.b/c.yaml: nodelint reads no addresses: `curl"),
        (["check", "a", "-f", "prod.tfvars"], 2, "name a file of Terraform's as a path, next to its module"),
        (
            ["check", "a", "--baseline", "README.md"],
            2,
            "line 1 is not JSON (expecting value); `nodelint baseline` wr",
        ),
        (["check", "a", "--crds", "README.md"], 2, "`kubectl get crd nodepools.karpenter.sh ec2nodeclasses.karpente"),
        (["fit", "pod/web", "a"], 2, "an object is named by an option: `nodelint fit --workload pod/web`"),
        (["check", "--only", "no-limits"], 2, "write `--select`"),
        (["check", "--suggestion", "a/pool.yaml:3"], 2, "write `--apply`"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_wrong_use_is_answered_by_what_to_do(
    nodelint: Run, tmp_path: Path, arguments: Sequence[str], code: int | None, answer: str
) -> None:
    put(tmp_path, TREE)
    done = nodelint(*arguments)
    assert answer in done.stderr
    assert code is None or done.returncode == code


def test_two_folders_of_a_plan_are_not_compared_with_each_other(nodelint: Run, tmp_path: Path) -> None:
    put(tmp_path, TREE)
    for command in (
        ["init", "-q"],
        ["add", "."],
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "1"],
    ):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    hint = "each folder is compared with its state in git; to compare the first with the second"
    assert f"{hint}: `nodelint plan --old a b`" in nodelint("plan", "a", "b").stderr
    assert hint not in nodelint("plan", "--against", "HEAD", "a", "b").stderr
    assert hint not in nodelint("plan", "a/pool.yaml", "b/pool.yaml").stderr


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("karpenter: [\n", "values.yaml:2:1: error[yaml-syntax]: expected a value here"),
        ("karpenter:\n  a: b\n c: d\n", "values.yaml:3:2: error[yaml-syntax]: `c` begins in column 2"),
        ("karpenter: {}\n", ""),
    ],
)
def test_a_named_file_that_is_no_yaml_is_an_error(nodelint: Run, tmp_path: Path, text: str, place: str) -> None:
    put(tmp_path, {"values.yaml": text})
    done = nodelint("check", "values.yaml", "--format", "concise")
    assert done.returncode == (1 if place else 0)
    assert place in done.stdout
    assert nodelint("check", ".").returncode == 0  # another tool's file, which nobody asked about


CONFIG = """\
exclude: ["c/**", "node_modules/", "aa/**"]
per-path-ignores:
  "aa/pool.yaml": [no-limits]
  "nowhere/**": [no-limits]
  "**/pool.yaml": [no-limits]
  "a/*.yaml": [no-limits]
"""


def test_a_glob_of_the_configuration_that_matches_nothing_is_reported_with_its_line(
    nodelint: Run, tmp_path: Path
) -> None:
    put(tmp_path, {**TREE, "nodelint.yaml": CONFIG, "aab/pool.yaml": nodepool()})
    message = nodelint("check", "a").stderr
    pattern = "the pattern matches nothing"
    ignores = "`per-path-ignores` names"
    meant = "there is no `aa` (did you mean `aab`?)"
    assert f"nodelint.yaml:3:3: {ignores} `aa/pool.yaml`, but {meant}: {pattern}" in message
    assert f"nodelint.yaml:4:3: {ignores} `nowhere/**`, but there is no `nowhere`: {pattern}" in message
    assert f"nodelint.yaml:1:36: `exclude` names `aa/**`, but {meant}: {pattern}" in message
    assert message.count(pattern) == 3
    assert pattern not in nodelint("check", "a", "--config", "nodelint.yaml").stderr


def test_an_excluded_path_says_so_and_how_to_read_it(nodelint: Run, tmp_path: Path) -> None:
    put(tmp_path, {**TREE, "nodelint.yaml": "exclude: [a/**]\n"})
    way = "is not read: `a/**` (nodelint.yaml:1:11) excludes it; to read it, add `--exclude ''`"
    for paths in (["a"], ["a/pool.yaml"], ["a", "b"]):
        assert f"nodelint: {paths[0]} {way}" in nodelint("check", *paths).stderr
    assert way not in nodelint("check", "a/pool.yaml", "b/pool.yaml").stderr  # a hook names every changed file
    assert "2 objects in 1 file" in nodelint("check", "a", "--exclude", "").stdout
