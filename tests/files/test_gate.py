"""What a repository names is opened below its root alone: nothing outside of it and nothing of git's own gets out."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from nodelint.files import gate as gate_module
from nodelint.files.gate import OF_GIT, OUTSIDE, Gate
from tests import hostile_trees
from tests.manifests import nodeclass, nodepool
from tests.repositories import write_files

ROOT = Path(__file__).parents[2]
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What the commands print over the tricks, and which paths they open outside of the repository."""
    folder = tmp_path_factory.mktemp("tricks")
    hostile_trees.write(folder)
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(("AWS_", "NODELINT_"))}
    environment = {**inherited, "NODELINT_CACHE_DIR": str(folder / "cache"), "COLUMNS": "400"}
    environment[hostile_trees.VARIABLE] = hostile_trees.WORD
    child = [sys.executable, "-m", "tests.hostile_trees", str(folder)]
    done = subprocess.run(child, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    return done.stdout + done.stderr


@pytest.mark.slow
def test_nothing_outside_of_the_repository_is_opened_or_printed(watched: str) -> None:
    ran = re.findall(r"^RAN (.*): (\d+)$", watched, re.MULTILINE)
    assert len(ran) == len(hostile_trees.COMMANDS)
    assert {int(code) for _, code in ran} <= {0, 1, 2}, ran
    assert "Traceback" not in watched
    assert [line for line in watched.splitlines() if hostile_trees.WORD in line] == []
    assert [line for line in watched.splitlines() if line.startswith("OPENED")] == []


@pytest.mark.slow
def test_nothing_is_started_and_nobody_is_asked(watched: str) -> None:
    assert [line for line in watched.splitlines() if line.startswith("STARTED")] == []


@pytest.mark.parametrize(
    "place",
    [
        *(
            f"{way}/k-{name}/kustomization.yaml:2"
            for way in ("up", "whole", "link")
            for name in ("component", "patch")
        ),
        "up/k-files/kustomization.yaml:4",
        "past/k-files/kustomization.yaml:4",
        "linked-twice/k-files/kustomization.yaml:4",
        "another/k-files/kustomization.yaml:4",
        "up/t-file/main.tf:6",
        "whole/t-decode/main.tf:6",
        "up/t-fileset-up/main.tf:6",
        "up/t-template/main.tf:10",
        "up/t-manifest/main.tf:10",
        "up/t-documents/main.tf:10",
        "up/t-module/main.tf:10",
        "up/t-release/main.tf:4",
        "link/t-include/live/terragrunt.hcl:1",
        "up/t-read/live/terragrunt.hcl:1",
        "up/c-argo/app.yaml:8",
        "up/c-flux/app.yaml:5",
        "up/c-flux-path/app.yaml:6",
        "up/c-helmfile/helmfile.yaml:2",
    ],
)
def test_what_leads_out_is_a_gap_with_its_place(place: str, watched: str) -> None:
    assert re.search(rf"{re.escape(place)}\b.* is {OUTSIDE}", watched)


@pytest.mark.parametrize("place", ["odd/git-files-0/kustomization.yaml:4", "odd/git-file-0/main.tf:6"])
def test_what_is_of_git_is_a_gap_with_its_place(place: str, watched: str) -> None:
    assert re.search(rf"{re.escape(place)}\b.* is {OF_GIT}", watched)


# -- the gate itself


def test_the_root_is_the_repository_of_what_is_named_else_the_folder(tmp_path: Path) -> None:
    write_files(
        tmp_path, {"a/.git/HEAD": "", "a/b/pool.yaml": "x", "a/top.yaml": "y", "c/d/pool.yaml": "z", "c/e": ""}
    )
    gate = Gate()
    gate.admit(str(tmp_path / "a" / "b" / "pool.yaml"))
    gate.admit(str(tmp_path / "c" / "d"))
    assert gate.read(str(tmp_path / "a" / "top.yaml")) == b"y"
    assert gate.read(str(tmp_path / "c" / "d" / "pool.yaml")) == b"z"
    assert gate.refusal(str(tmp_path / "c" / "e")) == OUTSIDE
    assert gate.refusal(str(tmp_path / "a" / ".git" / "HEAD")) == OF_GIT
    assert gate.names(str(tmp_path / "a")) == ["b", "top.yaml"]
    assert [folder for folder, _, _ in gate.walk(str(tmp_path / "a"))] == [str(tmp_path / "a"), str(tmp_path / "a/b")]


def test_the_data_of_a_repository_is_closed_where_a_file_names_it(tmp_path: Path) -> None:
    write_files(tmp_path, {".git": "gitdir: ./.bare\n", ".bare/config": "token", "sub/.git": "gitdir: ../x\n"})
    gate = Gate(str(tmp_path))
    assert gate.refusal(str(tmp_path / ".bare" / "config")) == OF_GIT
    for name in (".GIT", ".git ", ".git.", "GIT~1", ".g\u200cit", ".git::$INDEX_ALLOCATION"):
        assert gate.refusal(str(tmp_path / "sub" / name / "config")) == OF_GIT
    assert gate.refusal(str(tmp_path / ".github" / "config")) is None


@pytest.mark.parametrize("kind", ["link", "chain", "pipe", "large", "folder", "null"])
def test_only_files_of_limited_size_are_read(kind: str, tmp_path: Path) -> None:
    home = tmp_path / "home"
    write_files(tmp_path, {"secret": "s", "home/large": "12345", "home/folder/x": ""})
    (home / "link").symlink_to("../secret")
    (home / "chain").symlink_to("link")
    os.mkfifo(home / "pipe")
    with pytest.raises(OSError, match=r"outside|not a regular|larger|[Ii]s a directory|null"):
        Gate(str(home)).read(f"{home}/{chr(0) if kind == 'null' else kind}", 4)


def test_a_text_that_cannot_be_read_is_none(tmp_path: Path) -> None:
    write_files(tmp_path, {"outside": "a", "home/long": "12345", "home/empty": ""})
    (tmp_path / "home" / "binary").write_bytes(b"a\xff")
    gate = Gate(str(tmp_path / "home"))
    names = ("binary", "empty", "long", "missing", "../outside")
    texts = [gate.load_text(str(tmp_path / "home" / name), 4) for name in names]
    assert texts == ["a\ufffd", "", None, None, None]


@pytest.mark.parametrize("walks", [True, False])
def test_a_folder_that_becomes_a_link_meanwhile_is_not_followed(
    walks: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_files(tmp_path, {"out/x": "secret", "home/a/x": "own"})
    monkeypatch.setattr(gate_module, "_HAS_WALK", walks and gate_module._HAS_WALK)
    gate = Gate(str(tmp_path / "home"))
    assert gate.read(str(tmp_path / "home" / "a" / "x")) == b"own", "the folder is known from now on"
    (tmp_path / "home" / "a").rename(tmp_path / "home" / "b")
    (tmp_path / "home" / "a").symlink_to("../out")
    with pytest.raises(OSError, match=r".+"):
        gate.read(str(tmp_path / "home" / "a" / "x"))
    with pytest.raises(OSError, match=r".+"):
        gate.entries(str(tmp_path / "home" / "a"))


# -- who may open files

_OWN = "nodelint's own files"
_NAMED = "what the command line names"
ALLOWED = {
    "files/gate.py": "the gate",
    "commands/_missing_paths.py": _NAMED,
    "files/safe_read.py": _NAMED,
    "files/folders.py": "the folders that the command line names",
    "files/contents.py": "the files of these folders",
    "files/atomic_write.py": "what is written",
    "files/example_folder.py": "what is written of an example, in a folder of its own",
    "files/git/git_revision.py": "what is written of a revision, in a folder of its own",
    "commands/__init__.py": "where the output of a run goes whose reader has gone",
    "commands/_live.py": _NAMED,
    "commands/triage.py": _NAMED,
    "commands/_dumps.py": _NAMED,
    "commands/_watch.py": "names and times of files, and no content",
    "lint/workers.py": "a pipe, and the limit of processors",
    "rule/definition.py": "rules, which are code and allowed as such",
    "lsp/project.py": "the times of files of the configuration",
    **dict.fromkeys(
        (
            *(
                "__main__.py",
                "cli.py",
                "data/__init__.py",
                "model/validity.py",
                "model/ranges.py",
                "apiserver/schema_node.py",
            ),
            *("ec2/cache.py", "ec2/catalog.py", "ec2/api_names.py", "rule/examples.py", "upgrade/findings.py"),
            *("rule/severities.py", "commands/_shell_completion.py", "commands/_hook.py", "mcp/tools.py"),
        ),
        _OWN,
    ),
}
_OPENING = {
    "open",
    "read_text",
    "read_bytes",
    "scandir",
    "listdir",
    "walk",
    "fwalk",
    "iterdir",
    "glob",
    "iglob",
    "rglob",
}
_CAREFUL = ("read", "read_in_place")
"""Of `safe_read`, which reads any place: for what the command line names, the user's own files, and git's."""
MAY_READ_ANYWHERE = {
    *("files/gate.py", "files/gitignore.py", "files/git_index.py", "files/git/repository.py"),
    *("ec2/cache.py", "config/file.py", "model/validity.py"),
}


def _opened(tree: ast.AST) -> Iterator[str]:
    """The names of functions of the standard library that open or list, as they are called."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        if isinstance(node.func, ast.Name) and node.func.id == "open":
            yield "open"
        elif isinstance(node.func, ast.Attribute) and node.func.attr in _OPENING:
            of = node.func.value
            if isinstance(of, ast.Name) and of.id in ("os", "io", "glob", "gzip", "codecs", "Path", "path", "file"):
                yield f"{of.id}.{node.func.attr}"
            elif node.func.attr in ("read_text", "read_bytes", "iterdir", "rglob", "scandir", "listdir"):
                yield node.func.attr


def _imported(tree: ast.AST) -> set[str]:
    """What a module takes of `safe_read` that reads."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "nodelint.files.safe_read":
            found |= {alias.name for alias in node.names} & set(_CAREFUL)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "safe_read":
            found |= {node.attr} & set(_CAREFUL)
    return found


@pytest.mark.slow
def test_only_the_gate_opens_what_a_repository_names() -> None:
    opening, reading = set(), set()
    for path in sorted((ROOT / "nodelint").rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        name = path.relative_to(ROOT / "nodelint").as_posix()
        opening |= {name} if any(_opened(tree)) else set()
        reading |= {name} if _imported(tree) else set()
    assert opening == set(ALLOWED)
    assert reading == MAY_READ_ANYWHERE
    for path in sorted((ROOT / "rules").glob("*.py")):
        assert not list(_opened(ast.parse(path.read_text(encoding="utf-8")))), path


# -- code that a configuration names

RULE = 'raise ImportError("CODE OF THE REPOSITORY")\n'


@pytest.mark.parametrize(
    ("arguments", "runs"),
    [
        ((), False),
        (("--config", "nodelint.yaml"), False),
        (("--config", "linked.yaml"), False),
        (("--rules", "rules"), True),
        (("--repository-rules",), True),
        (("--rules", "rules", "--no-repository-rules"), False),
        (("--rules", "linked", "--no-repository-rules"), False),
        (("--config", "../own/nodelint.yaml"), True),
        (("--config", "../own/nodelint.yaml", "--no-repository-rules"), True),
        (("--config", "../own/nodelint.yaml", "--rules", "rules", "--no-repository-rules"), False),
    ],
)
def test_rules_of_the_repository_run_only_by_a_flag(
    arguments: tuple[str, ...], runs: bool, tmp_path: Path, nodelint: Run
) -> None:
    config = {"nodelint.yaml": "rules: [rules]\n", "rules/demo.py": RULE}
    write_files(tmp_path, {f"{home}/{path}": text for home in ("own", "tested") for path, text in config.items()})
    write_files(tmp_path / "tested", {".git/HEAD": "", "pool.yaml": hostile_trees.POOL})
    (tmp_path / "tested" / "linked.yaml").symlink_to("../own/nodelint.yaml")
    (tmp_path / "tested" / "linked").symlink_to("../own/rules")
    done = nodelint("check", *arguments, ".", cwd=tmp_path / "tested")
    assert ("CODE OF THE REPOSITORY" in done.stdout + done.stderr) is runs
    if not runs:
        assert done.returncode == 2
        assert "rules are code" in done.stderr or "--no-repository-rules refuses" in done.stderr


def test_an_overlay_of_other_objects_that_leads_out_may_hold_pools(nodelint: Run, here: Path) -> None:
    files = {
        "nodes/kustomization.yaml": "resources: [pool.yaml]\n",
        "nodes/pool.yaml": nodepool() + f"---\n{nodeclass()}",
        "app/kustomization.yaml": "resources:\n  - config.yaml\n  - ../../outside/pool.yaml\n",
        "app/config.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
    }
    write_files(here, files)
    write_files(here.parent / "outside", {"pool.yaml": nodepool()})
    printed = nodelint("check", cwd=here).stdout
    assert f"app/kustomization.yaml:3: `../../outside/pool.yaml` is {OUTSIDE}" in printed
    assert "All good" not in printed
