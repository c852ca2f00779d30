"""The extension for VS Code, as far as it can be looked at without one: its icon, texts and files."""

from __future__ import annotations

import json
import re

import pytest

from tests.conftest import ROOT
from tools.make_icon import ICON, draw

EXTENSION = ROOT / "editors" / "vscode"
PACKAGE = json.loads((EXTENSION / "package.json").read_text(encoding="utf-8"))
SOURCES = "".join(path.read_text(encoding="utf-8") for path in sorted((EXTENSION / "src").glob("*.ts")))


@pytest.mark.slow
def test_the_icon_is_what_the_script_draws() -> None:
    assert ICON.read_bytes() == draw()
    assert EXTENSION / PACKAGE["icon"] == ICON


def test_each_command_and_setting_is_there_and_has_a_text() -> None:
    commands = {command["command"] for command in PACKAGE["contributes"]["commands"]}
    assert commands == set(re.findall(r'registerCommand\("([\w.]+)"', SOURCES))
    readme = (EXTENSION / "README.md").read_text(encoding="utf-8")
    settings = PACKAGE["contributes"]["configuration"]["properties"]
    for name, setting in settings.items():
        assert setting.get("markdownDescription") or setting.get("description")
        assert f"`{name}`" in readme
        key = name.removeprefix("nodelint.")
        assert f'get<string>("{key}")' in SOURCES or f'get<string[]>("{key}")' in SOURCES or key == "trace.server"


def test_the_changelog_and_pictures_are_of_this_version() -> None:
    assert f"## {PACKAGE['version']}\n" in (EXTENSION / "CHANGELOG.md").read_text(encoding="utf-8")
    readme = (EXTENSION / "README.md").read_text(encoding="utf-8")
    pictures = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", readme)
    assert pictures and all((EXTENSION / picture).read_bytes().startswith(b"\x89PNG") for picture in pictures)


def test_the_schemas_that_it_brings_are_there() -> None:
    names = re.search(r"for\(const n of \[([^\]]+)\]", PACKAGE["scripts"]["schemas"])
    assert names is not None
    for name in re.findall(r"'([\w-]+)'", names[1]):
        assert (ROOT / "schemas" / f"{name}.schema.json").is_file()
