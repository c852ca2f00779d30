"""The pages in docs/: what they show is what the tool prints, and the site that is built of them holds together."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

import pytest

from nodelint.base import project
from tests import in_process
from tests.conftest import NOW, ROOT

DOCS = ROOT / "docs"
PAGES = sorted(path for path in DOCS.rglob("*.md") if path.parent.name != "rules")
FENCE = re.compile(r"^(?P<fence>```+)(?P<word>\w*)(?P<rest>[^\n]*)\n(?P<body>.*?)^(?P=fence)[ ]*$", re.M | re.S)
TITLE = re.compile(r'title="([^"]+)"')


class TestWhatPagesShow:
    """Blocks of a page are a session, from top to bottom, in a folder that holds the examples.

    A ```console block is run and compared with what it shows; a line `…` stands for lines that are left out.
    A block with a title, such as title="pool.yaml", is written to a file of that name.
    """

    @pytest.mark.slow
    @pytest.mark.parametrize("page", [p for p in PAGES if "```console" in p.read_text(encoding="utf-8")], ids=str)
    def test_is_what_the_tool_prints(self, page: Path, tmp_path: Path) -> None:
        folder = tmp_path / "here"
        for part in ("examples", "tests/triage", "tests/trees"):
            shutil.copytree(ROOT / part, folder / part)
        environment = _environment(tmp_path)
        for fence in FENCE.finditer(page.read_text(encoding="utf-8")):
            title = TITLE.search(fence["rest"])
            if title is not None:
                path = folder / title[1]
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(fence["body"], encoding="utf-8")
            if fence["word"] == "console":
                for command, shown in _commands(fence["body"]):
                    done = _run(command, folder, environment)
                    assert _matches(shown, done.stdout), f"$ {command}\n{done.stdout}"

    def test_a_line_left_out_stands_for_any_lines(self) -> None:
        assert _matches("a\n…\nd\n", "a\nb\nc\nd\n")
        assert _matches("a\n…\n", "a\nb\n")
        assert not _matches("a\n…\nd\n", "a\nb\nc\nd e\n")
        assert not _matches("a\n", "a\nb\n")


def _run(command: str, folder: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """A line of a shell; one that is a call of the tool needs no shell."""
    if re.fullmatch(r"nodelint [^|&;<>()$`\\\"'*?\[#~{\n]*", command):
        own = {name: value for name, value in environment.items() if name != "PYTHONPATH"}
        return in_process.run(command.split()[1:], folder, own, merged=True)
    return subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=120,
    )


def _environment(tmp_path: Path) -> dict[str, str]:
    program = tmp_path / "bin" / "nodelint"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m nodelint "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    return {
        **{name: value for name, value in os.environ.items() if name != "COLUMNS"},
        "NODELINT_NOW": NOW,
        "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "NODELINT_CACHE_DIR": str(tmp_path / "cache"),
        "NO_COLOR": "1",
    }


def _commands(body: str) -> Iterator[tuple[str, str]]:
    for block in re.split(r"^\$ ", body, flags=re.M)[1:]:
        command, _, shown = block.partition("\n")
        while command.endswith("\\"):
            more, _, shown = shown.partition("\n")
            command = f"{command}\n{more}"
        yield command, shown


def _matches(shown: str, printed: str) -> bool:
    lines = [r"(?:.*\n)*?" if line == "…" else re.escape(line) + r"\n" for line in shown.rstrip().split("\n")]
    return (
        re.fullmatch("".join(lines) if shown.strip() else "", printed.rstrip() + "\n" if printed.strip() else "")
        is not None
    )


def test_every_setting_has_a_row() -> None:
    schema = json.loads((ROOT / "schemas" / "config.schema.json").read_text(encoding="utf-8"))
    page = (DOCS / "configuration.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `([a-z-]+)` \|", page, re.MULTILINE)) == set(schema["properties"])


class TestPagesOfCommands:
    def test_are_what_their_help_says(self) -> None:
        sys.path.insert(0, str(ROOT / "tools"))
        try:
            from make_command_pages import pages
        finally:
            sys.path.pop(0)
        written = {path.name: path.read_text(encoding="utf-8") for path in (DOCS / "commands").glob("*.md")}
        assert written == pages(), "python tools/make_command_pages.py writes them anew"


def test_the_api_is_what_its_tool_writes() -> None:
    """A name is written where it is imported, and in its row of the docstring; the lists follow from the imports."""
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        from make_api import API, make_text
    finally:
        sys.path.pop(0)
    text = API.read_text(encoding="utf-8")
    assert text == make_text(text), "python tools/make_api.py writes it anew"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site as it is built."""
    pytest.importorskip("mkdocs", reason="pip install -e '.[docs]' brings what builds the site")
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "WARNING" not in done.stderr
    return folder


class TestSite:
    @pytest.mark.slow
    def test_holds_every_page(self, site: Path) -> None:
        for page in DOCS.rglob("*.md"):
            path = page.relative_to(DOCS).with_suffix("")
            path = path.parent if path.name == "index" else path
            assert (site / path / "index.html").is_file()

    @pytest.mark.slow
    def test_has_no_dead_link(self, site: Path) -> None:
        dead = [
            f"{page.relative_to(site)}: {link}"
            for page in _built(site)
            for link in _read(page).links
            if not _leads_somewhere(link, page, site)
        ]
        assert dead == []

    def test_loads_nothing_from_elsewhere(self, site: Path) -> None:
        """A page is whole without the network."""
        assert [(page.name, url) for page in _built(site) for url in _read(page).loads if urlsplit(url).netloc] == []
        # The theme's script asks GitHub's API about the repository where it finds this mark.
        assert [page for page in _built(site) if 'data-md-component="source"' in page.read_text("utf-8")] == []

    def test_shows_no_fence_as_prose(self, site: Path) -> None:
        assert [page for page in _built(site) if "<p>```" in page.read_text(encoding="utf-8")] == []


def _built(site: Path) -> list[Path]:
    return [path for path in site.rglob("*.html") if path.name != "404.html"]


def _leads_somewhere(link: str, page: Path, site: Path) -> bool:
    path, anchor = urldefrag(link)
    parts = urlsplit(path)
    if parts.netloc:
        inside = re.match(rf"{project.HOME}/(?:blob|tree)/main/(.+)", path)
        return inside is None or (ROOT / inside[1]).exists()
    if parts.scheme:
        return True
    target = os.path.normpath(page.parent / unquote(path)) if path else str(page)
    return _holds(target, unquote(anchor), site)


@cache
def _holds(target: str, anchor: str, site: Path) -> bool:
    """Whether the site has a page or a file at a path, with an anchor. Each page links to nearly all others."""
    page = Path(target)
    page = page / "index.html" if page.is_dir() else page
    return page.is_relative_to(site) and page.is_file() and (not anchor or anchor in _read(page).ids)


class _Html(HTMLParser):
    """What a page links to, what it loads, and its anchors."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.ids: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if given.get("id"):
            self.ids.add(given["id"])
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif tag == "link" and "href" in given:
            self.loads.append(given["href"])
        elif tag in ("script", "img", "iframe") and given.get("src"):
            self.loads.append(given["src"])


@cache
def _read(page: Path) -> _Html:
    read = _Html()
    read.feed(page.read_text(encoding="utf-8"))
    return read
