"""What a repository names is read with care: regular files, of a bounded size, inside the repository."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from nodelint.apiserver import crds
from nodelint.cli import cli
from nodelint.config.file import ConfigError
from nodelint.config.settings import find, load
from nodelint.files.safe_read import read
from tests.forked import Command
from tests.lsp.test_lsp import CLASS, POOL, Editor

Run = Callable[..., subprocess.CompletedProcess[str]]

TYPO = CLASS.replace("  role:", "  rolle:")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository with a manifest, beside a folder of somebody else's."""
    (tmp_path / "theirs").mkdir()
    for name in ("baseline.json", "snapshot.json", "crds.yaml", "nodelint.yaml"):
        (tmp_path / "theirs" / name).write_text("fail-on: never\n", encoding="utf-8")
    folder = tmp_path / "ours"
    (folder / ".git").mkdir(parents=True)
    (folder / "pool.yaml").write_text(POOL, encoding="utf-8")
    os.mkfifo(folder / "pipe")
    (folder / "zero").symlink_to("/dev/zero")
    (folder / "large").touch()
    os.truncate(folder / "large", 1 << 40)
    (folder / "link").symlink_to("../theirs/baseline.json")
    return folder


@pytest.fixture
def bounded(project: Path, forked: Command) -> Run:
    """The command with little memory and little time: what is read without a limit fails."""
    env = {key: value for key, value in os.environ.items() if not key.startswith(("AWS_", "NODELINT_"))}

    def run(*args: str) -> subprocess.CompletedProcess[str]:
        return forked.run(args, project, {**env, "NODELINT_CACHE_DIR": str(project / ".cache")}, memory=3 << 30)

    return run


WHERE = {
    "/dev/zero": "is outside of the repository",
    "/": "is outside of the repository",
    "../theirs/baseline.json": "is outside of the repository",
    "link": "is outside of the repository",
    "zero": "is outside of the repository",
    "pipe": "not a regular file",
    "large": "larger than 32 MiB",
    "\\0": "is not a path",
}


@pytest.mark.parametrize("key", ["baseline", "crds", "snapshot"])
@pytest.mark.parametrize("path", WHERE)
def test_a_configuration_has_nothing_read_that_is_no_file_of_the_repository(
    key: str, path: str, project: Path, bounded: Run
) -> None:
    (project / "nodelint.yaml").write_text(f'{key}: "{path}"\n', encoding="utf-8")
    done = bounded("check", "pool.yaml")
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert WHERE[path] in line
    if WHERE[path] in ("is outside of the repository", "is not a path"):
        assert line.startswith(f"nodelint: nodelint.yaml:1:1: `{key}")
    else:
        assert line.startswith(f"nodelint: {'--crds ' if key == 'crds' else ''}{path}: ")


@pytest.mark.parametrize("flag", ["config", "baseline", "crds", "snapshot"])
@pytest.mark.parametrize("path", ["/dev/zero", "pipe", "zero", "large"])
def test_a_flag_has_neither_a_device_nor_a_pipe_read(flag: str, path: str, bounded: Run) -> None:
    done = bounded("check", f"--{flag}", path, "pool.yaml")
    assert (done.returncode, done.stdout) == (2, "")
    assert "larger than" in done.stderr if path == "large" else "not a regular file" in done.stderr


def test_a_flag_may_name_a_file_elsewhere(nodelint: Run, project: Path) -> None:
    (project / "nodelint.yaml").write_text("karpenter-version: '1.4'\n", encoding="utf-8")
    assert nodelint("baseline", "--baseline", "../theirs/new.json", cwd=project).returncode == 0
    done = nodelint("check", "--baseline", "../theirs/new.json", "pool.yaml", cwd=project)
    assert "known" in done.stdout
    (project / "pool.yaml").write_text(POOL.replace("g5g", "g5gg"), encoding="utf-8")
    assert nodelint("check", "pool.yaml", cwd=project).returncode == 1
    assert nodelint("check", "--config", "../theirs/nodelint.yaml", "pool.yaml", cwd=project).returncode == 0


@pytest.mark.parametrize("name", ["nodelint.yaml", "pyproject.toml"])
def test_a_configuration_that_is_a_link_out_of_the_repository_is_not_found(name: str, project: Path) -> None:
    (project.parent / "theirs" / "pyproject.toml").write_text("[tool.nodelint]\n", encoding="utf-8")
    (project / name).symlink_to(f"../theirs/{name}")
    if name == "pyproject.toml":
        passed_over: list[str] = []
        assert find(str(project), passed_over) is None, "nor is it opened to see whether it has settings"
        (message,) = passed_over
        assert "pyproject.toml: not read: a link to what is outside of the repository" in message
    else:
        message = f"{name}: a link to what is outside of the repository; to use it, name it by --config"
        with pytest.raises(ConfigError, match=message):
            find(str(project))
    assert load(str(project / name), {}).root == str(project)


