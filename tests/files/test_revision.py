"""Git as `plan` runs it: no program of the repository under test starts, and real repositories are read."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.plan.test_plan import CLASS, POOL
from tests.plan.test_plan_command import git, put
from tests.project.test_action import step

Run = Callable[..., CompletedProcess[str]]

GITS = os.environ.get("NODELINT_GITS", "").split(os.pathsep)
"""Folders with a git of another version each; without them, the one on the path."""

# What runs where git reads this file: by fetching what is missing, by looking at the index, by a hook, by a filter.
CONFIG = """\
[core]
    repositoryformatversion = 1
    bare = {bare}
    {worktree}
    fsmonitor = {program}
    hooksPath = {hooks}
    sshCommand = {program}
    pager = {program}
    editor = {program}
    alternateRefsCommand = {program}
    gitProxy = {program}
    askPass = {program}
[extensions]
    partialClone = origin
[protocol]
    allow = always
[protocol "file"]
    allow = always
[protocol "ext"]
    allow = always
[remote "origin"]
    url = {url}
    promisor = true
    fetch = +refs/heads/*:refs/remotes/origin/*
    uploadpack = {program}
    receivepack = {program}
[diff]
    external = {program}
[filter "x"]
    clean = {program}
    smudge = {program}
    process = {program}
[credential]
    helper = !{program}
"""


@pytest.fixture(params=GITS)
def own_git(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The version of git that is first on the path."""
    if request.param:
        monkeypatch.setenv("PATH", f"{request.param}{os.pathsep}{os.environ['PATH']}")
    return subprocess.run(["git", "version"], capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    put(folder / "clusters" / "prod" / "pool.yaml", POOL)
    put(folder / "clusters" / "prod" / "class.yaml", CLASS)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "first")
    return folder


@pytest.fixture
def witness(tmp_path: Path) -> tuple[Path, Path]:
    """A program, and the file that it makes when it runs."""
    program, made = tmp_path / "run-me", tmp_path / "it-ran"
    program.write_text(f'#!/bin/sh\necho "$0" "$@" >>"{made}"\nexit 1\n', encoding="utf-8")
    program.chmod(0o755)
    return program, made


def bare(folder: Path, program: Path, url: str, bare: str = "false") -> None:
    """Make a repository of a folder's own files, as a pull request can bring it, whose commit's tree is missing."""
    made = folder.parent / "made"
    put(made / "a.yaml", "a: 1\n")
    git(made, "init", "-q", "-b", "main")
    git(made, "add", ".")
    git(made, "commit", "-qm", "first")
    tree = git(made, "rev-parse", "HEAD^{tree}").strip()
    (made / ".git" / "objects" / tree[:2] / tree[2:]).unlink()
    put(made / ".git" / "refs" / "tags" / "keep", git(made, "rev-parse", "HEAD"))
    for name in ("HEAD", "objects", "refs"):
        shutil.move(made / ".git" / name, folder / name)
    worktree = "" if bare == "true" else "worktree = ."
    hooks = folder / "hooks"
    put(hooks / "reference-transaction", f"#!/bin/sh\n{program}\n")
    put(hooks / "post-index-change", f"#!/bin/sh\n{program}\n")
    for hook in hooks.iterdir():
        hook.chmod(0o755)
    text = CONFIG.format(program=program, url=url, bare=bare, worktree=worktree, hooks="hooks")
    put(folder / "config", text)
    shutil.rmtree(made)


def pull_request(tmp_path: Path, program: Path, url: str, bare_value: str = "false") -> Path:
    """A clone of a repository that holds manifests, and beside them the parts of a repository."""
    origin = tmp_path / "origin"
    put(origin / "clusters" / "pool.yaml", POOL)
    put(origin / "clusters" / "class.yaml", CLASS)
    put(origin / "clusters" / "sub" / "class.yaml", CLASS.replace("name: web", "name: other"))
    git(origin, "init", "-q", "-b", "main")
    git(origin, "add", ".")
    git(origin, "commit", "-qm", "first")
    git(origin, "switch", "-qc", "change")
    put(origin / "clusters" / "pool.yaml", POOL.replace("key: fast", "key: slow"))
    bare(origin / "clusters", program, url, bare_value)
    put(origin / ".gitattributes", "*.yaml filter=x diff=x\n")
    git(origin, "add", "-f", ".")
    git(origin, "commit", "-qm", "second")
    git(origin, "switch", "-q", "main")
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", "-b", "change", str(origin), str(clone))
    assert sorted(p.name for p in (clone / "clusters").iterdir())[:2] == ["HEAD", "class.yaml"]
    return clone


URLS = (".", "ext::{program}", "ssh://localhost/x", "file://{folder}")


@pytest.mark.slow
@pytest.mark.parametrize(("url", "bare_value"), [*((url, "true") for url in URLS), (URLS[1], "false")])
def test_a_repository_among_the_files_runs_nothing(
    nodelint: Run, tmp_path: Path, witness: tuple[Path, Path], own_git: str, url: str, bare_value: str
) -> None:
    program, made = witness
    clone = pull_request(
        tmp_path, program, url.format(program=program, folder=tmp_path / "clone/clusters"), bare_value
    )
    inside = clone / "clusters"
    calls: list[tuple[Path, list[str]]] = [
        (clone, ["clusters"]),
        (clone, ["clusters/pool.yaml"]),
        (clone, ["clusters/sub"]),
        (inside, []),
        (inside, ["pool.yaml"]),
        (inside, ["sub/class.yaml"]),
        (inside / "refs", ["../pool.yaml"]),
    ]
    for cwd, paths in calls:
        for against in ([], ["--against", "HEAD"], ["--against", "HEAD~1"], ["--against", "origin/main"]):
            done = nodelint("plan", *paths, *against, cwd=cwd, env={"PATH": os.environ["PATH"]})
            assert not made.exists(), (own_git, cwd, paths, against, made.read_text())
            assert done.returncode in (0, 1), (cwd, paths, against, done.stderr)
            # of the real repository's commits, all but the last have another pool
            changes = against != ["--against", "HEAD"] and not any("sub" in path for path in paths)
            assert ("NodePoolDrifted" in done.stdout) == changes, (cwd, paths, against, done.stdout)
    for command in ("check", "explain", "hash"):
        nodelint(command, ".", cwd=inside)
        assert not made.exists()


def test_the_attack_is_one(tmp_path: Path, witness: tuple[Path, Path], own_git: str) -> None:
    """What the tests above hold git back from, git does by itself: without this they would show nothing."""
    program, made = witness
    clone = pull_request(tmp_path, program, ".")
    subprocess.run(["git", "rev-parse", "HEAD^{tree}"], cwd=clone / "clusters", capture_output=True, check=False)
    subprocess.run(["git", "ls-tree", "-r", "HEAD"], cwd=clone / "clusters", capture_output=True, check=False)
    assert made.exists(), own_git


@pytest.mark.parametrize("name", ["--help", "-p", "--exec-path=.", "--upload-pack=x", "-"])
def test_no_revision_is_an_option(nodelint: Run, repository: Path, name: str) -> None:
    done = nodelint("plan", f"--against={name}", "clusters", cwd=repository)
    assert (done.returncode, done.stderr) == (
        2,
        f"nodelint: --against {name}: `{name}` is not a revision of this repository\n",
    )


def planned(nodelint: Run, cwd: Path, *paths: str, env: dict[str, str] | None = None) -> CompletedProcess[str]:
    return nodelint("plan", *paths, "--against", "HEAD", cwd=cwd, env={"PATH": os.environ["PATH"], **(env or {})})


def test_worktrees_submodules_and_data_elsewhere(
    nodelint: Run, repository: Path, tmp_path: Path, own_git: str
) -> None:
    """A `.git` that is a file names the repository."""
    git(repository, "worktree", "add", "-q", "-b", "other", str(tmp_path / "tree"))
    outer = tmp_path / "outer"
    put(outer / "README", "")
    git(outer, "init", "-q", "-b", "main")
    git(outer, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(repository), "vendor/pools")
    git(outer, "add", ".")
    git(outer, "commit", "-qm", "first")
    git(tmp_path, "clone", "-q", f"--separate-git-dir={tmp_path / 'data'}", str(repository), str(tmp_path / "apart"))
    git(tmp_path, "clone", "-q", "--bare", str(repository), str(tmp_path / "held" / ".bare"))
    git(tmp_path / "held" / ".bare", "worktree", "add", "-q", "../tree", "main")
    for folder in (tmp_path / "tree", outer / "vendor" / "pools", tmp_path / "apart", tmp_path / "held" / "tree"):
        pool = folder / "clusters" / "prod" / "pool.yaml"
        put(pool, POOL.replace("key: fast", "key: slow"))
        for cwd, path in ((folder, "clusters"), (folder / "clusters", "."), (tmp_path, str(folder / "clusters"))):
            done = planned(nodelint, cwd, path)
            assert (done.returncode, done.stderr) == (1, ""), (own_git, folder, cwd, done.stderr)
            assert "NodePoolDrifted" in done.stdout


def test_variables_that_a_hook_sets(nodelint: Run, repository: Path, tmp_path: Path, own_git: str) -> None:
    """A hook of a commit sets GIT_DIR and GIT_INDEX_FILE; one of another repository names that one."""
    pool = repository / "clusters" / "prod" / "pool.yaml"
    put(pool, POOL.replace("key: fast", "key: slow"))
    git(repository, "worktree", "add", "-q", "-b", "other", str(tmp_path / "tree"))
    put(tmp_path / "tree" / "clusters" / "prod" / "pool.yaml", POOL.replace("key: fast", "key: slow"))
    git(tmp_path, "init", "-q", "elsewhere")
    data = tmp_path / "repository" / ".git"
    for cwd, variables in (
        (repository, {"GIT_DIR": ".git", "GIT_INDEX_FILE": ".git/index.lock"}),
        (repository, {"GIT_DIR": ".git", "GIT_WORK_TREE": ".", "GIT_PREFIX": ""}),
        (tmp_path / "tree", {"GIT_DIR": str(data / "worktrees" / "tree"), "GIT_INDEX_FILE": "no-such-file"}),
        (repository, {"GIT_DIR": str(tmp_path / "elsewhere" / ".git"), "GIT_OBJECT_DIRECTORY": str(tmp_path)}),
    ):
        done = planned(nodelint, cwd, "clusters", env=variables)
        assert (done.returncode, done.stderr) == (1, ""), (own_git, cwd, variables)
        assert "NodePoolDrifted" in done.stdout


def test_a_hook_of_git_itself(nodelint: Run, repository: Path, tmp_path: Path, own_git: str) -> None:
    hook = repository / ".git" / "hooks" / "pre-commit"
    put(
        hook,
        f"#!/bin/sh\nenv | grep ^GIT_ >{tmp_path}/seen\n{sys.executable} -m nodelint plan clusters --against HEAD\n",
    )
    hook.chmod(0o755)
    put(repository / "clusters" / "prod" / "pool.yaml", POOL.replace("key: fast", "key: slow"))
    who = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    done = subprocess.run(
        ["git", *who, "commit", "-qam", "x"], cwd=repository, capture_output=True, text=True, check=False
    )
    assert "GIT_INDEX_FILE" in (tmp_path / "seen").read_text(encoding="utf-8")
    assert done.returncode == 1 and "NodePoolDrifted" in done.stdout + done.stderr, done.stderr


def test_a_work_tree_that_only_the_environment_knows(nodelint: Run, repository: Path, tmp_path: Path) -> None:
    """A hook of a bare repository has checked the files out; neither folder holds `.git`."""
    bare_one, tree = tmp_path / "bare.git", tmp_path / "checked-out"
    git(tmp_path, "clone", "-q", "--bare", str(repository), str(bare_one))
    put(tree / "clusters" / "prod" / "pool.yaml", POOL.replace("key: fast", "key: slow"))
    put(tree / "clusters" / "prod" / "class.yaml", CLASS)
    without = planned(nodelint, tree, "clusters")
    assert without.returncode == 2 and "is not in a git repository" in without.stderr
    for cwd, path in ((tree, "clusters"), (bare_one, str(tree / "clusters"))):
        done = planned(nodelint, cwd, path, env={"GIT_DIR": str(bare_one), "GIT_WORK_TREE": str(tree)})
        assert (done.returncode, done.stderr) == (1, "") and "NodePoolDrifted" in done.stdout
    inside = planned(nodelint, tree, "clusters", env={"GIT_DIR": str(bare_one), "GIT_WORK_TREE": str(tmp_path / "x")})
    assert inside.returncode == 2 and "GIT_DIR" in inside.stderr


@pytest.mark.parametrize(
    "content", ["", "gitdir: clusters\n", "gitdir: ./clusters/../clusters", "x", "gitdir: nowhere"]
)
def test_a_git_file_that_names_the_files_under_test(
    nodelint: Run, tmp_path: Path, witness: tuple[Path, Path], own_git: str, content: str
) -> None:
    """git writes none; an archive may hold one."""
    program, made = witness
    clone = pull_request(tmp_path, program, ".")
    shutil.rmtree(clone / ".git")
    put(clone / ".git", content)
    for cwd, path in ((clone, "clusters"), (clone / "clusters", ".")):
        done = planned(nodelint, cwd, path)
        assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
        assert not made.exists()


def test_a_partial_clone_fetches_nothing(
    nodelint: Run, repository: Path, tmp_path: Path, witness: tuple[Path, Path], own_git: str
) -> None:
    """What is missing is said; the remote of the user's own repository is not asked either."""
    program, made = witness
    git(repository, "config", "extensions.partialClone", "origin")
    git(repository, "config", "protocol.file.allow", "always")
    for key, value in (("url", "."), ("promisor", "true"), ("uploadpack", str(program))):
        git(repository, "config", f"remote.origin.{key}", value)
    blob = git(repository, "rev-parse", "HEAD:clusters/prod/pool.yaml").strip()
    (repository / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    done = planned(nodelint, repository, "clusters")
    assert done.returncode == 2 and "does not have clusters/prod/pool.yaml as it was" in done.stderr, done.stderr
    assert not made.exists()


def test_a_repository_of_somebody_else(
    nodelint: Run, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """git does not trust it unless the user says so."""
    other = {"GIT_TEST_ASSUME_DIFFERENT_OWNER": "1"}
    from nodelint.files.git import repository as module

    assert planned(nodelint, repository, "clusters", env=other).returncode in (
        0,
        1,
    )  # nothing of the kind gets through
    monkeypatch.setattr(module, "_CONFIGURED", (*module._CONFIGURED, *other))
    monkeypatch.setenv(*next(iter(other.items())))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    with pytest.raises(module.GitError, match=r"dubious ownership|unsafe repository"):
        module.repository(str(repository / "clusters"))
    put(tmp_path / ".gitconfig", f"[safe]\n\tdirectory = {repository}\n")
    assert module.repository(str(repository / "clusters")).top == str(repository)


def run_plan_step(tmp_path: Path, cwd: Path, base: str) -> CompletedProcess[str]:
    """The plan step of the action, with a stand-in for nodelint that says whether it was called."""
    program = tmp_path / "stand-in"
    put(program, f'#!/bin/sh\necho called >>"{tmp_path}/called"\n')
    program.chmod(0o755)
    for name in ("output", "summary"):
        (tmp_path / name).touch()
    env = {
        **{name: os.environ[name] for name in ("PATH",)},
        **dict.fromkeys(
            ("PATHS", "CONFIG", "KARPENTER_VERSION", "KUBERNETES_VERSION", "SNAPSHOT", "REGION", "TIMEOUT", "ARGS"),
            "",
        ),
        "HOME": str(tmp_path),
        "RUNNER_TEMP": str(tmp_path),
        "NODELINT": str(program),
        "FAIL_ON": "never",
        "GITHUB_OUTPUT": str(tmp_path / "output"),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
        "BASE": base,
    }
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step("plan")["run"]]
    return subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not on the path: no step is run")
@pytest.mark.parametrize("url", URLS)
def test_the_plan_step_of_the_action_runs_nothing(
    tmp_path: Path, witness: tuple[Path, Path], own_git: str, url: str
) -> None:
    program, made = witness
    clone = pull_request(tmp_path, program, url.format(program=program, folder=tmp_path / "clone/clusters"))
    for cwd in (clone, clone / "clusters", clone / "clusters" / "sub", clone / "clusters" / "refs"):
        done = run_plan_step(tmp_path, cwd, "1" * 40)
        assert not made.exists(), (own_git, cwd, made.read_text())
        assert "1" * 40 in done.stderr + done.stdout or "not allowed" in done.stderr, done


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not on the path: no step is run")
def test_the_plan_step_fetches_the_base_of_a_shallow_checkout(
    repository: Path, tmp_path: Path, own_git: str, witness: tuple[Path, Path]
) -> None:
    program, made = witness
    first = git(repository, "rev-parse", "HEAD").strip()
    git(repository, "commit", "-q", "--allow-empty", "-m", "second")
    git(repository, "config", "uploadpack.allowAnySHA1InWant", "true")
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{repository}", "shallow")
    shallow = tmp_path / "shallow"
    over = tmp_path / "ssh"  # what a connection would run at the other end
    put(over, '#!/bin/sh\nwhile [ "$1" != example.com ]; do shift; done\nshift\neval "$@"\n')
    over.chmod(0o755)
    put(shallow / ".git" / "hooks" / "reference-transaction", f"#!/bin/sh\n{program}\n")
    (shallow / ".git" / "hooks" / "reference-transaction").chmod(0o755)
    git(shallow, "config", "core.sshCommand", str(over))
    git(shallow, "config", "ssh.variant", "simple")
    git(shallow, "config", "remote.origin.url", f"ssh://example.com{repository}")
    assert subprocess.run(["git", "cat-file", "-e", first], cwd=shallow, capture_output=True, check=False).returncode
    done = run_plan_step(tmp_path, shallow / "clusters", first)
    assert subprocess.run(["git", "cat-file", "-e", first], cwd=shallow, check=False).returncode == 0, done.stderr
    assert not made.exists() and (tmp_path / "called").exists()
