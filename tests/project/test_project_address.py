"""The project's address stands in one place; until there is one, nobody is sent to a name that anybody can take."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from nodelint.base import project
from nodelint.commands import _hook
from nodelint.commands._hook import LOCAL, hook, hook_lines, installed_from
from nodelint.edits import add_item, apply
from nodelint.text import Source
from nodelint.text.reading import nodes_of
from tests.conftest import ROOT
from tests.plain_yaml import load_yaml

COMMIT = "0123456789abcdef0123456789abcdef01234567"
NAMED = re.compile(
    r"(?:github|githubusercontent|gitlab)\.com[/:]([\w.-]+/nodelint)(?![\w-])"  # an address
    r"|(?<![\w./<>-])([\w.-]+/nodelint)@"  # an action
    r"|pipx? install (?:[^\n.,`'\"]* )?['\"]?(nodelint)\b(?! @)",  # a package of an index
    re.IGNORECASE,
)
MADE_UP = ("a", "somebody")
"""Owners in tests."""


def addresses_in(text: str) -> list[str]:
    return [next(filter(None, match.groups())) for match in NAMED.finditer(text)]


def listed() -> list[Path]:
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("no repository of git: its files cannot be listed")
    done = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / name for name in done.stdout.split("\0") if name]


def test_no_other_file_states_the_address() -> None:
    home = None if project.HOME is None else "/".join(project.HOME.split("/")[-2:])
    allowed = {None} if home is None else {home, None}
    found = []
    for path in listed():
        try:
            text = path.read_text(encoding="utf-8")
        except (UnicodeDecodeError, OSError):
            continue
        for name in addresses_in(text) if path != Path(__file__) else ():
            owner = name.rpartition("/")[0]
            if name not in allowed and not (owner in MADE_UP and "tests" in path.parts):
                found.append(f"{path.relative_to(ROOT)}: {name}")
    assert found == []


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("see https://github.com/a/nodelint/blob/main/x", ["a/nodelint"]),
        ("https://raw.githubusercontent.com/a-b/nodelint/main/x", ["a-b/nodelint"]),
        ("git@github.com:a/nodelint.git", ["a/nodelint"]),
        ("- uses: a/nodelint@v1", ["a/nodelint"]),
        ("pipx install nodelint", ["nodelint"]),
        ("pip install -q 'nodelint[lsp]'", ["nodelint"]),
        ("pipx install '.[lsp]'", []),
        ("- uses: <owner>/nodelint@v1", []),
        ("https://github.com/<owner>/nodelint", []),
    ],
)
def test_what_is_taken_for_the_address(text: str, names: list[str]) -> None:
    assert addresses_in(text) == names


def test_package_and_extension_name_the_address_or_none() -> None:
    package = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    extension = json.loads((ROOT / "editors" / "vscode" / "package.json").read_text(encoding="utf-8"))
    addresses = re.findall(r"^\w+ = \"(https://[^\"]+)\"$", package.partition("[project.urls]")[2], re.MULTILINE)
    if "repository" in extension:
        addresses.append(extension["repository"]["url"])
    assert [address for address in addresses if project.HOME is None or not address.startswith(project.HOME)] == []


def direct(url: str, **more: Any) -> str:
    return json.dumps({"url": url, "vcs_info": {"vcs": "git", "commit_id": COMMIT}, **more})


@pytest.mark.parametrize(
    ("message", "place"),
    [
        (direct("https://example.com/a/b.git"), ("https://example.com/a/b.git", COMMIT)),
        (direct("ssh://git@example.com/a/b"), ("ssh://git@example.com/a/b", COMMIT)),
        (direct("https://${USER}:${TOKEN}@example.com/a/b"), ("https://example.com/a/b", COMMIT)),
        (direct("https://token@example.com:8443/a/b"), ("https://example.com:8443/a/b", COMMIT)),
        (direct("file:///a/nodelint"), None),
        (direct("https://example.com/a/b", subdirectory="x"), None),
        (direct("https://example.com/a b #c: d"), None),
        (direct("https://example.com/a?token=b"), None),
        (direct("https://example.com/a\nb: c"), None),
        (direct("https://[example.com/a"), None),
        (direct("https://example.com/a/b", vcs_info={"vcs": "hg", "commit_id": COMMIT}), None),
        (direct("https://example.com/a/b", vcs_info={"vcs": "git", "commit_id": "main"}), None),
        (direct("https://example.com/a/b", vcs_info={"vcs": "git"}), None),
        (json.dumps({"url": "file:///a/nodelint", "dir_info": {"editable": True}}), None),
        (json.dumps({"url": "https://example.com/a.tar.gz", "archive_info": {}}), None),
        ("[]", None),
        ("{", None),
    ],
)
def test_where_the_package_was_installed_from(message: str, place: tuple[str, str] | None) -> None:
    assert installed_from(message) == place


class Package:
    def __init__(self, text: str | None) -> None:
        self.text = text

    def read_text(self, name: str) -> str | None:
        assert name == "direct_url.json"
        return self.text


@pytest.mark.parametrize(
    ("packages", "home", "repo"),
    [
        ([], None, "local"),
        ([], "https://github.com/somebody/nodelint", "local"),
        ([Package(None)], None, "local"),
        ([Package(None)], "https://github.com/somebody/nodelint", "https://github.com/somebody/nodelint"),
        (
            [Package(direct("https://example.com/a/b"))],
            "https://github.com/somebody/nodelint",
            "https://example.com/a/b",
        ),
        ([Package('{"url": "file:///a", "dir_info": {}}')], "https://github.com/somebody/nodelint", "local"),
    ],
)
def test_the_hook_is_of_where_the_package_came_from(
    packages: list[Package], home: str | None, repo: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(project, "HOME", home)
    monkeypatch.setattr(_hook, "distributions", lambda **_: packages)
    item = hook()
    assert item["repo"] == repo
    assert load_yaml("\n".join(hook_lines(item))) == [item]
    old = Source("a.yaml", "repos:\n- repo: meta\n  hooks: [{id: identity}]\n")
    repos = nodes_of(old)[0].get("repos")
    assert repos is not None
    assert load_yaml(apply(old.text, add_item(repos, item)))["repos"][1] == item


def test_the_hook_on_the_path_takes_the_files_of_the_hook_that_is_installed() -> None:
    (first, _) = load_yaml((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    (own,) = LOCAL["hooks"]  # type: ignore[misc, union-attr]
    assert own["entry"] == " ".join([first["entry"], *first["args"]])  # type: ignore[index, call-overload]
    for key in ("types", "files", "require_serial"):
        assert own[key] == first[key]  # type: ignore[index, call-overload]
    for page in ("README.md", "docs/ci/pre-commit.md"):
        blocks = re.findall(r"(?ms)^```yaml\n(.*?)^```", (ROOT / page).read_text(encoding="utf-8"))
        assert {"repos": [LOCAL]} in [load_yaml(block) for block in blocks]
