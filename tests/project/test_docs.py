"""The pages in docs/: what they show is what the tool prints, and the site that is built of them holds together."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

import pytest

from nodelint.base import project
from tests import in_process
from tests.conftest import ROOT
from tools import make_console_blocks as blocks

DOCS = ROOT / "docs"
PAGES = sorted(path for path in DOCS.rglob("*.md") if path.parent.name != "rules")


class TestWhatPagesShow:
    """Blocks of a page are a session, from top to bottom, in a folder that holds the examples.

    A ```console block is run and compared with what it shows; a line `…` stands for lines that are left out.
    A block with a title, such as title="pool.yaml", is written to a file of that name.
    """

    @pytest.mark.slow
    @pytest.mark.parametrize("page", [p for p in blocks.list_pages() if p.parent != ROOT], ids=str)
    def test_is_what_the_tool_prints(self, page: Path, tmp_path: Path) -> None:
        environment = blocks.make_environment(tmp_path)

        def run(command: str, folder: Path) -> str:
            return _run(command, folder, environment)

        for _, command, shown, printed in blocks.run_page(page.read_text(encoding="utf-8"), tmp_path / "here", run):
            assert blocks.matches(shown, printed), f"$ {command}\n{printed}"

    @pytest.mark.parametrize("page", blocks.list_pages(), ids=str)
    def test_each_block_has_a_command_and_output(self, page: Path) -> None:
        fences = blocks.FENCE.finditer(page.read_text(encoding="utf-8"))
        bodies = [fence["body"] for fence in fences if fence["word"] == "console"]
        assert all(re.search(r"^\$ \w", body, re.M) and re.search(r"^[^$…\n]", body, re.M) for body in bodies)

    def test_a_line_left_out_stands_for_any_lines(self) -> None:
        assert blocks.matches("a\n…\nd\n", "a\nb\nc\nd\n")
        assert blocks.matches("a\n…\n", "a\nb\n")
        assert not blocks.matches("a\n…\nd\n", "a\nb\nc\nd e\n")
        assert not blocks.matches("a\n", "a\nb\n")


def _run(command: str, folder: Path, environment: dict[str, str]) -> str:
    """Return what a line of a shell prints; one that is a call of the tool needs no shell."""
    if re.fullmatch(r"nodelint [^|&;<>()$`\\\"'*?\[#~{\n]*", command):
        own = {name: value for name, value in environment.items() if name != "PYTHONPATH"}
        return in_process.run(command.split()[1:], folder, own, merged=True).stdout
    return blocks.run_shell(command, folder, environment)


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


def test_what_an_object_has_is_there() -> None:
    """The table for authors of rules names properties that the types of the API have."""
    from inspect import getattr_static

    from nodelint import api

    text = (ROOT / "docs" / "rule-authors.md").read_text(encoding="utf-8")
    rows = re.findall(r"(?m)^\| `(NodePool|EC2NodeClass|RequirementLine|Node)`[^|]*\|(.*)\|$", text)
    assert len(rows) == 4
    for name, properties in rows:
        for named in re.findall(r"`(\w+)`", properties):
            assert getattr_static(getattr(api, name), named, None) is not None, f"{name}.{named}"


def test_the_api_is_what_its_tool_writes() -> None:
    """A name is written where it is imported, and in its row of the docstring; the lists follow from the imports."""
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        from make_api import API, make_text
    finally:
        sys.path.pop(0)
    text = API.read_text(encoding="utf-8")
    assert text == make_text(text), "python tools/make_api.py writes it"


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
