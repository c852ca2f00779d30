"""What the commands write goes to the files that the user means, and takes nothing from anybody."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
from click.testing import CliRunner

from nodelint.cli import cli
from nodelint.lint import autofix
from tests.lsp.test_lsp import CLASS

Run = Callable[..., CompletedProcess[str]]

TYPO = CLASS.replace("  role:", "  rolle:")
FIXED = CLASS


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A repository with a manifest to fix, beside a folder that is not its own."""
    repo, out = tmp_path / "repo", tmp_path / "out"
    (repo / ".git").mkdir(parents=True)
    out.mkdir()
    (out / "class.yaml").write_text(TYPO, encoding="utf-8")
    (out / "empty").touch()
    (repo / "class.yaml").write_text(TYPO, encoding="utf-8")
    return repo


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


WRITES = {
    "fix": ("link", ["check", "--fix", "link"], "class.yaml"),
    "fix below a link": ("folder", ["check", "--fix", "folder/class.yaml"], "."),
    "sarif": ("link", ["check", "--format", "sarif=link"], "empty"),
    "output": ("link", ["check", "--output", "link"], "new"),
    "report below a link": ("folder", ["check", "--format", "junit=folder/new.xml"], "."),
    "baseline": ("link", ["baseline", "--baseline", "link", "class.yaml"], "new"),
    "baseline by default": ("nodelint.baseline.json", ["baseline", "class.yaml"], "new"),
    "init": ("nodelint.yaml", ["init"], "new"),
    "init's hook": (".pre-commit-config.yaml", ["init"], "new"),
    "refresh": ("link", ["refresh", "--output", "link", "class.yaml"], "new"),
}


@pytest.mark.parametrize("name", WRITES)
def test_nothing_is_written_through_a_link_out_of_the_repository(name: str, repo: Path, nodelint: Run) -> None:
    link, command, target = WRITES[name]
    (repo / link).symlink_to(Path("..", "out", target))
    before = contents(repo.parent / "out")
    done = nodelint(*command, cwd=repo)
    assert done.returncode == 2, done.stdout + done.stderr
    assert f"not written: {repo / link} is a link that leads out of {repo}" in done.stderr
    assert contents(repo.parent / "out") == before
    assert (repo / link).is_symlink()


def test_a_link_that_stays_inside_is_written_through_once(repo: Path, nodelint: Run) -> None:
    (repo / "deep").mkdir()
    (repo / "link.yaml").symlink_to("class.yaml")
    (repo / "report").symlink_to("deep/report.sarif")
    done = nodelint("check", "--fix", "--format", "text", "--format", "sarif=report", cwd=repo)
    assert (done.returncode, done.stderr) == (0, "")
    assert (repo / "class.yaml").read_text(encoding="utf-8") == FIXED
    assert (repo / "link.yaml").is_symlink()
    assert (repo / "deep" / "report.sarif").stat().st_size > 100


@pytest.mark.parametrize("act", ["save", "remove", "link"])
def test_a_fix_takes_nothing_from_who_works_on_the_file(
    act: str, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = repo / "class.yaml"
    real = autofix.fix

    def fix(*args: Any, **more: Any) -> Any:
        if act == "save":
            path.write_text(TYPO + "# mine\n", encoding="utf-8")
        elif act == "remove":
            path.unlink()
        else:
            os.link(path, repo / "other")
        return real(*args, **more)

    monkeypatch.setattr(autofix, "fix", fix)
    monkeypatch.chdir(repo)
    done = CliRunner().invoke(cli, ["check", "--fix", "class.yaml"])
    assert done.exit_code == 2
    assert "Fixed" not in done.stdout
    found = {
        "save": "changed since it was read; run nodelint again",
        "remove": "removed since it was read",
        "link": "has 2 hard links, and the others would keep the old content",
    }
    assert f"nodelint: class.yaml: not written: {found[act]}\n" in done.stderr
    left = {"save": TYPO + "# mine\n", "link": TYPO}
    assert (path.read_text(encoding="utf-8") if path.exists() else None) == left.get(act)
