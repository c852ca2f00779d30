"""Hooks of mkdocs: change what the pages contain for readers of the repository to what the site needs."""

from __future__ import annotations

import os
import re
from collections import Counter
from pathlib import Path
from typing import Any

from nodelint.base import project

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
_LINK = re.compile(r"\[([^\[\]]*)\]\(((?:\.\./)+[^)#\s]+)([^)\s]*)\)")
_EXAMPLE = re.compile(
    r"^```(yaml|diff) (bad|good|facts)(?: karpenter=(\S+))?(?: kubernetes=(\S+))?(?: today=(\S+))?\n(.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_OUTPUT = re.compile(r'(<div class="language-(?:console|text) highlight">.*?<code>)(.*?)(</code>)', re.DOTALL)
_PLAYGROUND = re.compile(r'<iframe src="\.\./playground-app/.*?</iframe>')
_NO_PLAYGROUND = "This copy of the site was built without the playground. [Build it](#build-it) says how to add it."
_COLOURS = (
    (r"(error)\[[\w-]+\]", "nl-error"),
    (r"(warning)\[[\w-]+\]", "nl-warning"),
    (r"(info)\[[\w-]+\]", "nl-info"),
    (r" +\d+ -(?: .*)?", "nl-del"),
    (r" +\d+ \+(?: .*)?", "nl-ins"),
    (r" *--&gt; \S+", "nl-place"),
    (r"  (?:fix(?: \(.*\))?|suggestion):", "nl-good"),
    (r"  (?:note|help|fix withheld):", "nl-info"),
)
"""What lines of the tool's output begin with, and the class of site.css that colours it."""


def on_config(config: Any) -> None:
    """Set the repository's address, if it has one, and replace folders in the navigation, such as `rules/`, by their
    pages.
    """
    if project.HOME is not None:
        config.repo_url = project.HOME
        config.repo_name = "/".join(project.HOME.split("/")[-2:])
    config.nav = [_expand(entry) for entry in config.nav]


def _expand(entry: Any) -> Any:
    """Return an entry of the navigation. If it is a folder, replace the folder by its pages."""
    if not isinstance(entry, dict):
        return entry
    ((title, folder),) = entry.items()
    if not str(folder).endswith("/"):
        return entry
    pages = sorted((DOCS / folder).glob("*.md"), key=lambda page: (page.name != "index.md", page.name))
    return {title: _by_subject() if folder == "rules/" else [folder + page.name for page in pages]}


def _by_subject() -> list[Any]:
    """Return the navigation of the rules: the index, then a folder with the pages of each subject."""
    from nodelint.rule.classification import SUBJECTS
    from nodelint.rule.definition import bundled, load

    rules = sorted(load(bundled()).values(), key=lambda rule: rule.name)
    pages = {
        subject[:1].upper() + subject[1:]: [f"rules/{rule.name}.md" for rule in rules if rule.subject == subject]
        for subject in SUBJECTS
    }
    return ["rules/index.md", *({subject: found} for subject, found in pages.items() if found)]


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Return a page for the site, in which links to files outside of docs/ lead to the repository.

    If the repository has no address, they become text. Each example of a rule gets a title.
    """
    here = (DOCS / page.file.src_uri).parent

    def outward(match: re.Match[str]) -> str:
        text, path, anchor = match.groups()
        target = Path(os.path.normpath(here / path))
        if target.is_relative_to(DOCS) or not target.exists():
            return match[0]  # a page, or a dead link that mkdocs reports
        if project.HOME is None:
            return text
        kind = "tree" if target.is_dir() else "blob"
        return f"[{text}]({project.HOME}/{kind}/main/{target.relative_to(ROOT).as_posix()}{anchor})"

    numbers = Counter[str]()

    def titled(match: re.Match[str]) -> str:
        language, kind, karpenter, kubernetes, today, body = match.groups()
        numbers[kind] += 1
        title = "In the account" if kind == "facts" else f"{kind.capitalize()} example {numbers[kind]}"
        title += f", Karpenter {karpenter}" if karpenter else ""
        title += f", Kubernetes {kubernetes}" if kubernetes else ""
        title += f", on {today}" if today else ""
        marked = ""
        if language == "diff":  # a reader copies the text that is good, and sees which lines changed
            lines = [line for line in body.splitlines() if not line.startswith("-")]
            changed = [str(number) for number, line in enumerate(lines, 1) if line.startswith("+")]
            body = "".join(f"{line[1:]}\n" for line in lines)
            marked = f' hl_lines="{" ".join(changed)}"' if changed else ""
        return f'```yaml title="{title}"{marked}\n{body}```'

    if not (DOCS / "playground-app" / "index.html").exists():
        markdown = _PLAYGROUND.sub(_NO_PLAYGROUND, markdown)
    return _EXAMPLE.sub(titled, _LINK.sub(outward, markdown))


def on_page_content(html: str, page: Any, config: Any, files: Any) -> str:
    """Return a page whose console blocks have the colours of a terminal."""
    return _OUTPUT.sub(lambda match: match[1] + "\n".join(map(_coloured, match[2].split("\n"))) + match[3], html)


def _coloured(line: str) -> str:
    """Return a line of output with a colour for its first words, such as the severity."""
    for words, name in _COLOURS:
        found = re.match(rf'((?:<span class="go">)?)({words})', line)
        if found:
            return f'{found[1]}<span class="{name}">{found[2]}</span>{line[found.end() :]}'
    return line