@pytest.mark.parametrize("taken", ["../../theirs/pool.yaml", "base", "."])
def test_an_overlay_that_takes_nothing_but_what_lies_outside_is_said(
    taken: str, nodelint: Run, tmp_path: Path
) -> None:
    """Nothing else in the repository is about Karpenter, and the overlay does not name it."""
    for path in ("theirs", "ours/.git", "ours/o"):
        (tmp_path / path).mkdir(parents=True)
    (tmp_path / "ours/.git/HEAD").write_text("ref: refs/heads/main\n")
    (tmp_path / "theirs/pool.yaml").write_text("{}")
    (tmp_path / "theirs/kustomization.yaml").write_text("resources: [pool.yaml]\n")
    named = str(tmp_path / "theirs") if taken == "." else taken
    if taken == "base":
        (tmp_path / "ours/o/base").symlink_to("../../theirs")
    (tmp_path / "ours/o/kustomization.yaml").write_text(f"resources: [{named}]\n")
    done = nodelint("check", ".", cwd=tmp_path / "ours")
    assert f"o/kustomization.yaml:1: `{named}` is outside of the repository" in " ".join(done.stdout.split())


def test_a_link_that_stays_inside_and_a_path_upwards_are_followed(project: Path) -> None:
    (project / "ci" / "facts").mkdir(parents=True)
    (project / "known.json").write_text("{}", encoding="utf-8")
    (project / "ci" / "inner").symlink_to("../known.json")
    (project / "ci" / "nodelint.yaml").write_text("baseline: inner\ncrds: ../pool.yaml\n", encoding="utf-8")
    settings = load(str(project / "ci" / "nodelint.yaml"), {})
    assert settings.baseline == str(project / "ci" / "inner")
    assert settings.bounds == {"baseline": str(project), "crds": str(project)}


def test_crds_of_a_configuration_are_not_read_through_a_link(project: Path, nodelint: Run) -> None:
    (project / "crds").mkdir()
    crd = (
        "kind: CustomResourceDefinition\nspec:\n  group: karpenter.sh\n  names: {kind: NodePool}\n"
        "  versions: [{name: v1, schema: {openAPIV3Schema: {type: object}}}]\n"
    )
    (project.parent / "theirs" / "crds.yaml").write_text(crd, encoding="utf-8")
    (project / "crds" / "pools.yaml").symlink_to("../../theirs/crds.yaml")
    (project / "crds" / "other.yaml").symlink_to("../../theirs/baseline.json")
    os.mkfifo(project / "crds" / "pipe.yaml")
    (project / "nodelint.yaml").write_text("crds: crds\n", encoding="utf-8")
    done = nodelint("check", "pool.yaml", cwd=project)
    assert done.returncode == 2
    assert done.stderr == "nodelint: --crds crds: other.yaml is outside of the repository\n"
    assert nodelint("check", "--crds", "crds", "pool.yaml", cwd=project).returncode == 1, "named, so it is read"


def test_the_disk_is_not_walked_for_crds(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crds, "_MOST_FILES", 50)
    monkeypatch.chdir(project)
    (project / "tree").mkdir()
    for n in range(51):
        (project / "tree" / f"{n}").touch()
    done = CliRunner().invoke(cli, ["check", "--crds", "tree", "pool.yaml"])
    assert done.exit_code == 2
    assert "holds more than 50 files; name the folder of the CRDs" in done.output
    (project / "tree" / "0").unlink()
    assert "more than" not in CliRunner().invoke(cli, ["check", "--crds", "tree", "pool.yaml"]).output


@pytest.mark.parametrize("name", ["pool.tf", ".pre-commit-config.yaml", ".gitlab-ci.yml"])
@pytest.mark.parametrize("kind", ["pipe", "link"])
def test_init_reads_no_pipe_and_no_file_of_others(name: str, kind: str, project: Path, bounded: Run) -> None:
    for path in (project / "pipe", project / "zero", project / "large", project / "link"):
        path.unlink()
    secret = project.parent / "theirs" / "secret"
    secret.write_text('repos: []\n# secret\nset = "KARPENTER_VERSION=1.4.0"\n', encoding="utf-8")
    if kind == "pipe":
        os.mkfifo(project / name)
    else:
        (project / name).symlink_to(secret)
    done = bounded("init", "--dry-run")
    assert "secret" not in done.stdout
    assert "1.4.0" not in done.stdout
    if name == ".pre-commit-config.yaml":
        assert done.returncode == 2
        assert ("not a regular file" if kind == "pipe" else "outside of the repository") in done.stderr


@pytest.mark.slow
def test_the_language_server_refuses_what_the_command_refuses(project: Path) -> None:
    editor = Editor(project)
    config = project / "nodelint.yaml"
    config.touch()
    uri = editor.open(project / "pool.yaml", POOL + "---\n" + TYPO)
    assert "unknown-field" in editor.codes(uri)
    for key in ("baseline", "crds", "snapshot"):
        for path, why in WHERE.items():
            config.write_text(f'{key}: "{path}"\n', encoding="utf-8")
            editor.changed_on_disk(config)
            editor.wait(lambda why=why, key=key, path=path: any(_about(m, key, path, why) for m in editor.messages))
            assert "unknown-field" in editor.codes(uri), "it goes on by what was said last"
            editor.messages.clear()
            config.write_text("", encoding="utf-8")
            editor.changed_on_disk(config)
    assert editor.leave() == (0, "")


def _about(message: str, key: str, path: str, why: str) -> bool:
    return why in message and (f"`{key}" in message or f"{path}: " in message)


def test_a_file_is_read_whole_up_to_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x" * 100)
    assert read(str(path), 100) == b"x" * 100
    with pytest.raises(OSError, match="larger than"):
        read(str(path), 99)
    with pytest.raises(IsADirectoryError):
        read(str(tmp_path))
    with pytest.raises(FileNotFoundError):
        read(str(tmp_path / "absent"))
